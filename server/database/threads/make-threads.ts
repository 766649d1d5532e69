import type { Settings } from '#config/effective-settings.ts';
import { serverReadThreads } from '#config/server-settings.ts';
import { serverMaxContainerMemory, serverQueryMaxMemory } from '#config/settings.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ActiveStatements } from '../bounds/active-statements.ts';
import type { ContainerMemory, ThreadMemory } from '../bounds/memory-accounts.ts';
import { ReaderThreads } from './reader-threads.ts';

/**
 * Of a container's memory, for the main thread and each reader thread: a thread has a heap and caches of its own, and whatever all
 * statements may hold may be held by those in one thread.
 */
const bytesPerThread = 1024 ** 3;

/** More are to be asked for. */
const defaultMax = 64;

/** How many reader threads there are at most: what setting `server.readThreads` says, or what the machine has room for. */
export function readThreadCount(
  settings: Settings,
  room: { readonly processorCount: number; readonly containerBytes: number | undefined },
): number {
  const asked = settings.get(serverReadThreads);
  if (asked >= 0) return asked;
  const { processorCount, containerBytes = Number.POSITIVE_INFINITY } = room;
  const threadCount = Math.min(processorCount, Math.floor(containerBytes / bytesPerThread));
  return Math.min(defaultMax, Math.max(0, threadCount - 1));
}

/** Counts of memory for the main thread, whose place is the first, and for each reader thread. */
export function threadMemory(readThreadCount: number): ThreadMemory {
  const places = 1 + readThreadCount;
  const bytes = places * Float64Array.BYTES_PER_ELEMENT;
  return { held: new Float64Array(new SharedArrayBuffer(bytes)), own: 0 };
}

/** undefined when the server has none. */
export function makeThreads(options: {
  readonly settings: Settings;
  readonly runtime: Pick<Runtime, 'timers'>;
  readonly log: Log;
  readonly serverVersion: string;
  readonly readerScript?: URL | undefined;
  readonly heapBytesMax: number;
  readonly container?: ContainerMemory | undefined;
  readonly active: ActiveStatements;
  readonly held: ThreadMemory;
  /** What all statements may hold. */
  readonly bytesMax: number;
}): ReaderThreads | undefined {
  const { settings, readerScript, container, held, active } = options;
  const countMax = held.held.length - 1;
  if (readerScript === undefined || countMax === 0) return undefined;
  return new ReaderThreads({
    countMax,
    script: readerScript,
    heapMiB: Math.ceil(options.heapBytesMax / 1024 ** 2),
    timers: options.runtime.timers,
    log: options.log,
    memory: held,
    longCount: () => active.count,
    startOf: (own) => ({
      serverVersion: options.serverVersion,
      memory: {
        held: held.held.buffer as SharedArrayBuffer,
        own,
        bytesMax: options.bytesMax,
        settingKey: serverQueryMaxMemory.key,
        containerLimitBytes: container?.limitBytes,
        containerPercentMax: settings.get(serverMaxContainerMemory),
        percentSettingKey: serverMaxContainerMemory.key,
      },
    }),
  });
}
