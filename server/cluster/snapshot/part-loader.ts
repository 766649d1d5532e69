import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseError } from '#core/errors.ts';
import { helperEnvironment } from '#platform/helper-environment.ts';
import { isManifestPart, type PartManifest } from '#storage/parts/part-format.ts';

const program = fileURLToPath(import.meta.resolve('#storage/parts/load-process.ts'));
const outputCharactersMax = 4096;
const fileNames = ['data.mdb', 'last-use.json'];

/**
 * A database in the making, from the parts of another member's. A process of its own checks and loads each as it comes: neither the
 * event loop nor, should they be forged, the server is at stake.
 */
export class PartLoader {
  readonly #directory: string;
  readonly #child: ChildProcessWithoutNullStreams;
  /** What it said, and the code or signal that it ended with. */
  readonly #end: Promise<{ readonly output: string; readonly end: string }>;
  #partCount = 0;
  #isWhole = false;
  #hasEnded = false;

  private constructor(directory: string, bytesMax: number) {
    this.#directory = directory;
    const child = spawn(process.execPath, ['--no-warnings', program, directory, String(bytesMax)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: helperEnvironment(),
    });
    this.#child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        if (output.length < outputCharactersMax) output += text;
      });
    }
    this.#end = new Promise((done) => {
      const settle = (end: string) => {
        this.#hasEnded = true;
        done({ output, end });
      };
      child.once('error', (error) => settle(error.message));
      child.once('close', (code, killedBy) => settle(killedBy ?? String(code)));
    });
    // Writing to one that has ended; its end says why.
    child.stdin.on('error', () => {});
  }

  /** @param directory must not be there @param bytesMax of one part */
  static async begun(directory: string, bytesMax: number): Promise<PartLoader> {
    await mkdir(directory, { mode: 0o700 });
    return new PartLoader(directory, bytesMax);
  }

  /** Parts that it has: another download goes on with the next one. */
  get partCount(): number {
    return this.#partCount;
  }

  /** The manifest was given. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Resolves when it takes more. @throws DatabaseError `Validation` naming what was wrong with the parts so far */
  async give(part: Buffer): Promise<void> {
    if (this.#hasEnded) throw await this.#refusal();
    this.#partCount += 1;
    this.#isWhole = isManifestPart(part);
    if (this.#child.stdin.write(part)) return;
    await Promise.race([once(this.#child.stdin, 'drain').catch(() => {}), this.#end]);
  }

  /** Behind the manifest: the database is on the disk. @throws DatabaseError `Validation` naming what is wrong with it */
  async manifest(): Promise<PartManifest> {
    this.#child.stdin.end();
    const { output, end } = await this.#end;
    if (end === '0') return JSON.parse(output) as PartManifest;
    throw await this.#refusal();
  }

  /** The files of the database go to where they belong. */
  async moveTo(directory: string): Promise<void> {
    for (const name of fileNames) await rename(join(this.#directory, name), join(directory, name));
  }

  async discard(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#end;
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #refusal(): Promise<DatabaseError> {
    const { output, end } = await this.#end;
    const reason = output === '' || end !== '1' ? `loading it ended with ${end}` : output;
    return new DatabaseError('Validation', `the database is refused: ${reason}`);
  }
}
