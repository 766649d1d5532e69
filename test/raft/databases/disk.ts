import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { CatalogDouble } from '#test/cluster/support/replicated-servers.ts';
import type { OpenEnvironment } from '#storage/format/sub-databases.ts';
import { MemoryEnvironments } from '#test/storage/memory/memory-environment.ts';

/** What stands below the storage engine: the real one in both. */
export type Below = 'lmdb' | 'memory';

/** Where the databases and the catalog of one simulated server lie. */
export interface HostDisk {
  /** Of the process that runs. */
  readonly directory: string;
  readonly openEnvironment: OpenEnvironment | undefined;
  /** Something is on its way to it, which takes time of the process. */
  readonly isWriting: boolean;
  /** Lays out what is durable for a process that starts. @returns its catalog */
  start(): CatalogDouble;
  /** Everything that the process has applied is durable. */
  saved(catalog: CatalogDouble): void;
  powerCut(catalog: CatalogDouble): void;
  remove(): void;
}

/**
 * @param random decides what is slow, and what becomes of what is on its way
 * @param sleep for so long, as the process sees it
 */
export function makeDisk(
  below: Below,
  random: (n: number) => number,
  sleep: (ms: number) => Promise<void>,
): HostDisk {
  return below === 'lmdb' ? new LmdbDisk() : new MemoryDisk(random, sleep);
}

/** Files of LMDB. A power cut leaves them as they were when everything was durable: nobody knows more of a file that is written. */
class LmdbDisk implements HostDisk {
  readonly openEnvironment = undefined;
  readonly isWriting = false;
  readonly #root = mkdtempSync(join(tmpdir(), 'polyad-simulated-'));
  #catalog: CatalogDouble | undefined;

  get directory(): string {
    return join(this.#root, 'live');
  }

  get #saved(): string {
    return join(this.#root, 'saved');
  }

  start(): CatalogDouble {
    rmSync(this.directory, { recursive: true, force: true });
    if (existsSync(this.#saved)) cpSync(this.#saved, this.directory, { recursive: true });
    else mkdirSync(this.directory, { recursive: true });
    return this.#catalog?.copy() ?? new CatalogDouble();
  }

  saved(catalog: CatalogDouble): void {
    rmSync(this.#saved, { recursive: true, force: true });
    cpSync(this.directory, this.#saved, { recursive: true });
    this.#catalog = catalog.copy();
  }

  powerCut(): void {}

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

const memoryDirectory = '/dev/shm';
/** The engine gathers for 40 times as long, at most a second, so that a power cut takes something back. */
const slowWriteMsMax = 150;

/** The double of LMDB, of which a power cut leaves each transaction that was durable, a checkpoint of the engine or the server's. */
class MemoryDisk implements HostDisk {
  readonly directory: string;
  readonly #random: (n: number) => number;
  readonly #environments: MemoryEnvironments;
  #catalog = new CatalogDouble();
  #writes = 0;

  constructor(random: (n: number) => number, sleep: (ms: number) => Promise<void>) {
    this.#random = random;
    this.#environments = new MemoryEnvironments(async () => {
      this.#writes += 1;
      // At once, or while other things happen.
      await (random(4) === 0 ? turn() : sleep(random(slowWriteMsMax)));
      this.#writes -= 1;
    });
    // Directories with a few bytes in them.
    const root = existsSync(memoryDirectory) ? memoryDirectory : tmpdir();
    this.directory = mkdtempSync(join(root, 'polyad-simulated-'));
  }

  get isWriting(): boolean {
    return this.#writes > 0;
  }

  get openEnvironment(): OpenEnvironment {
    return this.#environments.open;
  }

  start(): CatalogDouble {
    return this.#catalog;
  }

  saved(): void {}

  powerCut(catalog: CatalogDouble): void {
    this.#environments.cut(() => this.#random(2) === 0);
    this.#catalog = catalog.copy();
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
