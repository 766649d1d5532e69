import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalServer } from '#cluster/dev/local-server.ts';

const source = join(import.meta.dirname, 'faults.c');
const liveLooksMax = 300;
const volumeSize = '160m';
const [cutAt, aheadAt] = [0, 8];

/** Memory of a process that is its own: pages of files that it has mapped are the system's. NaN: there is none. */
export function ownMegabytes({ pid }: LocalServer): number {
  if (pid === undefined) return Number.NaN;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** For the environment of a server whose live memory is asked for. */
export const tellsLiveMemory = {
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'live-memory.ts')).href}`,
};

/** What lives in all threads of a server once their garbage is collected, in megabytes. NaN: it does not tell. */
export async function liveMegabytes({ pid, options }: LocalServer): Promise<number> {
  if (pid === undefined) return Number.NaN;
  const path = join(options.rootPath, 'live-memory');
  rmSync(path, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (let look = 0; look < liveLooksMax && !existsSync(path); look += 1) await sleep(100);
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) / 2 ** 20 : Number.NaN;
}

/** What this machine lets a test do to the disks and clocks of servers below `directory`. */
export class Machine {
  readonly #directory: string;
  readonly #volumes: string[] = [];
  #library: string | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** What every server is started with. */
  get environment(): Readonly<Record<string, string>> {
    return this.#library === undefined ? {} : { LD_PRELOAD: this.#library };
  }

  /** @returns why that cannot be */
  prepare(needs: 'library' | 'volumes' | undefined, servers: number): string | undefined {
    if (needs === 'library') return this.#useLibrary(servers);
    return needs === 'volumes' ? this.#useVolumes(servers) : undefined;
  }

  /** Servers are started with the library of faults. */
  #useLibrary(servers: number): string | undefined {
    const library = join(this.#directory, 'faults.so');
    const line = ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread'];
    const compiled = spawnSync('cc', line, { encoding: 'utf8' });
    if (compiled.status !== 0) return `no C compiler for ${source}`;
    this.#library = library;
    for (let place = 0; place < servers; place += 1) {
      const folder = this.#folderOf(place);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'faults'), Buffer.alloc(16));
    }
    return undefined;
  }

  /** Each server gets a small volume. */
  #useVolumes(servers: number): string | undefined {
    for (let place = 0; place < servers; place += 1) {
      const folder = this.#folderOf(place);
      mkdirSync(folder, { recursive: true });
      const line = ['-t', 'tmpfs', '-o', `size=${volumeSize}`, 'tmpfs', folder];
      if (spawnSync('mount', line).status !== 0) return 'volumes cannot be mounted here';
      this.#volumes.push(folder);
    }
    return undefined;
  }

  setClock(server: LocalServer, aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs));
    this.#rule(server, bytes, aheadAt);
  }

  /** Loses all that was not flushed, or about half of it; resolves when the process is gone. */
  async cutPower(server: LocalServer, isHalf: boolean): Promise<void> {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(isHalf ? 2 : 1);
    this.#rule(server, bytes, cutAt);
    if (server.isPaused) server.resume();
    while (server.isRunning) await sleep(5);
    bytes.writeInt32LE(0);
    this.#rule(server, bytes, cutAt);
  }

  fill(server: LocalServer): void {
    const file = openSync(join(server.options.rootPath, 'ballast'), 'w');
    const piece = Buffer.alloc(65_536);
    try {
      for (;;) writeSync(file, piece);
    } catch {
      // It is full.
    } finally {
      closeSync(file);
    }
  }

  empty(server: LocalServer): void {
    rmSync(join(server.options.rootPath, 'ballast'), { force: true });
  }

  close(): void {
    for (const volume of this.#volumes) spawnSync('umount', ['-l', volume]);
  }

  #folderOf(place: number): string {
    return join(this.#directory, `server-${place}`);
  }

  #rule(server: LocalServer, bytes: Buffer, at: number): void {
    const file = openSync(join(server.options.rootPath, 'faults'), 'r+');
    writeSync(file, bytes, 0, bytes.length, at);
    closeSync(file);
  }
}
