import type { ObservedMember } from '../../api/observation.ts';
import { healthy } from './predicates.ts';
import type { GroupFacts } from './predicates.ts';

/**
 * Who takes over when a leader is about to end or to leave: of those that can, by the priority that the spec gives them, then whoever
 * lacks least of what the leader has, then the lowest ordinal.
 */
export function successor(
  candidates: readonly ObservedMember[],
  facts: GroupFacts,
): ObservedMember | undefined {
  const { group } = facts;
  const peerOf = ({ peerId }: ObservedMember) => group.peers.get(peerId);
  const able = candidates.filter(
    (member) => peerOf(member)?.canLead === true && healthy(member, facts),
  );
  const priority = (member: ObservedMember) => peerOf(member)?.priority ?? 0;
  const lag = (member: ObservedMember) => peerOf(member)?.lag ?? Number.POSITIVE_INFINITY;
  return able.toSorted(
    (a, b) => priority(b) - priority(a) || lag(a) - lag(b) || a.ordinal - b.ordinal,
  )[0];
}
