import type { NodeStatus } from '#raft/node.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { ConsensusOptions } from './worker-messages.ts';

/** What followers that can be reached have, where the log waits for them (`service.ha.logPurgeUptoSnapshot`). */
export function awaitedOf(
  { role, progress }: Pick<NodeStatus, 'role' | 'progress'>,
  { purgesForAll = true, self }: Pick<ConsensusOptions, 'purgesForAll' | 'self'>,
  isReachable: (id: PeerId) => boolean,
): readonly Index[] {
  if (purgesForAll || role !== 'leader') return [];
  return progress
    .filter(({ id, state }) => id !== self && state !== 'snapshot' && isReachable(id))
    .map(({ match }) => match);
}
