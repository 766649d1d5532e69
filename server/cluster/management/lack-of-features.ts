import type { Member } from '#raft/vocabulary.ts';
import { capabilityOf } from '../features.ts';
import type { PeerAddresses } from '../forwarding/peer-addresses.ts';
import type { CapabilityPoll } from '../status/capabilities.ts';

/**
 * Why a server cannot become a member of a cluster that uses features (ha.md 16 rule 2); undefined: it has them all, or tells
 * nothing, and what it meets later stops it there.
 */
export async function lackOf(
  member: Member,
  active: readonly string[],
  { addresses, poll }: { addresses: PeerAddresses; poll: Pick<CapabilityPoll, 'ask'> },
): Promise<string | undefined> {
  if (active.length === 0) return undefined;
  const told = await poll.ask(member.id, addresses.dialNewcomer(member));
  if (told === 'unreachable' || told === 'not-identified') return undefined;
  const has = told === 'older-build' ? [] : told.capabilities;
  const lacking = active.filter((feature) => !has.includes(capabilityOf(feature)));
  if (lacking.length === 0) return undefined;
  const build = told === 'older-build' ? 'an older version' : `version ${told.version}`;
  return `Peer ${member.id} runs ${build}, which lacks '${lacking.join("', '")}'; the cluster uses it: upgrade the peer first`;
}
