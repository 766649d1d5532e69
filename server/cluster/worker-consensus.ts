import { MessageChannel, Worker } from 'node:worker_threads';
import { DatabaseError } from '#core/errors.ts';
import type { RaftTls } from './transport/raft-tls.ts';
import { type ConsensusMeasures, measuresMemory, measuresOver } from './consensus/measures.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Entry, Index, PeerId } from '#raft/vocabulary.ts';
import {
  type ConsensusPort,
  type ConsensusStatus,
  DeliveryEnded,
  type MembershipChange,
  type MembershipChanged,
  type Proposed,
  type SnapshotOffer,
  type Transferred,
} from './consensus-port.ts';
import {
  type ConsensusOptions,
  type LiveConsensusOptions,
  type FromWorker,
  type Outcome,
  outboxDelayMs,
  type ToWorker,
} from './consensus/worker-messages.ts';
import { Outbox } from './outbox.ts';
import { UnknownEntry } from './replication/entry-codec.ts';
import { EntryReader, packDatas } from './packed-entries.ts';

export interface WorkerConsensusListeners {
  log(level: 'info' | 'warn' | 'error', text: string): void;
}

/** So much is applied at most before consensus is told. */
const appliedBytesMax = 1024 * 1024;
/** So many entries are unpacked in one turn: a follower that catches up gets some 40,000 small ones at once. */
const unpackedMax = 1024;

/** Consensus in two threads of their own: the worker that decides, and the one that writes its log. */
export class WorkerConsensus implements ConsensusPort {
  readonly self: PeerId;
  measures: ConsensusMeasures | undefined;
  readonly #worker: Worker;
  readonly #outbox: Outbox<ToWorker>;
  readonly #logWorker: Worker;
  readonly #listeners: WorkerConsensusListeners;
  #status: ConsensusStatus;
  #watchers = new Set<(status: ConsensusStatus) => void>();
  #waiting = new Map<number, (outcome: Outcome) => void>();
  readonly #proposals = new Set<number>();
  #nextId = 1;
  #apply: (entries: readonly Entry[]) => Promise<void> = () => Promise.resolve();
  #applies: EntryReader[] = [];
  /** Since consensus was told. */
  #appliedBytes = 0;
  #isApplying = false;
  #install: (offer: SnapshotOffer) => Promise<void> = () =>
    Promise.reject(new Error('nobody installs snapshots here'));

  /** Resolves when the port is open. @throws Error about the directory or the port, for a person */
  static async start(
    options: ConsensusOptions,
    listeners: WorkerConsensusListeners,
  ): Promise<WorkerConsensus> {
    const { port1, port2 } = new MessageChannel();
    const logWorker = new Worker(new URL('./log-worker.ts', import.meta.url), {
      name: 'raft-log',
      workerData: { logPort: port1 },
      transferList: [port1],
    });
    const measures = measuresMemory();
    const worker = new Worker(new URL('./consensus-worker.ts', import.meta.url), {
      name: 'consensus',
      workerData: { consensus: options, logPort: port2, measures },
      transferList: [port2],
    });
    const status = await Promise.race([
      firstStatus(worker, listeners),
      new Promise<never>((_, reject) => logWorker.once('error', reject)),
    ]).catch(async (error: unknown) => {
      await Promise.all([worker.terminate(), logWorker.terminate()]);
      throw error;
    });
    const started = new WorkerConsensus(options.self, worker, logWorker, status, listeners);
    started.measures = measuresOver(measures);
    return started;
  }

  private constructor(
    self: PeerId,
    worker: Worker,
    logWorker: Worker,
    status: ConsensusStatus,
    listeners: WorkerConsensusListeners,
  ) {
    this.self = self;
    this.#worker = worker;
    this.#logWorker = logWorker;
    this.#status = status;
    this.#listeners = listeners;
    worker.on('message', (messages: readonly FromWorker[]) => {
      for (const message of messages) this.#take(message);
      // Behind all of them: what came together is applied together.
      void this.#applyAll();
    });
    this.#outbox = new Outbox<ToWorker>(
      (messages, transferred) => worker.postMessage(messages, transferred),
      systemRuntime.timers,
      outboxDelayMs,
    );
    for (const thread of [worker, logWorker])
      thread.on('error', (error) =>
        this.#broken(error instanceof Error ? (error.stack ?? error.message) : String(error)),
      );
  }

  status(): ConsensusStatus {
    return this.#status;
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  propose(batch: readonly Uint8Array[], epoch: number): Promise<Proposed> {
    const packed = packDatas(batch);
    return this.#ask(
      (id) => {
        this.#proposals.add(id);
        return { kind: 'propose', id, epoch, batch: packed };
      },
      [packed.buffer],
    ) as Promise<Proposed>;
  }

  deliver(applied: Index, apply: (entries: readonly Entry[]) => Promise<void>): void {
    this.#apply = apply;
    this.#post({ kind: 'deliver', applied });
  }

  async readIndex(timeoutMs: number): Promise<Index> {
    const outcome = await this.#ask((id) => ({ kind: 'read-index', id, timeoutMs }));
    if (typeof outcome === 'number') return outcome;
    throw new DatabaseError(
      'QuorumNotReached',
      `no leader with a quorum confirmed the read within ${timeoutMs} ms`,
    );
  }

  compactTo(index: Index): void {
    this.#post({ kind: 'compact', index });
  }

  offerSnapshot(index: Index, body: Uint8Array): void {
    this.#post({ kind: 'offer', index, body });
  }

  onSnapshot(install: (offer: SnapshotOffer) => Promise<void>): void {
    this.#install = install;
  }

  transferLeadership(to: PeerId | undefined, timeoutMs: number): Promise<Transferred> {
    return this.#ask((id) => ({ kind: 'transfer', id, to, timeoutMs })) as Promise<Transferred>;
  }

  changeMembership(change: MembershipChange, timeoutMs: number): Promise<MembershipChanged> {
    return this.#ask((id) => ({
      kind: 'membership',
      id,
      change,
      timeoutMs,
    })) as Promise<MembershipChanged>;
  }

  /** Certificates that were replaced: for connections from now on. */
  useTls(tls: RaftTls): void {
    this.#post({ kind: 'tls', tls });
  }

  /** Who lacks one of them is not taken in while this server leads. */
  useFeatures(active: readonly string[]): void {
    this.#post({ kind: 'features', active });
  }

  /** Settings that were changed. */
  tune(live: LiveConsensusOptions): void {
    this.#post({ kind: 'tune', live });
  }

  async close(handOverMs: number): Promise<void> {
    if (this.#status.raftState !== 'EXCEPTION')
      await this.#ask((id) => ({ kind: 'close', id, handOverMs }));
    this.#outbox.close();
    await Promise.all([this.#worker.terminate(), this.#logWorker.terminate()]);
  }

  #ask(
    message: (id: number) => ToWorker,
    transferred: readonly ArrayBuffer[] = [],
  ): Promise<Outcome> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#outbox.post(message(id), transferred);
    });
  }

  #post(message: ToWorker): void {
    this.#outbox.post(message);
  }

  #take(message: FromWorker): void {
    switch (message.kind) {
      case 'status':
        this.#status = message.status;
        for (const watch of [...this.#watchers]) watch(message.status);
        return;
      case 'answer':
        this.#waiting.get(message.id)?.(message.outcome);
        this.#waiting.delete(message.id);
        this.#proposals.delete(message.id);
        return;
      case 'apply':
        this.#applies.push(new EntryReader(message.entries));
        return;
      case 'install':
        this.#install(message.offer).then(
          () => this.#post({ kind: 'installed', index: message.offer.index, error: undefined }),
          (error: unknown) =>
            this.#post({ kind: 'installed', index: message.offer.index, error: String(error) }),
        );
        return;
      case 'log':
        this.#listeners.log(message.level, message.text);
        return;
      case 'ping':
        this.#post({ kind: 'pong' });
        return;
      case 'broken':
        this.#broken(message.message);
    }
  }

  async #applyAll(): Promise<void> {
    if (this.#isApplying) return;
    this.#isApplying = true;
    while (this.#applies.length > 0) {
      const entries = this.#nextToApply();
      try {
        await this.#apply(entries);
      } catch (error) {
        if (error instanceof DeliveryEnded) return;
        this.#post({
          kind: 'apply-failed',
          message: error instanceof Error ? error.message : String(error),
          isUnknown: error instanceof UnknownEntry,
        });
        return;
      }
      this.#tellApplied(entries);
    }
    this.#isApplying = false;
  }

  #nextToApply(): readonly Entry[] {
    const entries: Entry[] = [];
    while (entries.length < unpackedMax) {
      const first = this.#applies[0];
      if (first === undefined) break;
      entries.push(...first.take(unpackedMax - entries.length));
      if (first.isDone) this.#applies.shift();
    }
    return entries;
  }

  /** Consensus waits for it when it hands out no more, and for what begins a leadership or changes the membership. */
  #tellApplied(entries: readonly Entry[]): void {
    const message = { kind: 'applied', index: entries.at(-1)?.index ?? 0 } as const;
    for (const { data } of entries) this.#appliedBytes += data.length;
    const isWaitedFor =
      this.#appliedBytes >= appliedBytesMax || entries.some(({ kind }) => kind !== 'normal');
    if (!isWaitedFor) {
      this.#outbox.postLater(message);
      return;
    }
    this.#appliedBytes = 0;
    this.#post(message);
  }

  #broken(message: string): void {
    this.#listeners.log('error', `Raft stopped: ${message}`);
    this.#status = {
      ...this.#status,
      raftState: 'EXCEPTION',
      role: 'follower',
      leaderReady: false,
    };
    for (const watch of [...this.#watchers]) watch(this.#status);
    // What was proposed may be committed yet: whoever waits for it has a deadline.
    for (const [id, resolve] of this.#waiting) if (!this.#proposals.has(id)) resolve('timeout');
    this.#waiting.clear();
  }
}

/** What it has to tell before, of its disk for instance, is told. @throws Error when it cannot start */
function firstStatus(
  worker: Worker,
  listeners: WorkerConsensusListeners,
): Promise<ConsensusStatus> {
  return new Promise((resolve, reject) => {
    const take = (messages: readonly FromWorker[]) => {
      for (const message of messages) {
        if (message.kind === 'log') {
          listeners.log(message.level, message.text);
          continue;
        }
        worker.off('message', take);
        if (message.kind === 'status') resolve(message.status);
        else
          reject(
            new Error(message.kind === 'broken' ? message.message : `unexpected ${message.kind}`),
          );
      }
    };
    worker.on('message', take);
    worker.once('error', reject);
  });
}
