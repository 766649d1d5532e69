import type { Settings } from '#config/effective-settings.ts';
import { serverReadThreads } from '#config/server-settings.ts';
import { serverMaxContainerMemory, serverQueryMaxMemory } from '#config/settings.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ActiveStatements } from '../bounds/active-statements.ts';
import type { ContainerMemory, ThreadMemory } from '../bounds/memory-accounts.ts';
import { ReaderThreads } from './reader-threads.ts';

/** More are to be asked for. */
const defaultMax = 64;

/**
 * How many reader threads there are at most: what setting `server.readThreads` says, or one less than processors. None where memory is
 * limited: the garbage of several heaps, each of which may be as large as the limit allows for one, would pass it together.
 */
export function readThreadCount(
  settings: Settings,
  room: { readonly processorCount: number; readonly isMemoryLimited: boolean },
): number {
  const asked = settings.get(serverReadThreads);
  if (asked >= 0) return asked;
  return room.isMemoryLimited ? 0 : Math.min(defaultMax, Math.max(0, room.processorCount - 1));
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
