import type { Runtime } from '#core/runtime.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { MembershipChange } from '../consensus-port.ts';
import { type Hello, ownMember } from './formation.ts';
import type { ConsensusOptions } from './worker-messages.ts';

/*
 * Whether a member leads is its own setting, `service.ha.serverRole` (ha.md 2.11 rule 4). The configuration, by which others give
 * the lead, may be older, or made by somebody who did not know that setting: the member has it corrected. When no voter may lead,
 * those that wait for a leader say why there is none.
 */

export interface OwnRolePort {
  readonly timers: Pick<Runtime['timers'], 'sleep'>;
  isRunning(): boolean;
  status(): Pick<NodeStatus, 'conf' | 'leader'> | undefined;
  storageId(): string;
  /** On the leader, whoever it is, as a member that asks for itself. */
  change(change: MembershipChange): Promise<unknown>;
  ask(id: PeerId): Promise<Pick<Hello, 'canLead'>>;
  report(text: string): void;
}

/** So long a change that a server asks for itself is waited for. */
export const ownChangeMs = 25_000;
const lookEveryMs = 1000;
/** Looks without a leader between two questions to the others. */
const askEvery = 5;
/** Questions between two lines of the log. */
const reportEvery = 12;

export class OwnRole {
  readonly #options: Pick<ConsensusOptions, 'self' | 'declared' | 'canLead'>;
  readonly #port: OwnRolePort;
  #looksWithoutLeader = 0;
  #findings = 0;

  constructor(options: Pick<ConsensusOptions, 'self' | 'declared' | 'canLead'>, port: OwnRolePort) {
    this.#options = options;
    this.#port = port;
  }

  /** There is no leader, and no voter may be one. */
  get isNobodyAllowed(): boolean {
    return this.#findings > 0;
  }

  /** Until consensus stops. */
  async watch(): Promise<void> {
    const { timers, isRunning } = this.#port;
    for (;;) {
      await timers.sleep(lookEveryMs);
      if (!isRunning()) return;
      await this.look();
    }
  }

  async look(): Promise<void> {
    const { self, canLead } = this.#options;
    const { conf, leader } = this.#port.status() ?? {};
    if (conf === undefined) return;
    if (leader === undefined) {
      await this.#lookWithoutLeader(conf.voters);
      return;
    }
    this.#looksWithoutLeader = 0;
    this.#findings = 0;
    const known = [...conf.voters, ...conf.learners].find(({ id }) => id === self);
    if (known === undefined || known.canLead === canLead) return;
    const storageId = this.#port.storageId();
    const member = ownMember(this.#options, { storageId, voter: known.voter });
    // A leader that is about to go answers nothing; the next look asks again.
    await this.#port.change({ kind: 'add', member }).catch(() => {});
  }

  async #lookWithoutLeader(voters: NodeStatus['conf']['voters']): Promise<void> {
    const { self, canLead } = this.#options;
    const { ask, report } = this.#port;
    this.#looksWithoutLeader += 1;
    if (canLead || this.#looksWithoutLeader % askEvery !== 0) return;
    const others = voters.filter(({ id }) => id !== self);
    const mayLead = await Promise.all(
      others.map((voter) =>
        ask(voter.id).then(
          (hello) => hello.canLead ?? voter.canLead,
          () => voter.canLead,
        ),
      ),
    );
    if (mayLead.includes(true)) {
      this.#findings = 0;
      return;
    }
    if (this.#findings % reportEvery === 0) report(nobodyText(voters.map(({ id }) => id)));
    this.#findings += 1;
  }
}

function nobodyText(ids: readonly PeerId[]): string {
  return `No server can lead: service.ha.serverRole is 'replica' on every voter (${ids.join(', ')}); set it to 'any' on one of them and restart it`;
}
