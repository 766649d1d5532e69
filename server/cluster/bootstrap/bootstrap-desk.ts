import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Random, Runtime } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import { type FormerState, knowAsMuch, newestFormer } from '../catalog/entered-group.ts';
import type { ConsensusPort } from '../consensus-port.ts';
import type { Baseline } from './baseline.ts';
import type { LocalDatabaseState } from './fingerprint.ts';

/** What one server has before the cluster is there. */
export interface BootstrapState {
  readonly peerId: PeerId;
  readonly databases: readonly LocalDatabaseState[];
  /** The group that it was in, whose log is lost. */
  readonly former?: FormerState | undefined;
}

export interface BootstrapDeskOptions {
  readonly consensus: Pick<ConsensusPort, 'self' | 'status' | 'transferLeadership'>;
  readonly own: () => Promise<BootstrapState>;
  /** @throws whatever keeps a server from answering */
  readonly ask: (peer: PeerId) => Promise<BootstrapState>;
  /** `service.ha.bootstrapTimeoutMs` */
  readonly timeoutMs: () => number;
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>;
  readonly log: Log;
}

const pauseMs = 500;
const handOverMs = 10_000;

/** The first leader's part of a bootstrap: who has what, and who becomes the source of all databases (ha.md 8.4, 1 to 5). */
export class BootstrapDesk {
  readonly #options: BootstrapDeskOptions;
  /** The wait for everybody begins with the process: formation has waited for them already. */
  readonly #beganMs: number;

  constructor(options: BootstrapDeskOptions) {
    this.#options = options;
    this.#beganMs = options.runtime.clock.monotonicMs();
  }

  /**
   * @returns undefined when this server leads no more: another one is the source, or was elected
   * @throws DatabaseError `QuorumNotReached` when no majority says what it has
   */
  async baseline(): Promise<Baseline | undefined> {
    const { consensus, runtime, log } = this.#options;
    for (;;) {
      const states = await this.#states();
      if (consensus.status().role !== 'leader') return undefined;
      const source = sourceOf(states, { self: consensus.self, canLead: this.#canLead() });
      if (source === undefined || source === consensus.self)
        return baselineOf(states, consensus.self, runtime.random);
      log.info(
        `${source} has the newest catalog or databases and leads the cluster's first steps`,
        {},
      );
      const outcome = await consensus.transferLeadership(source, handOverMs);
      if (outcome.kind === 'transferred') return undefined;
      log.warn(`the lead could not be handed to ${source}; tried again`, {
        outcome: outcome.kind === 'refused' ? outcome.reason : outcome.kind,
      });
      await runtime.timers.sleep(pauseMs);
    }
  }

  #canLead(): ReadonlySet<PeerId> {
    const { voters } = this.#options.consensus.status().configuration;
    return new Set(voters.filter(({ canLead }) => canLead).map(({ id }) => id));
  }

  async #states(): Promise<readonly BootstrapState[]> {
    const { consensus, own, ask, timeoutMs, runtime, log } = this.#options;
    const { clock, timers } = runtime;
    const found = new Map<PeerId, BootstrapState>([[consensus.self, await own()]]);
    const reasons = new Map<PeerId, string>();
    for (;;) {
      const { configuration, role } = consensus.status();
      const members = [...configuration.voters, ...configuration.learners].map(({ id }) => id);
      const missing = members.filter((id) => !found.has(id));
      await Promise.all(
        missing.map(async (id) => {
          try {
            found.set(id, await ask(id));
          } catch (error) {
            reasons.set(id, error instanceof Error ? error.message : String(error));
          }
        }),
      );
      const absent = missing.filter((id) => !found.has(id));
      if (absent.length === 0 || role !== 'leader') return [...found.values()];
      if (clock.monotonicMs() - this.#beganMs > timeoutMs()) {
        const why = absent.map((id) => `${id} (${reasons.get(id) ?? 'no answer'})`).join(', ');
        if (found.size * 2 <= members.length)
          throw new DatabaseError('QuorumNotReached', `no bootstrap without a majority: ${why}`);
        log.error(`the cluster begins without knowing the databases of ${why}`, {});
        return [...found.values()];
      }
      await timers.sleep(pauseMs);
    }
  }
}

/**
 * The server with the newest catalog of a group that is lost; then with the newest copy of the most databases, the larger sum of
 * transactions, this one, the lowest id. Undefined: nobody has any.
 */
export function sourceOf(
  states: readonly BootstrapState[],
  { self, canLead }: { readonly self: PeerId; readonly canLead: ReadonlySet<PeerId> },
): PeerId | undefined {
  const newest = new Map<string, number>();
  for (const { databases } of states)
    for (const { name, lastTxId } of databases)
      newest.set(name, Math.max(lastTxId, newest.get(name) ?? 0));
  const candidates = states.filter(
    ({ peerId, databases, former }) =>
      canLead.has(peerId) && (databases.length > 0 || former !== undefined),
  );
  const lost = newestFormer(candidates.flatMap(({ former }) => former ?? []));
  const ranked = candidates
    .map(({ peerId, databases, former }) => ({
      peerId,
      knows: Number(lost !== undefined && former !== undefined && knowAsMuch(former, lost)),
      wins: databases.filter(({ name, lastTxId }) => newest.get(name) === lastTxId).length,
      sum: databases.reduce((sum, { lastTxId }) => sum + lastTxId, 0),
    }))
    .sort(
      (x, y) =>
        y.knows - x.knows ||
        y.wins - x.wins ||
        y.sum - x.sum ||
        Number(y.peerId === self) - Number(x.peerId === self) ||
        (x.peerId < y.peerId ? -1 : 1),
    );
  return ranked[0]?.peerId;
}

function baselineOf(states: readonly BootstrapState[], source: PeerId, random: Random): Baseline {
  const own = states.find(({ peerId }) => peerId === source)?.databases ?? [];
  return {
    source,
    databases: own.map(({ name, fingerprint, lastTxId, position }) => ({
      uuid: random.uuid(),
      name,
      offset: position,
      fingerprint,
      lastTxId,
    })),
  };
}
