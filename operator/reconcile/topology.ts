import type { WantedCondition } from '../api/conditions.ts';
import type { MemberStatus } from '../api/cluster-status.ts';

/** Whether the loss of one zone or of one node leaves a majority of the voters. Unknown places are not counted. */
export function topologyCondition(members: readonly MemberStatus[]): WantedCondition | undefined {
  const voters = members.filter(({ voter, node }) => voter === true && node !== undefined);
  if (voters.length === 0) return undefined;
  const type = 'TopologySpread';
  if (members.length === 1)
    return {
      type,
      status: 'True',
      reason: 'OneMember',
      message: 'one member: there is nothing to spread',
    };
  const majority = Math.floor(members.filter(({ voter }) => voter === true).length / 2) + 1;
  const node = crowded(voters, majority, ({ node: place }) => place);
  if (node !== undefined)
    return {
      type,
      status: 'False',
      reason: 'SingleNode',
      message: `node ${node} holds a majority of the voters`,
    };
  const zone = crowded(voters, majority, ({ zone: place }) => place);
  if (zone !== undefined)
    return {
      type,
      status: 'False',
      reason: 'SingleZone',
      message: `zone ${zone} holds a majority of the voters`,
    };
  return {
    type,
    status: 'True',
    reason: 'Spread',
    message: 'no node and no zone holds a majority of the voters',
  };
}

function crowded(
  voters: readonly MemberStatus[],
  majority: number,
  placeOf: (member: MemberStatus) => string | undefined,
): string | undefined {
  const counts = new Map<string, number>();
  for (const voter of voters) {
    const place = placeOf(voter);
    if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return [...counts].find(([, count]) => count >= majority)?.[0];
}
