import type { MessagePort } from 'node:worker_threads';
import type { SnapshotMeta } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { Entry, HardState, Index } from '#raft/vocabulary.ts';
import { unpackEntries } from '../packed-entries.ts';
import {
  type LogAnswer,
  type LogProgress,
  type LogRequest,
  type NumberedRequest,
  type OpenedLog,
  packAppend,
} from './log-requests.ts';
import { MemoryTail } from './memory-tail.ts';
import type { Identity } from './raft-directory.ts';

export interface LogStoreOptions {
  readonly directory: string;
  readonly peerId: string;
  readonly segmentBytes: number;
  /** Bytes of the newest entries that stay in memory. */
  readonly cacheBytesMax: number;
  /** Entries that stay behind a checkpoint, for followers that are a little late. */
  readonly purgeGap: number;
  readonly wipes: boolean;
  /** Damaged logs in a row that are set aside; default: none */
  readonly reformatsMax?: number | undefined;
  /** Told of each append, in the order of the appends. */
  readonly onFlush?: (tookMs: number) => void;
}

/** A write of the log failed: nothing more is taken until it is opened anew. */
export class LogFailure extends Error {
  readonly isVolumeFull: boolean;
  /** The first entry that is not in the log. */
  readonly index: Index | undefined;

  constructor(message: string, code: string | undefined, index: Index | undefined) {
    super(message);
    this.index = index;
    this.isVolumeFull = code === 'ENOSPC' || code === 'EDQUOT';
  }
}

const loadBytes = 2 * 1024 * 1024;

/** The durable log, asked from the consensus worker. Calls take effect in their order. */
export class LogStore {
  readonly #port: MessagePort;
  readonly #options: LogStoreOptions;
  readonly #waiting = new Map<
    number,
    { resolve: (answer: LogAnswer | undefined) => void; reject: (error: Error) => void }
  >();
  #nextId = 1;
  #opened: OpenedLog;
  tail: MemoryTail;

  /** @throws Error naming what is damaged, or whose directory it is */
  static async open(port: MessagePort, options: LogStoreOptions): Promise<LogStore> {
    const store = new LogStore(port, options);
    await store.reopen();
    return store;
  }

  private constructor(port: MessagePort, options: LogStoreOptions) {
    this.#port = port;
    this.#options = options;
    this.tail = new MemoryTail(options.cacheBytesMax, undefined);
    this.#opened = nothingOpened;
    port.on('message', (answers: readonly LogAnswer[] | LogProgress) => {
      if (isProgress(answers)) this.#progressed(answers);
      else for (const answer of answers) this.#answered(answer);
    });
  }

  get identity(): Identity {
    return this.#opened.identity;
  }

  /** As the last start found it. */
  get hardState(): HardState {
    return this.#opened.hardState;
  }

  /** Changes of membership that the log holds, as the last start found them. */
  get confEntries(): readonly Entry[] {
    return this.#opened.confEntries;
  }

  /** Reads everything anew; also the way out of a failure. */
  async reopen(): Promise<void> {
    const { directory, peerId, segmentBytes, cacheBytesMax: newestBytesMax, wipes } = this.#options;
    const { reformatsMax = 0 } = this.#options;
    const isFirst = this.#opened === nothingOpened;
    const places = { directory, peerId, segmentBytes, newestBytesMax };
    const open = { ...places, wipes: wipes && isFirst, reformatsMax };
    this.#opened = (await this.#ask({ kind: 'open', ...open }))?.value ?? nothingOpened;
    this.tail = new MemoryTail(this.#options.cacheBytesMax, this.#opened.snapshot);
    this.tail.recover(this.#opened);
  }

  /** Resolves when the job is durable, and the tail shows it. @throws LogFailure */
  async append(job: AppendJob): Promise<void> {
    await this.#post((id) => packAppend(id, job));
    this.tail.put(job.entries);
  }

  /** Resolves when everything before is done. @throws LogFailure */
  async barrier(): Promise<void> {
    await this.#ask({ kind: 'barrier' });
  }

  /** Brings entries from `low` on into the tail's reach. */
  async load(low: Index): Promise<void> {
    const high = this.tail.lastIndex() + 1;
    const read = await this.#ask({ kind: 'read', low, high, bytesMax: loadBytes });
    this.tail.offer(read?.entries === undefined ? [] : unpackEntries(read.entries));
  }

  /** The databases have everything up to the snapshot's index. */
  async compactTo(snapshot: SnapshotMeta): Promise<void> {
    const purgeTo = Math.max(snapshot.index - this.#options.purgeGap, 0);
    await this.#ask({ kind: 'compact', snapshot, purgeTo });
    this.tail.renewSnapshot(snapshot);
    this.tail.compactTo(purgeTo);
  }

  async reset(snapshot: SnapshotMeta, hardState: HardState): Promise<void> {
    await this.#ask({ kind: 'reset', snapshot, hardState });
    this.tail.reset(snapshot);
  }

  async setIdentity(identity: Identity): Promise<void> {
    await this.#ask({ kind: 'identity', identity });
    this.#opened = { ...this.#opened, identity };
  }

  /** Why the log that was there is set aside; undefined: it is not. */
  get setAside(): string | undefined {
    return this.#opened.setAside;
  }

  /** It has served well for a while. */
  async healthy(): Promise<void> {
    await this.#ask({ kind: 'healthy' });
  }

  async close(): Promise<void> {
    await this.#ask({ kind: 'close' });
    this.#port.close();
  }

  #ask(request: Exclude<LogRequest, { kind: 'append' }>): Promise<LogAnswer | undefined> {
    return this.#post((id) => ({ id, request }));
  }

  #post(messageOf: (id: number) => NumberedRequest): Promise<LogAnswer | undefined> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const message = messageOf(id);
      const buffer = 'request' in message ? undefined : message[5];
      this.#port.postMessage(message, buffer === undefined ? [] : [buffer]);
    });
  }

  /** Requests are done in their order. */
  #progressed([doneTo, ...flushes]: LogProgress): void {
    for (const tookMs of flushes) this.#options.onFlush?.(tookMs);
    for (const [id, { resolve }] of this.#waiting) {
      if (id > doneTo) break;
      this.#waiting.delete(id);
      resolve(undefined);
    }
  }

  #answered(answer: LogAnswer): void {
    const { id, error, flushMs } = answer;
    if (flushMs !== undefined) this.#options.onFlush?.(flushMs);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(answer);
    else waiting?.reject(new LogFailure(error.message, error.code, error.index));
  }
}

function isProgress(answers: readonly LogAnswer[] | LogProgress): answers is LogProgress {
  return typeof answers[0] === 'number';
}

const nothingOpened: OpenedLog = {
  identity: {
    peerId: '',
    storageId: '',
    clusterId: undefined,
    firstConf: undefined,
    admitted: false,
    format: 0,
  },
  snapshot: undefined,
  hardState: { term: 0, vote: null, commit: 0 },
  before: { index: 0, term: 0 },
  last: 0,
  terms: [],
  newest: [],
  confEntries: [],
};
