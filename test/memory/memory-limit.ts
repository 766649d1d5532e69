import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { readFileSync } from 'node:fs';

/** A memory limit like a container's, for one process that is started inside. */
export interface MemoryLimit {
  /** Puts what follows it into the limit; none where the limit is only watched. */
  readonly launcher: readonly string[];
  /** Whether the kernel enforces it. */
  readonly isEnforced: boolean;
  remove(): void;
}

/**
 * A control group of our own where we may make one (version 1 or 2), else nothing: then the caller compares what the process
 * takes with the limit.
 */
export function limitMemory(bytes: number): MemoryLimit {
  const name = `polyad-memory-${process.pid}`;
  const versions = [
    { directory: `/sys/fs/cgroup/memory/${name}`, file: 'memory.limit_in_bytes' },
    { directory: `/sys/fs/cgroup/${name}`, file: 'memory.max' },
  ];
  for (const { directory, file } of versions) {
    try {
      mkdirSync(directory);
    } catch {
      continue;
    }
    try {
      writeFileSync(`${directory}/${file}`, String(bytes));
    } catch {
      rmdirSync(directory);
      continue;
    }
    return {
      launcher: ['sh', '-c', `echo $$ > ${directory}/cgroup.procs; exec "$@"`, 'sh'],
      isEnforced: true,
      remove: () => rmdirSync(directory),
    };
  }
  return { launcher: [], isEnforced: false, remove: () => {} };
}

/** Bytes of memory that the process has for itself, pages of mapped files not counted: those the kernel takes back when it needs them. */
export function ownMemoryBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].reduce(
    (sum, found) => sum + Number(found[1]) * 1024,
    0,
  );
}
