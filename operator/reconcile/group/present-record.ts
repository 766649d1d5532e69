import type { ClusterSpec } from '../../api/cluster-spec.ts';
import { objectNames } from '../../api/names.ts';
import type { Observation } from '../../api/observation.ts';
import { formsTogether, givenVolumes } from '../../resources/bootstrap.ts';
import type { MemberRecord, MembersRecord } from '../../resources/members-record.ts';
import { membersFile, parseMembersRecord } from '../../resources/members-record.ts';
import { hasGuard } from '../../resources/pod-state.ts';

/** As it stands; one that was lost is written anew from the claims: existing ones hold data until shown otherwise. */
export function presentRecord(
  seen: Observation,
  spec: ClusterSpec,
  isReplicated: boolean,
): MembersRecord {
  const { cluster, secrets, membersRecord, claims, bootstrap } = seen;
  const clusterId = secrets.token?.volumeIdentity ?? '';
  const followers = (spec.members ?? [])
    .filter(({ role }) => role === 'replica')
    .map(({ ordinal }) => ordinal);
  const replication = {
    ...(isReplicated ? { replicated: true } : undefined),
    ...(isReplicated && followers.length > 0 ? { followers } : undefined),
    ...(isReplicated && formsTogether(spec) ? { formation: 'static' as const } : undefined),
  };
  const parsed = parseMembersRecord(membersRecord?.data?.[membersFile]);
  if (parsed !== undefined) {
    const { initialised, restored, recovery, recovered, hibernating, members } = parsed;
    const restoration = restored === undefined ? undefined : { restored };
    // That of a release is made from its token, which may change later.
    const known = spec.bootstrap?.fromRelease === undefined ? clusterId : parsed.clusterId;
    const incident = {
      ...(recovery === undefined ? undefined : { recovery }),
      ...(recovered === undefined ? undefined : { recovered }),
    };
    return {
      clusterId: known,
      initialised,
      ...replication,
      ...restoration,
      ...incident,
      ...(hibernating === undefined ? undefined : { hibernating }),
      members,
    };
  }
  const released = releasedMembers(seen, spec);
  if (released !== undefined)
    return { clusterId, initialised: true, ...replication, members: released };
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

/** The members of a release that is taken over hold data on volumes that no guard has seen. */
function releasedMembers(
  { members, statefulSet }: Observation,
  spec: ClusterSpec,
): Record<string, MemberRecord> | undefined {
  if (spec.bootstrap?.fromRelease === undefined || statefulSet === undefined) return undefined;
  const count = statefulSet.spec?.replicas ?? 0;
  const state = (ordinal: number) =>
    hasGuard(members[ordinal]?.pod) ? ('member' as const) : ('adopt' as const);
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [String(at), { state: state(at), incarnation: 1 }]),
  );
}
