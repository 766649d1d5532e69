import type { Message, SnapshotMeta } from '#raft/message.ts';
import { RaftNode } from '#raft/node.ts';
import type { AppendJob, ApplyJob } from '#raft/ready.ts';
import type { ConfState, Index, Member, PeerId } from '#raft/vocabulary.ts';
import { Machine } from './machine.ts';
import type { SimulationOptions } from './options.ts';
import { SimulatedStore } from './store.ts';

/** What a server has told others: a loss of power must not take it back (S8). */
export interface Promised {
  term: number;
  vote: PeerId | undefined;
  /** Acknowledged entries by index: their term, and the term in which that was said. */
  readonly entries: Map<Index, { readonly entryTerm: number; readonly saidIn: number }>;
}

export function memberOf(id: PeerId, { pinned }: Pick<SimulationOptions, 'pinned'>): Member {
  const canLead = !pinned.includes(id);
  return { id, address: `${id}:2434`, priority: 0, canLead, storageId: id, voter: true };
}

/** One server of the simulation: core, log, state machine, and what is on its way between them. */
export class SimulatedServer {
  readonly id: PeerId;
  readonly store: SimulatedStore;
  readonly promised: Promised = { term: 0, vote: undefined, entries: new Map() };
  readonly #first: ConfState;
  readonly #options: SimulationOptions;
  readonly #random: (n: number) => number;
  node: RaftNode | undefined;
  machine = new Machine();
  /** What the databases have durably. */
  saved = new Machine();
  writes: AppendJob[] = [];
  applies: ApplyJob[] = [];
  reads = new Map<number, (index: Index | undefined) => void>();
  pausedTicks = 0;
  slowTicks = 0;
  fullTicks = 0;
  isLogFailed = false;

  constructor(
    id: PeerId,
    first: ConfState,
    options: SimulationOptions,
    random: (n: number) => number,
  ) {
    this.id = id;
    this.#first = first;
    this.#options = options;
    this.#random = random;
    this.store = new SimulatedStore(id, options);
    this.start();
  }

  get isUp(): boolean {
    return this.node !== undefined && this.pausedTicks === 0;
  }

  start(): void {
    this.machine = new Machine(this.saved);
    this.#makeNode();
    this.node?.begin();
  }

  #makeNode(): void {
    const { store } = this;
    this.writes = [];
    this.applies = [];
    for (const answer of this.reads.values()) answer(undefined);
    this.reads = new Map();
    this.isLogFailed = false;
    this.node = new RaftNode({
      self: this.id,
      limits: this.#options.limits,
      log: store.tail,
      hardState: store.hardState,
      conf: store.snapshot?.conf ?? this.#first,
      confIndex: store.snapshot?.confIndex ?? 0,
      confEntries: store.confEntries,
      // The driver hands out again what lies behind the snapshot; the state machine skips what it has.
      applied: store.snapshot?.index ?? 0,
      admitted: true,
      rand: this.#random,
    });
  }

  crash(): void {
    if (this.node === undefined) return;
    this.node = undefined;
    for (const answer of this.reads.values()) answer(undefined);
    this.reads = new Map();
    this.store.disk.capacity = Number.POSITIVE_INFINITY;
    this.fullTicks = 0;
    this.store.cut(() => this.#random(2) === 0);
  }

  /** In place, when there is room again (ha.md 3.7). */
  reopenLog(): void {
    this.store.disk.capacity = Number.POSITIVE_INFINITY;
    this.store.reopen();
    this.#makeNode();
  }

  /** Everything up to the index is in the databases: the log may go (ha.md 2.13). */
  compact(index: Index): boolean {
    const meta = this.node?.compact(index);
    if (meta === undefined || typeof meta === 'string') return false;
    this.store.compactTo({ ...meta, body: new Uint8Array(0) });
    return true;
  }

  /** Databases of another server take the place of these. */
  install({ index }: SnapshotMeta, from: Machine): void {
    if (this.saved.applied >= index) return;
    this.saved = new Machine(from);
    if (this.machine.applied < from.applied) this.machine = new Machine(from);
  }

  promise(message: Message): void {
    const { type, term, reject, index, to } = message;
    const { promised } = this;
    if (type !== 'VoteResp' && type !== 'AppendResp') return;
    if (term > promised.term) {
      promised.term = term;
      promised.vote = undefined;
    }
    if (reject) return;
    if (type === 'VoteResp') promised.vote = to;
    const entryTerm = this.store.tail.term(index);
    if (type === 'AppendResp' && typeof entryTerm === 'number')
      promised.entries.set(index, { entryTerm, saidIn: term });
  }

  /** @returns which promise the disk does not keep */
  brokenPromise(): string | undefined {
    const { hardState, tail, snapshot } = this.store;
    const { promised } = this;
    if (hardState.term < promised.term)
      return `it has spoken in term ${promised.term} and woke up in ${hardState.term}`;
    const isSameTerm = hardState.term === promised.term;
    if (isSameTerm && promised.vote !== undefined && hardState.vote !== promised.vote)
      return `it voted for ${promised.vote} in term ${promised.term} and does not know`;
    for (const [index, { entryTerm, saidIn }] of promised.entries) {
      if (index <= (snapshot?.index ?? 0)) promised.entries.delete(index);
      // Another leader may have replaced it since.
      else if (hardState.term > saidIn) promised.entries.delete(index);
      else if (tail.term(index) !== entryTerm)
        return `it acknowledged entry ${index} of term ${entryTerm} and has ${tail.term(index)}`;
    }
    return undefined;
  }
}
