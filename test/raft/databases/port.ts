import {
  type ConsensusPort,
  type ConsensusStatus,
  DeliveryEnded,
  type MembershipChanged,
  type Proposed,
  type Transferred,
  termOfEpoch,
} from '#cluster/consensus-port.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ApplyJob } from '#raft/ready.ts';
import type { Entry, Index } from '#raft/vocabulary.ts';
import type { SimulatedServer } from '../simulation/server.ts';

interface Question {
  readonly deadline: number;
  readonly answer: (index: Index | undefined) => void;
  context: number | undefined;
}

interface Batch {
  readonly datas: readonly Uint8Array[];
  readonly epoch: number;
  readonly answer: (outcome: Proposed) => void;
}

const tickMs = 50;
/** A question that a leader did not answer is asked again. */
const askEveryTicks = 4;

/**
 * The way between the databases of a simulated server and its core, as the driver and the two threads are in a real one: what either
 * side says arrives in a later turn.
 */
export class SimulatedPort implements ConsensusPort {
  readonly self: string;
  readonly #server: SimulatedServer;
  readonly #listeners = new Set<(status: ConsensusStatus) => void>();
  #status: ConsensusStatus;
  #batches: Batch[] = [];
  #questions: Question[] = [];
  #contexts = 0;
  #epoch = 0;
  #handed: Index = 0;
  #apply: ((entries: readonly Entry[]) => Promise<void>) | undefined;
  #now = 0;
  isEnded = false;
  /** While the databases apply what they were handed. */
  applying: Promise<void> | undefined;
  applied: ApplyJob[] = [];
  failure: unknown;

  constructor(server: SimulatedServer) {
    this.self = server.id;
    this.#server = server;
    this.#status = this.#statusNow();
  }

  /** One turn of the thread of consensus. @param chance of 4: whether what waits is taken now */
  turn(now: number, chance: () => boolean): void {
    this.#now = now;
    if (chance()) this.#publish();
    if (chance()) this.#propose();
    this.#ask();
  }

  /** The next piece of the log; at most one is on its way. */
  hand(job: ApplyJob): void {
    const entries = job.entries.filter(({ index }) => index > this.#handed);
    const last = job.entries.at(-1)?.index ?? 0;
    this.#handed = Math.max(this.#handed, last);
    if (entries.length === 0) {
      this.applied.push(job);
      return;
    }
    const { node } = this.#server;
    const done = () => {
      // A core that was made anew hands it out again.
      if (node === this.#server.node) this.applied.push(job);
    };
    this.applying = (this.#apply?.(entries) ?? Promise.resolve())
      .then(done, (error: unknown) => {
        if (!(error instanceof DeliveryEnded)) this.failure = error;
      })
      .finally(() => {
        this.applying = undefined;
      });
  }

  get isReady(): boolean {
    return this.#apply !== undefined && this.applying === undefined && this.applied.length === 0;
  }

  /** The log was opened anew: what was on its way to it is gone. */
  restarted(): void {
    this.#epoch += 1;
    this.applied = [];
  }

  end(): void {
    this.isEnded = true;
    this.#batches = [];
    for (const { answer } of this.#questions) answer(undefined);
    this.#questions = [];
  }

  #publish(): void {
    const before = this.#status;
    this.#status = this.#statusNow();
    const { term, role, leader, leaderReady } = this.#status;
    const isSame =
      before.term === term &&
      before.role === role &&
      before.leader === leader &&
      before.leaderReady === leaderReady;
    if (!isSame) for (const listener of [...this.#listeners]) listener(this.#status);
  }

  #propose(): void {
    const { node } = this.#server;
    for (const { datas, epoch, answer } of this.#batches.splice(0)) {
      if (node === undefined || epoch < this.#epoch || termOfEpoch(epoch) !== node.term) {
        answer({ kind: 'refused', reason: 'stale-epoch' });
        continue;
      }
      const placed = node.propose(datas);
      if (typeof placed === 'string') {
        this.#epoch = epoch + 1;
        answer({ kind: 'refused', reason: placed });
      } else answer({ kind: 'accepted', firstIndex: placed.index, term: placed.term });
    }
  }

  #ask(): void {
    const { node, reads } = this.#server;
    for (const question of [...this.#questions]) {
      if (this.#now >= question.deadline) this.#answered(question, undefined);
      else if (node !== undefined && (question.deadline - this.#now) % askEveryTicks === 0) {
        if (question.context === undefined) {
          this.#contexts += 1;
          question.context = this.#contexts * 1000 + Number(this.self);
        }
        const { context } = question;
        reads.set(context, (index) => {
          reads.delete(context);
          if (index !== undefined) this.#answered(question, index);
        });
        node.readIndex(context);
      }
    }
  }

  #answered(question: Question, index: Index | undefined): void {
    this.#questions = this.#questions.filter((other) => other !== question);
    question.answer(index);
  }

  #statusNow(): ConsensusStatus {
    const status = this.#server.node?.status();
    return {
      raftState: 'RUNNING',
      logState: 'OK',
      clusterId: 'c0000000-0000-4000-8000-000000000000',
      storageId: this.self,
      admitted: true,
      role: status?.role ?? 'follower',
      term: status?.term ?? 0,
      leader: status?.leader,
      leaderReady: status?.isLeaderReady ?? false,
      commitIndex: status?.commit ?? 0,
      appliedIndex: status?.applied ?? 0,
      firstIndex: status?.firstIndex ?? 1,
      lastIndex: status?.lastIndex ?? 0,
      lastTerm: 0,
      configuration: status?.conf ?? noConf,
      configurationIndex: status?.confIndex ?? 0,
      electionCount: 0,
      lastElectionMs: 0,
      progress: [],
    };
  }

  status(): ConsensusStatus {
    return this.#status;
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  propose(datas: readonly Uint8Array[], epoch: number): Promise<Proposed> {
    return new Promise((answer) => {
      // The buffers change hands in the real one.
      const copies = datas.map((data) => data.slice());
      if (!this.isEnded) this.#batches.push({ datas: copies, epoch, answer });
    });
  }

  deliver(applied: Index, apply: (entries: readonly Entry[]) => Promise<void>): void {
    this.#handed = Math.max(this.#handed, applied);
    this.#apply = apply;
  }

  readIndex(timeoutMs: number): Promise<Index> {
    return new Promise((resolve, reject) => {
      const answer = (index: Index | undefined) => {
        if (index !== undefined) resolve(index);
        else reject(new DatabaseError('QuorumNotReached', 'nobody confirmed the read'));
      };
      const deadline = this.#now + Math.ceil(timeoutMs / tickMs);
      if (this.isEnded) answer(undefined);
      else this.#questions.push({ deadline, answer, context: undefined });
    });
  }

  compactTo(): void {}

  offerSnapshot(): void {}

  onSnapshot(): void {}

  async transferLeadership(): Promise<Transferred> {
    return { kind: 'timeout' };
  }

  async changeMembership(): Promise<MembershipChanged> {
    return { kind: 'no-leader' };
  }

  async close(): Promise<void> {
    this.end();
  }
}

const noConf = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
