import { rmSync } from 'node:fs';
import type { Entry } from '#raft/vocabulary.ts';
import type { LogRequest, OpenedLog } from './log-requests.ts';
import {
  openIdentity,
  readSnapshotMeta,
  writeIdentity,
  writeSnapshotMeta,
} from './raft-directory.ts';
import { SegmentLog } from './segment-log.ts';

/** Does the requests of the log worker, by blocking calls. After a failed append everything is refused until `open`. */
export class LogService {
  #directory = '';
  #log: SegmentLog | undefined;
  #failure: Error | undefined;

  /** Appends that stand side by side are one flush. */
  handle(requests: readonly LogRequest[], answer: (i: number, done: Answer) => void): void {
    let waiting: number[] = [];
    const flush = () => {
      if (waiting.length === 0) return;
      const done = this.#try(() => {
        this.#required().sync();
        return undefined;
      });
      for (const i of waiting) answer(i, done);
      waiting = [];
    };
    requests.forEach((request, i) => {
      if (request.kind !== 'append') {
        flush();
        answer(
          i,
          this.#try(() => this.#do(request)),
        );
        return;
      }
      const { job } = request;
      const done = this.#try(() => {
        this.#required().append({ ...job, mustSync: false });
        return undefined;
      });
      // Answers keep the order of the jobs: one that needs no flush says that those before it are durable.
      if ('error' in done || (!job.mustSync && waiting.length === 0)) answer(i, done);
      else waiting.push(i);
    });
    flush();
  }

  #try(work: () => OpenedLog | readonly Entry[] | undefined): Answer {
    try {
      return { value: work() };
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      return { error: this.#failure };
    }
  }

  #required(): SegmentLog {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#log === undefined) throw new Error('the Raft log is not open');
    return this.#log;
  }

  #do(request: Exclude<LogRequest, { kind: 'append' }>): OpenedLog | readonly Entry[] | undefined {
    switch (request.kind) {
      case 'open':
        return this.#open(request);
      case 'read':
        return this.#required().read(request.low, request.high, request.bytesMax);
      case 'compact':
        writeSnapshotMeta(this.#directory, request.snapshot);
        this.#required().purgeTo(request.purgeTo);
        return undefined;
      case 'reset':
        writeSnapshotMeta(this.#directory, request.snapshot);
        this.#required().reset(request.snapshot.index, request.hardState);
        return undefined;
      case 'identity':
        writeIdentity(this.#directory, request.identity);
        this.#required().clusterId = request.identity.clusterId;
        return undefined;
      case 'barrier':
        this.#required();
        return undefined;
      case 'close':
        this.#log?.close();
        this.#log = undefined;
        return undefined;
    }
  }

  #open({
    directory,
    peerId,
    segmentBytes,
    newestBytesMax,
    wipes,
  }: Extract<LogRequest, { kind: 'open' }>): OpenedLog {
    if (wipes) rmSync(directory, { recursive: true, force: true });
    this.#failure = undefined;
    this.#log?.abandon();
    this.#log = undefined;
    this.#directory = directory;
    const identity = openIdentity(directory, peerId);
    const snapshot = readSnapshotMeta(directory);
    const { log, recovered } = SegmentLog.open({
      directory,
      storageId: identity.storageId,
      clusterId: identity.clusterId,
      after: { index: snapshot?.index ?? 0, term: snapshot?.term ?? 0 },
      segmentBytes,
      newestBytesMax,
    });
    this.#log = log;
    return { identity, snapshot, ...recovered };
  }
}

export type Answer =
  | { readonly value: OpenedLog | readonly Entry[] | undefined }
  | { readonly error: Error };
