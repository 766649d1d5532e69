import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import { encodeBody } from '../catalog/entry-bodies.ts';
import type { StageState } from '../cluster-view.ts';
import type { ConsensusPort } from '../consensus-port.ts';
import { entryKind } from '../replication/entry-codec.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';
import type { ServerProposer } from '../replication/server-proposer.ts';
import type { StagedDatabases } from './staged-databases.ts';

export interface StageDeskOptions {
  readonly consensus: Pick<ConsensusPort, 'self' | 'status'>;
  readonly proposer: ServerProposer;
  readonly staged: Pick<StagedDatabases, 'build' | 'discard' | 'isStaged'>;
  /** How far a member is with it. */
  readonly ask: (peer: PeerId, member: MemberDatabase) => Promise<StageState>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>;
}

const pollEveryMs = 200;
/** So long nobody of a majority may be on the way before it is given up. */
const patienceMs = 30_000;
/** What members that are still fetching get, once a majority has it: else they fetch it all once more. */
const straggleMs = 10_000;

/** Brings a whole database into the cluster (ha.md 5.11): build it here, let the members fetch it, publish it at one index. */
export class StageDesk {
  readonly #options: StageDeskOptions;

  constructor(options: StageDeskOptions) {
    this.#options = options;
  }

  /**
   * @param fill makes the files of the database in an empty directory
   * @param replaces it takes the place of the one with its name
   * @returns its uuid, when the entry that publishes it was applied here
   * @throws DatabaseError `NotLeader`, `QuorumNotReached`: it is not there; what `fill` does
   */
  async install(
    name: string,
    fill: (directory: string) => Promise<void>,
    replaces: boolean,
  ): Promise<string> {
    const { proposer, staged, runtime } = this.#options;
    const uuid = runtime.random.uuid();
    const offset = await staged.build(uuid, fill);
    const member: MemberDatabase = { uuid, name, offset };
    try {
      await proposer.propose(entryKind.databaseStage, encodeBody(member));
      await this.#majority(member);
      await proposer.propose(entryKind.databasePublish, encodeBody({ uuid, replaces }));
      return uuid;
    } catch (error) {
      await this.#giveUp(uuid);
      throw error;
    }
  }

  /** Behind an entry that publishes it, it is nothing. */
  async #giveUp(uuid: string): Promise<void> {
    const { proposer, staged } = this.#options;
    try {
      await proposer.propose(entryKind.databaseStageAbort, encodeBody({ uuid }));
    } catch {
      // Another server leads: it gives up what this one began.
      await staged.discard(uuid);
    }
  }

  async #majority(member: MemberDatabase): Promise<void> {
    const { consensus, staged, runtime } = this.#options;
    const { clock, timers } = runtime;
    let promisingMs = clock.monotonicMs();
    let reachedMs: number | undefined;
    for (;;) {
      const { role, configuration } = consensus.status();
      if (role !== 'leader')
        throw new DatabaseError('QuorumNotReached', 'the leader changed meanwhile; run it again');
      const states = await Promise.all(
        configuration.voters.map(({ id }) => this.#stateOn(id, member)),
      );
      const needed = Math.floor(states.length / 2) + 1;
      const ready = states.filter(({ state }) => state === 'staged').length;
      const onTheWay = states.filter(({ state }) => state === 'fetching').length;
      const nowMs = clock.monotonicMs();
      if (ready >= needed && staged.isStaged(member.uuid)) {
        reachedMs ??= nowMs;
        if (onTheWay === 0 || nowMs - reachedMs > straggleMs) return;
      }
      if (ready + onTheWay >= needed) promisingMs = nowMs;
      if (nowMs - promisingMs > patienceMs) throw notEnough(member.name, states, needed);
      await timers.sleep(pollEveryMs);
    }
  }

  async #stateOn(id: PeerId, member: MemberDatabase): Promise<StageState> {
    const { consensus, staged, ask } = this.#options;
    if (id === consensus.self)
      return { state: staged.isStaged(member.uuid) ? 'staged' : 'unknown' };
    try {
      return await ask(id, member);
    } catch (cause) {
      return { state: 'failed', error: cause instanceof Error ? cause.message : String(cause) };
    }
  }
}

function notEnough(name: string, states: readonly StageState[], needed: number): DatabaseError {
  const ready = states.filter(({ state }) => state === 'staged').length;
  const reasons = states.flatMap(({ error }) => (error === undefined ? [] : [error]));
  const why = reasons.length === 0 ? '' : `: ${reasons.join('; ').slice(0, 400)}`;
  return new DatabaseError(
    'QuorumNotReached',
    `Database '${name}' reached ${ready} of the ${needed} servers that a majority needs, and was given up${why}`,
  );
}
