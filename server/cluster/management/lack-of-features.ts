import type { Member } from '#raft/vocabulary.ts';
import { type Build, capabilityOf, lackOfBuild } from '../features.ts';
import type { PeerAddresses } from '../forwarding/peer-addresses.ts';
import type { CapabilityPoll, PeerCapabilities } from '../status/capabilities.ts';

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
  return lackOfBuild(member.id, told === 'older-build' ? undefined : buildOf(told, active), active);
}

function buildOf({ version, capabilities }: PeerCapabilities, active: readonly string[]): Build {
  return { version, features: active.filter((one) => capabilities.includes(capabilityOf(one))) };
}
