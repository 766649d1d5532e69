import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { DatabaseError } from '#core/errors.ts';
import { helperEnvironment } from '#platform/helper-environment.ts';
import { isManifestPart, PartCollector, type PartManifest } from '#storage/parts/part-format.ts';

const program = fileURLToPath(import.meta.resolve('#storage/parts/send-process.ts'));
/** It is our own, and has what the database holds. */
const partBytesMax = 2 ** 31;
/** Of what it says when it fails. */
const outputCharactersMax = 4096;

/** What waits for a part, in the order in which they were asked for. */
interface Waiting {
  readonly resolve: (part: Buffer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One state of a database that is open here, pinned and read by a process of its own, so that a page that the disk has to give holds
 * nobody up. Any part that was given once can be asked for again.
 */
export class PartSender {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #collector = new PartCollector(partBytesMax);
  readonly #waiting: Waiting[] = [];
  #failure: DatabaseError | undefined;
  #complaint = '';

  private constructor(child: ChildProcessWithoutNullStreams, ready: Waiting, killed: () => void) {
    this.#child = child;
    let isReady = false;
    child.stdout.on('data', (piece: Buffer) => {
      if (isReady) return this.#take(piece);
      // An empty line.
      isReady = true;
      ready.resolve(piece);
      if (piece.length > 1) this.#take(piece.subarray(1));
    });
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      if (this.#complaint.length < outputCharactersMax) this.#complaint += text;
    });
    const failed = (why: string) => {
      this.#failure ??= new DatabaseError('Internal', `reading the database ended: ${why}`);
      for (const { reject } of [ready, ...this.#waiting.splice(0)]) reject(this.#failure);
    };
    child.once('error', (error) => failed(error.message));
    child.once('close', (code, killedBy) => {
      failed(this.#complaint === '' ? (killedBy ?? String(code)) : this.#complaint);
      if (code !== 0) killed();
    });
    // Writing to one that has ended; whoever waits is told by its end.
    child.stdin.on('error', () => {});
  }

  /** Resolves when the state is pinned: everything that checkpoints have brought to the disk by now is in it. */
  static async pinned(
    directory: string,
    about: Pick<PartManifest, 'database' | 'uuid' | 'appliedIndex'>,
  ): Promise<PartSender> {
    const words = ['--no-warnings', program, directory, JSON.stringify(about)];
    const env = helperEnvironment();
    const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'pipe'], env });
    // Whoever opens the environment next clears away what one that was killed still holds.
    const killed = () =>
      spawn(process.execPath, words, { stdio: 'ignore', env }).once('error', () => {});
    let sender: PartSender | undefined;
    await new Promise<Buffer>((resolve, reject) => {
      sender = new PartSender(child, { resolve, reject }, killed);
    });
    return sender as PartSender;
  }

  /** The parts from one on, the manifest last; while one is sent the next is read. */
  async *from(number: number): AsyncGenerator<Buffer> {
    this.#keepAlive(true);
    let next = this.#part(number);
    for (let at = number; ; at += 1) {
      const part = await next;
      if (isManifestPart(part)) {
        yield part;
        return;
      }
      next = this.#part(at + 1);
      next.catch(() => {});
      yield part;
    }
  }

  /** Nobody asks for a part for now: it keeps no server from ending. */
  rest(): void {
    this.#keepAlive(false);
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** The state is not needed any more. */
  end(): void {
    this.#child.stdin.end();
    // It ends by itself, behind what it was asked for and nobody takes.
    this.#child.stdout.resume();
  }

  #keepAlive(isKept: boolean): void {
    const child = this.#child;
    // Its types do not tell that pipes are sockets.
    const pipes = [child.stdin, child.stdout, child.stderr] as unknown as Socket[];
    for (const handle of [child, ...pipes]) {
      if (isKept) handle.ref();
      else handle.unref();
    }
  }

  #part(number: number): Promise<Buffer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${number}\n`);
    });
  }

  #take(piece: Buffer): void {
    for (const part of this.#collector.take(piece)) this.#waiting.shift()?.resolve(part);
  }
}
