import type { Clock } from '#core/runtime.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { PeerId, Term } from '#raft/vocabulary.ts';
import type { ConsensusStatus } from '../consensus-port.ts';
import type { Peers } from './peers.ts';
import type { ConsensusOptions } from './worker-messages.ts';

export interface LeadLogPort {
  readonly self: PeerId;
  readonly clock: Pick<Clock, 'now'>;
  /** Votes by which this member was elected. */
  votes(): number;
  /** Who is to lead next, while this member hands the lead over. */
  successor(): PeerId | undefined;
  /** It was heard within the shortest election timeout. */
  isHeard(id: PeerId): boolean;
  log(level: 'info' | 'warn' | 'error', text: string): void;
}

/** Why a leader leads no more, as it is counted (ha.md 15). */
export type StepDown = 'transfer' | 'removed' | 'log' | 'apply' | 'term' | 'quorum';

/** Tells in stable text when this member gets and loses the lead (ha.md 15), and counts the leaders that it sees. */
export class LeadLog {
  readonly stepDowns: Partial<Record<StepDown, number>> = {};
  leaderChanges = 0;
  electionCount = 0;
  lastElectionMs = 0;
  readonly #port: LeadLogPort;
  #electionTerm: Term = 0;
  #leader: PeerId | undefined;
  /** Under which this member leads; 0: it does not. */
  #ledIn: Term = 0;
  #successor: PeerId | undefined;

  constructor(port: LeadLogPort) {
    this.#port = port;
  }

  look(status: ConsensusStatus): void {
    const { leader, term, role } = status;
    if (leader !== undefined && term !== this.#electionTerm) {
      this.electionCount += 1;
      this.#electionTerm = term;
      this.lastElectionMs = this.#port.clock.now();
    }
    if (leader !== undefined && leader !== this.#leader) {
      if (this.#leader !== undefined) this.leaderChanges += 1;
      this.#leader = leader;
    }
    const ledIn = role === 'leader' ? term : 0;
    if (ledIn === this.#ledIn) {
      if (ledIn > 0) this.#successor = this.#port.successor();
      return;
    }
    if (this.#ledIn > 0) this.#steppedDown(status);
    if (ledIn > 0)
      this.#port.log('info', `Elected leader in term ${term} (${this.#port.votes()} votes)`);
    this.#ledIn = ledIn;
    this.#successor = undefined;
  }

  #steppedDown(status: ConsensusStatus): void {
    const { voters } = status.configuration;
    const { self } = this.#port;
    const tell = (reason: StepDown, text: string) => {
      this.stepDowns[reason] = (this.stepDowns[reason] ?? 0) + 1;
      this.#port.log('warn', `Stepping down: ${text}`);
    };
    if (this.#successor !== undefined) tell('transfer', `the lead goes to ${this.#successor}`);
    else if (!voters.some(({ id }) => id === self)) tell('removed', 'this server has no vote');
    else if (status.logState === 'FAILED' || status.logState === 'GAVE_UP')
      tell('log', 'the Raft log takes no entries');
    else if (status.raftState === 'EXCEPTION') tell('apply', 'the log is not applied here');
    else if (status.term > this.#ledIn) tell('term', `term ${status.term} has begun`);
    else {
      const heard = voters.filter(({ id }) => id === self || this.#port.isHeard(id)).length;
      this.#port.log('error', `QUORUM LOST: ${heard}/${voters.length}`);
      tell('quorum', `no quorum answers (${heard} of ${voters.length} voters)`);
    }
  }
}

export function leadLogOf(
  { self, limits, tickMs }: ConsensusOptions,
  port: Pick<LeadLogPort, 'clock' | 'log'> & {
    readonly peers: Pick<Peers, 'silentMs'>;
    status(): NodeStatus | undefined;
  },
): LeadLog {
  const silentMsMax = limits.electionTicksMin * tickMs;
  return new LeadLog({
    self,
    clock: port.clock,
    votes: () => port.status()?.votesWon ?? 0,
    successor: () => port.status()?.transferTo,
    isHeard: (id) => (port.peers.silentMs(id) ?? silentMsMax) < silentMsMax,
    log: (level, text) => port.log(level, text),
  });
}
