import type { ClusterSpec } from '../../api/cluster-spec.ts';
import { objectNames } from '../../api/names.ts';
import type { Observation } from '../../api/observation.ts';
import { givenVolumes } from '../../resources/bootstrap.ts';
import type { MemberRecord, MembersRecord } from '../../resources/members-record.ts';
import { membersFile, parseMembersRecord } from '../../resources/members-record.ts';

/** As it stands; one that was lost is written anew from the claims: existing ones hold data until shown otherwise. */
export function presentRecord(
  { cluster, secrets, membersRecord, claims, bootstrap }: Observation,
  spec: ClusterSpec,
  isReplicated: boolean,
): MembersRecord {
  const clusterId = secrets.token?.volumeIdentity ?? '';
  const followers = (spec.members ?? [])
    .filter(({ role }) => role === 'replica')
    .map(({ ordinal }) => ordinal);
  const replication = {
    ...(isReplicated ? { replicated: true } : undefined),
    ...(isReplicated && followers.length > 0 ? { followers } : undefined),
  };
  const parsed = parseMembersRecord(membersRecord?.data?.[membersFile]);
  if (parsed !== undefined) {
    const { initialised, restored, members } = parsed;
    const restoration = restored === undefined ? undefined : { restored };
    return { clusterId, initialised, ...replication, ...restoration, members };
  }
  const names = objectNames(cluster.metadata.name);
  const has = (ordinal: number) =>
    !spec.ephemeral && claims.some(({ metadata }) => metadata.name === names.dataClaim(ordinal));
  // What somebody laid there is taken over, whatever Cluster it was of.
  const found = givenVolumes(spec) === undefined ? 'member' : 'adopt';
  const state = (ordinal: number): MemberRecord => ({
    state: has(ordinal) ? found : 'fresh',
    incarnation: 1,
  });
  const members: Record<string, MemberRecord> = { '0': state(0) };
  for (let ordinal = 1; has(ordinal); ordinal++) members[String(ordinal)] = state(ordinal);
  // Data that are here were not restored just now, unless that is still going on.
  const isRestored = spec.bootstrap?.fromBackup && has(0) && bootstrap?.phase === undefined;
  const restoration = isRestored ? { restored: true } : undefined;
  return { clusterId, initialised: has(0), ...replication, ...restoration, members };
}
