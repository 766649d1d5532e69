import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareText } from '#core/value/value-order.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Clock } from '#core/runtime.ts';
import { isErrno, replaceFile } from '#platform/files.ts';
import { formatFileTimestamp } from '#platform/timestamp.ts';

/** A run of the profiler on disk. */
export interface SavedRun {
  readonly fileName: string;
  readonly size: number;
  readonly lastModified: number;
}

/** `-1`, `-2`, ... for several runs in one second. */
const fileShape = /^profiler-run-(\d{8}-\d{6})(?:-(\d{1,6}))?\.json$/;
const filesMax = 50;

/** Results of the profiler in `<root>/profiler`, the newest 50 of them. */
export class ProfilerFiles {
  readonly #directory: string;
  readonly #clock: Clock;

  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /** @returns the name of the file */
  async save(results: object): Promise<string> {
    await mkdir(this.#directory, { recursive: true, mode: 0o750 });
    const names = await this.#names();
    const stem = `profiler-run-${formatFileTimestamp(this.#clock.now())}`;
    let name = `${stem}.json`;
    for (let index = 1; names.includes(name); index += 1) name = `${stem}-${index}.json`;
    await replaceFile(join(this.#directory, name), JSON.stringify(results));
    for (const old of names.slice(filesMax - 1))
      await rm(join(this.#directory, old), { force: true });
    return name;
  }

  /** Newest first. */
  async list(): Promise<readonly SavedRun[]> {
    const runs: SavedRun[] = [];
    for (const fileName of await this.#names()) {
      const { size, mtimeMs } = await stat(join(this.#directory, fileName));
      runs.push({ fileName, size, lastModified: Math.round(mtimeMs) });
    }
    return runs;
  }

  /** @throws DatabaseError `Forbidden` for a name with a path, `IllegalArgument` for an unknown one */
  async load(fileName: string): Promise<unknown> {
    if (/[/\\\u0000]|\.\./.test(fileName))
      throw new DatabaseError('Forbidden', 'the name of a profiler file holds no path');
    if (!fileShape.test(fileName) || !(await this.#names()).includes(fileName))
      throw new DatabaseError('IllegalArgument', `Profiler file '${fileName}' not found`);
    return JSON.parse(await readFile(join(this.#directory, fileName), 'utf8'));
  }

  async #names(): Promise<readonly string[]> {
    try {
      const names = await readdir(this.#directory);
      return names.filter((name) => fileShape.test(name)).sort(newestFirst);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return [];
      throw error;
    }
  }
}

function newestFirst(a: string, b: string): number {
  const [, stampA = '', indexA = '0'] = fileShape.exec(a) ?? [];
  const [, stampB = '', indexB = '0'] = fileShape.exec(b) ?? [];
  return compareText(stampB, stampA) || Number(indexB) - Number(indexA);
}
