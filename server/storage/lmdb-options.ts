import type { Histogram } from '#core/instruments.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import type { IndexDeriver } from './engine.ts';
import type { OpenEnvironment, OpenOptions } from './format/sub-databases.ts';
import type { TypeLabels } from './format/row-record.ts';

export interface LmdbEngineOptions {
  /** Made when it does not exist. */
  readonly directory: string;
  readonly labels: TypeLabels;
  readonly deriver: IndexDeriver;
  readonly timers: Pick<Timers, 'yield' | 'after'>;
  /** Without it the log is never written in place. */
  readonly clock?: Pick<Clock, 'monotonicMs'>;
  /** Told of each write of the log, in seconds; needs the clock. */
  readonly flushSeconds?: Histogram | undefined;
  /** What makes a commit durable; default 'log'. 'above': the caller's log, which gives entries again after a crash. */
  readonly durability?: 'log' | 'commit' | 'above';
  /** For block images, adjacency and unique keys together; default 64 MiB. */
  readonly cacheBytes?: number;
  /** `server.httpTxSnapshotMax`: distinct states kept for longer than a statement; default 512. */
  readonly snapshotMax?: number;
  /** Address space to begin with (limits.md 3); grows by itself. Default 1 GiB. */
  readonly mapSizeBytes?: number;
  /** `service.storage.maxReaders`; default 1024. */
  readonly readersMax?: number;
  /** Changes beside the chunks of an index from which on checkpoints bring them in; default 1,048,576. */
  readonly foldedMin?: number;
  /** `service.maxRecordSize`; default 64 MiB. */
  readonly recordBytesMax?: () => number;
  /** Default: LMDB. */
  readonly openEnvironment?: OpenEnvironment | undefined;
}

export function readersMax(options: LmdbEngineOptions): number {
  return options.readersMax ?? 1024;
}

export function openOptions(options: LmdbEngineOptions): OpenOptions {
  const { directory, mapSizeBytes = 2 ** 30, openEnvironment } = options;
  return { directory, mapSizeBytes, readersMax: readersMax(options), openEnvironment };
}
