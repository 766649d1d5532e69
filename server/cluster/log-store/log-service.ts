import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isLockFile } from '#platform/process-lock.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Entry, Index } from '#raft/vocabulary.ts';
import type { LogRequest, OpenedLog } from './log-requests.ts';
import { finishSettingAside, forgetReformats, isDamage, setLogAside } from './set-aside.ts';
import {
  openIdentity,
  readSnapshotMeta,
  writeIdentity,
  writeSnapshotMeta,
} from './raft-directory.ts';
import { makeReserve, releaseReserve } from './reserve.ts';
import { type LogJob, SegmentLog } from './segment-log.ts';

const emptyDisk: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** A write failed. */
export interface LogTrouble extends Error {
  readonly code?: string;
  /** The first entry that is not in the log. */
  index?: Index;
}

/** Does the requests of the log worker, by blocking calls. After a failed append everything is refused until `open`. */
export class LogService {
  #directory = '';
  #log: SegmentLog | undefined;
  #failure: LogTrouble | undefined;
  /** The last entry that others were told of. */
  #promised: Index = 0;

  /** Appends that stand side by side are one flush. */
  handle(requests: readonly LogRequest[], answer: (i: number, done: Answer) => void): void {
    let waiting: number[] = [];
    const flush = () => {
      if (waiting.length === 0) return;
      const startMs = systemRuntime.clock.monotonicMs();
      const done = this.#try(() => {
        const log = this.#required();
        log.sync();
        this.#promised = log.last;
        return undefined;
      });
      const flushMs = systemRuntime.clock.monotonicMs() - startMs;
      for (const i of waiting) answer(i, { ...done, flushMs });
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
      const done = this.#try(() => this.#append(job));
      // Answers keep the order of the jobs: one that needs no flush says that those before it are durable.
      const isDone = 'error' in done || this.#failure !== undefined;
      if (isDone || (!job.mustSync && waiting.length === 0)) answer(i, done);
      else waiting.push(i);
    });
    flush();
  }

  /** Work that is not urgent, in small steps. @returns whether there is more */
  upkeep(): boolean {
    return this.#failure === undefined && this.#log?.upkeep() === true;
  }

  #append(job: LogJob): undefined {
    if (this.#failure !== undefined && this.#vote(job)) return;
    const log = this.#required();
    try {
      log.append({ ...job, mustSync: false });
    } catch (error) {
      if (error instanceof Error)
        (error as LogTrouble).index = job.entries[0]?.index ?? log.last + 1;
      throw error;
    }
  }

  /** On a full disk the reserve takes terms and votes. @returns whether it was one, and is durable */
  #vote({ entries, hardState, mustSync }: LogJob): boolean {
    if (entries.length > 0 || hardState === undefined || !mustSync) return false;
    if (this.#log === undefined || !emptyDisk.has(this.#failure?.code)) return false;
    releaseReserve(this.#directory);
    this.#log.appendVote(hardState);
    return true;
  }

  #try(work: () => OpenedLog | readonly Entry[] | undefined): Answer {
    try {
      return { value: work() };
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
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
        this.#promised = request.snapshot.index;
        return undefined;
      case 'identity':
        writeIdentity(this.#directory, request.identity);
        this.#required().clusterId = request.identity.clusterId;
        return undefined;
      case 'healthy':
        forgetReformats(this.#directory);
        return undefined;
      case 'barrier':
        this.#required();
        return undefined;
      case 'close':
        if (this.#failure === undefined) this.#log?.close();
        else this.#log?.abandon();
        this.#log = undefined;
        return undefined;
    }
  }

  #open(request: OpenRequest): OpenedLog {
    const { directory, peerId, reformatsMax = 0 } = request;
    try {
      return this.#openAsItIs(request);
    } catch (error) {
      // What others were told of is not given up while this process runs.
      if (this.#promised > 0 || reformatsMax === 0 || !isDamage(error)) throw error;
      this.#log?.abandon();
      this.#log = undefined;
      setLogAside(directory, peerId, { reformatsMax, reason: error.message });
      return { ...this.#openAsItIs(request), setAside: error.message };
    }
  }

  #openAsItIs({ directory, peerId, segmentBytes, newestBytesMax, wipes }: OpenRequest): OpenedLog {
    mkdirSync(directory, { recursive: true });
    if (wipes)
      for (const name of readdirSync(directory))
        if (!isLockFile(name)) rmSync(join(directory, name), { recursive: true });
    this.#failure = undefined;
    this.#log?.abandon();
    this.#log = undefined;
    this.#directory = directory;
    finishSettingAside(directory, peerId);
    const identity = openIdentity(directory, peerId);
    const snapshot = readSnapshotMeta(directory);
    const { log, recovered } = SegmentLog.open({
      directory,
      storageId: identity.storageId,
      clusterId: identity.clusterId,
      earlierClusterIds: identity.earlierClusterIds,
      after: { index: snapshot?.index ?? 0, term: snapshot?.term ?? 0 },
      segmentBytes,
      newestBytesMax,
    });
    if (log.last < this.#promised) {
      log.abandon();
      throw new Error(
        `the Raft log ends at entry ${log.last}, and ${this.#promised} was acknowledged: the disk lost it`,
      );
    }
    this.#promised = log.last;
    this.#log = log;
    makeReserve(directory);
    return { identity, snapshot, ...recovered };
  }
}

type OpenRequest = Extract<LogRequest, { kind: 'open' }>;

export type Answer =
  | { readonly value: OpenedLog | readonly Entry[] | undefined; readonly flushMs?: number }
  | { readonly error: LogTrouble; readonly flushMs?: number };
