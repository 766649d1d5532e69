import type { DatabaseError } from '#core/errors.ts';
import { Histogram } from '#core/instruments.ts';
import type { Log } from '#core/log.ts';
import type { Cancel, Clock, Timers } from '#core/runtime.ts';
import type { Entry, Index } from '#raft/vocabulary.ts';
import { type ConsensusPort, DeliveryEnded } from '../consensus-port.ts';
import type { DatabaseSeat, SeatEntry } from './database-seat.ts';
import { type ClusterEntry, decodeEntry, entryKind, isServerKind } from './entry-codec.ts';
import type { Proposal } from './proposal.ts';
import type { ServerEntries } from './server-entries.ts';

export interface ApplyLoopOptions {
  readonly port: Pick<ConsensusPort, 'deliver' | 'compactTo'>;
  readonly server: ServerEntries;
  /** The database, opened when it is not; undefined: it is no member, and its entries are passed over. */
  readonly seatOf: (uuid: string) => DatabaseSeat | undefined | Promise<DatabaseSeat | undefined>;
  /** Who waits for an entry (`GroupCommit.committed`). */
  readonly committed: (entry: Entry) => Proposal | undefined;
  /** A mark for `verify`: the database has applied exactly what came before. Undefined: there is no copy of it here yet. */
  readonly marked?:
    | ((seat: DatabaseSeat | undefined, index: Index, body: Uint8Array) => void)
    | undefined;
  /** Everything up to the index is durable here; default: the log may go. */
  readonly checkpointed?: ((index: Index) => void) | undefined;
  /** For who waits for what this copy did not apply. */
  readonly remotely: (seat: DatabaseSeat) => DatabaseError;
  /** Makes durable, without the log, what all databases have applied. */
  readonly flush: () => Promise<void>;
  /** Default: the log may go with each record of how far everything is durable. */
  readonly compaction?: CompactionPace | undefined;
  /** Whether the volume of the databases has room; absent: nobody looks. */
  readonly hasRoom?: (() => boolean) | undefined;
  readonly timers: Pick<Timers, 'yield' | 'after'>;
  /** For `times`. */
  readonly clock?: Pick<Clock, 'monotonicMs'>;
  /** Told of each entry before it is applied. */
  readonly trace?: ((entry: Entry, decoded: ClusterEntry) => void) | undefined;
  readonly log: Log;
}

/** When the log may go (ha.md 3.6): what stays spares a member that was away the way over whole databases. */
export interface CompactionPace {
  /** After so many entries. */
  readonly entriesMax: () => number;
  /** After this time, when there are `entriesMin`; 0: time is no reason. */
  readonly intervalMs: () => number;
  readonly entriesMin: () => number;
}

/** One step (ha.md 5.7): what is decoded and applied before others have their turn. */
const entriesPerStep = 64;
const bytesPerStep = 4 * 1024 * 1024;
/** Between two looks at a full volume. */
const roomEveryMs = 1000;
/** Entries between two records of how far everything is durable. */
const entriesPerCheckpoint = 4096;
/** While the volume of the log has little space. */
const entriesPerCheckpointUnderPressure = 1024;
/** Large entries let the log go earlier: a start reads it as a whole. */
const bytesPerCompaction = 256 * 1024 * 1024;

/**
 * Applies the log on this server, the leader's own entries like all others. Databases go on beside each other; an entry of the
 * server is a barrier. The applied index moves when every database of the step has applied its part.
 */
export class ApplyLoop {
  /** Seconds of the steps. */
  readonly times = new Histogram();
  readonly #options: ApplyLoopOptions;
  readonly #listeners = new Set<(index: Index) => void>();
  #applied: Index;
  #checkpointed: Index;
  #compacted: Index;
  /** Of entries since then. */
  #bytesBehind = 0;
  #stopInterval: Cancel = () => {};
  #isStopped = false;
  #checkpointing: Promise<void> | undefined;
  #isUnderPressure = false;
  #lacksRoom = false;
  #work: Promise<void> = Promise.resolve();
  #turn: Promise<void> = Promise.resolve();

  constructor(options: ApplyLoopOptions) {
    this.#options = options;
    this.#applied = options.server.checkpointed();
    this.#checkpointed = this.#applied;
    this.#compacted = this.#applied;
  }

  get applied(): Index {
    return this.#applied;
  }

  /** Nothing is applied, since the volume of the databases is full. */
  get lacksRoom(): boolean {
    return this.#lacksRoom;
  }

  onApplied(listener: (index: Index) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs it while nothing is applied; what is committed meanwhile waits. */
  async exclusively<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    let release: () => void = () => {};
    this.#turn = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    try {
      return await run();
    } finally {
      release();
    }
  }

  /** The volume of the log has little space: what is durable is told at once and more often, so that the log can go. */
  async relieve(isUnderPressure: boolean): Promise<void> {
    const begins = isUnderPressure && !this.#isUnderPressure;
    this.#isUnderPressure = isUnderPressure;
    if (begins) await this.purge();
  }

  /** What the databases have is made durable and told, so that the log can go. */
  async purge(): Promise<void> {
    await this.#checkpoint();
    this.#compact();
  }

  /** A snapshot took the place of all entries up to `index` (ha.md 9.2). */
  installed(index: Index): void {
    this.#checkpointed = Math.max(this.#checkpointed, index);
    this.#compacted = Math.max(this.#compacted, index);
    this.#moveTo(Math.max(this.#applied, index));
  }

  /** Before the start: the server knows now that nothing of this log is applied here. */
  beginAnew(): void {
    this.#checkpointed = this.#options.server.checkpointed();
    this.#compacted = this.#checkpointed;
    this.#moveTo(this.#checkpointed);
  }

  start(): void {
    const { port } = this.#options;
    port.deliver(this.#applied, (entries) => {
      this.#work = this.#applyAll(entries);
      return this.#work;
    });
    this.#compactLater();
  }

  #compactLater(): void {
    const { compaction, timers } = this.#options;
    const intervalMs = compaction?.intervalMs() ?? 0;
    if (compaction === undefined || intervalMs === 0) return;
    this.#stopInterval = timers.after(intervalMs, () => {
      const hasEnough = this.#applied - this.#compacted >= Math.max(1, compaction.entriesMin());
      const done = hasEnough ? this.#checkpoint() : Promise.resolve();
      void done.then(() => {
        if (hasEnough) this.#compact();
        if (!this.#isStopped) this.#compactLater();
      });
    });
  }

  /** Nothing is applied any more when this resolves. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopInterval();
    await this.#work.catch(() => {});
    await this.#checkpointing;
    await this.#checkpoint();
    this.#compact();
  }

  async #applyAll(entries: readonly Entry[]): Promise<void> {
    for (let at = 0; at < entries.length; ) {
      const end = stepEnd(entries, at);
      const [from, to] = [at, end];
      await this.#room();
      await this.exclusively(() => this.#measured(entries.slice(from, to)));
      at = end;
      if (at < entries.length) await this.#options.timers.yield();
    }
    for (const { data } of entries) this.#bytesBehind += data.length;
    const due = this.#isUnderPressure ? entriesPerCheckpointUnderPressure : entriesPerCheckpoint;
    // Beside what is applied next.
    const isHeavy = this.#bytesBehind >= bytesPerCompaction;
    if (isHeavy || this.#applied - this.#checkpointed >= due) void this.#checkpoint();
  }

  async #measured(entries: readonly Entry[]): Promise<void> {
    const { clock } = this.#options;
    const beganMs = clock?.monotonicMs() ?? 0;
    await this.#applyStep(entries);
    if (clock !== undefined) this.times.observe((clock.monotonicMs() - beganMs) / 1000);
  }

  /** What a quorum has waits in the log while the volume of the databases is full: the storage library must not hit the wall. */
  async #room(): Promise<void> {
    const { hasRoom, timers, log } = this.#options;
    if (hasRoom === undefined || hasRoom()) return;
    log.error(
      'the volume of the databases is full: the log is not applied until there is room',
      {},
    );
    this.#lacksRoom = true;
    try {
      while (!hasRoom()) {
        if (this.#isStopped) throw new DeliveryEnded();
        await new Promise<void>((resolve) => void timers.after(roomEveryMs, resolve));
      }
    } finally {
      this.#lacksRoom = false;
    }
    log.info('the volume of the databases has room again', {});
  }

  async #applyStep(entries: readonly Entry[]): Promise<void> {
    let step = new Step();
    for (const entry of entries) {
      // What is delivered after the stop is applied by the next start.
      if (this.#isStopped) throw new DeliveryEnded();
      if (entry.kind !== 'normal') {
        this.#options.committed(entry);
        step.last = entry.index;
        continue;
      }
      let decoded: ClusterEntry;
      try {
        decoded = decodeEntry(entry.data);
      } catch (error) {
        // What stands before an entry that this build does not know is applied; nothing behind it is.
        await this.#finish(step);
        throw error;
      }
      this.#options.trace?.(entry, decoded);
      if (isServerKind(decoded.kind) || decoded.kind === entryKind.verifyMark) {
        await this.#finish(step);
        step = new Step();
        await this.#applyAlone(entry, decoded);
        continue;
      }
      const seat = this.#options.seatOf(decoded.database ?? '');
      // Most often it is open, and a turn for each entry would cost as much as its apply.
      this.#addTo(step, entry, decoded, seat instanceof Promise ? await seat : seat);
    }
    await this.#finish(step);
  }

  #addTo(step: Step, entry: Entry, decoded: ClusterEntry, seat: DatabaseSeat | undefined): void {
    const proposal = this.#options.committed(entry);
    if (proposal !== undefined) step.proposals.push({ proposal, seat });
    const own = proposal !== undefined && proposal.options.seat === seat ? proposal : undefined;
    if (seat !== undefined) step.add(seat, { entry, decoded, own });
    step.last = entry.index;
  }

  async #finish(step: Step): Promise<void> {
    if (step.last === 0) return;
    const parts = await Promise.allSettled(
      [...step.parts].map(([seat, entries]) => seat.apply(entries)),
    );
    for (const part of parts) if (part.status === 'rejected') throw part.reason;
    for (const { proposal, seat } of step.proposals) {
      if (seat?.damage === undefined) proposal.applied();
      else proposal.appliedElsewhere(this.#options.remotely(seat));
    }
    this.#moveTo(step.last);
  }

  async #applyAlone(
    entry: Entry,
    { kind, body, wallTimeMs, database }: ClusterEntry,
  ): Promise<void> {
    const { server, committed, marked, seatOf } = this.#options;
    const proposal = committed(entry);
    if (kind === entryKind.verifyMark) {
      const seat = await seatOf(database ?? '');
      // What a copy holds later says nothing of what it held at the mark.
      if (seat?.hasPassed(entry.index) !== true) marked?.(seat, entry.index, body);
    } else if (entry.index > server.applied()) {
      await server.apply(entry.index, kind, body, wallTimeMs);
    }
    proposal?.applied();
    this.#moveTo(entry.index);
  }

  #moveTo(index: Index): void {
    this.#applied = index;
    for (const listener of this.#listeners) listener(index);
  }

  /** One at a time. */
  #checkpoint(): Promise<void> {
    this.#checkpointing ??= this.#checkpointNow().finally(() => {
      this.#checkpointing = undefined;
    });
    return this.#checkpointing;
  }

  /** What databases show stands in memory and in the log, until they have it on disk by themselves (ha.md 5.8). */
  async #checkpointNow(): Promise<void> {
    const index = this.#applied;
    if (index === this.#checkpointed) return;
    try {
      await this.#options.flush();
      await this.#options.server.checkpoint(index);
      this.#checkpointed = index;
      const isUrgent = this.#isUnderPressure || this.#bytesBehind >= bytesPerCompaction;
      const entriesMax = isUrgent ? 0 : (this.#options.compaction?.entriesMax() ?? 0);
      if (index - this.#compacted >= entriesMax) this.#compact();
    } catch (error) {
      this.#options.log.error('how far the log is applied could not be recorded', {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  /** Everything up to the last checkpoint may go. */
  #compact(): void {
    if (this.#compacted >= this.#checkpointed) return;
    this.#compacted = this.#checkpointed;
    this.#bytesBehind = 0;
    const { checkpointed, port } = this.#options;
    if (checkpointed === undefined) port.compactTo(this.#compacted);
    else checkpointed(this.#compacted);
  }
}

class Step {
  readonly parts = new Map<DatabaseSeat, SeatEntry[]>();
  readonly proposals: { readonly proposal: Proposal; readonly seat: DatabaseSeat | undefined }[] =
    [];
  last: Index = 0;

  add(seat: DatabaseSeat, entry: SeatEntry): void {
    const part = this.parts.get(seat);
    if (part === undefined) this.parts.set(seat, [entry]);
    else part.push(entry);
  }
}

function stepEnd(entries: readonly Entry[], start: number): number {
  let bytes = 0;
  let end = start;
  while (end < entries.length && end - start < entriesPerStep) {
    bytes += (entries[end] as Entry).data.length;
    if (end > start && bytes > bytesPerStep) break;
    end += 1;
  }
  return end;
}
