import type { ClusterObject } from '../../api/cluster.ts';
import type { ClusterSpec } from '../../api/cluster-spec.ts';
import type { ClaimTemplate, Pod, StatefulSet } from '../../api/kubernetes-object.ts';
import { objectNames, rootPasswordKey, selectorLabels, tokenKey } from '../../api/names.ts';
import { servedSecret } from '../../resources/certificates.ts';
import { directories } from '../../resources/pod-template.ts';
import { raftDirectory, replicates } from '../../resources/replication.ts';
import { hostSuffix } from '../../resources/server-list.ts';
import { argumentSettings } from '../../resources/setting-variable.ts';
import { wantedSizes } from '../../resources/stateful-set.ts';

/*
 * What a release of the chart runs with and a Cluster has to repeat (operator.md 8.15): names, ports, Secrets and volumes by which
 * members know each other and find their data. A difference would split the group, lock the operator out or leave data behind.
 */

/** One thing that both sides say. `undefined` is printed as `nothing`. */
interface Fact {
  readonly field: string;
  readonly release: unknown;
  readonly cluster: unknown;
}

export const keepAnnotation = 'helm.sh/resource-policy';

/** @returns a sentence that names the field and both values; undefined when the release can be taken over as it is */
export function releaseProblem(
  cluster: ClusterObject,
  spec: ClusterSpec,
  set: StatefulSet,
  settings: ReadonlyMap<string, string>,
): string | undefined {
  const facts = [
    ...shapeFacts(cluster, spec, set),
    ...secretFacts(cluster, spec, set),
    ...(replicates(set.spec?.template?.spec) ? groupFacts(cluster, spec, settings) : []),
    ...volumeFacts(spec, set),
  ];
  const different = facts.find(({ release, cluster: own }) => release !== own);
  if (different !== undefined) {
    const { field, release, cluster: own } = different;
    return `${field} is ${text(own)} and the release runs with ${text(release)}: members would not find each other, their data or their password; repeat what the release has`;
  }
  if (set.metadata.annotations?.[keepAnnotation] === 'keep') return undefined;
  return `StatefulSet ${set.metadata.name} goes when its release is uninstalled: run helm upgrade with keepObjects=true first`;
}

function text(value: unknown): string {
  return value === undefined ? 'nothing' : `'${String(value)}'`;
}

/** Names of the StatefulSet, which cannot be changed, and ports, which are part of the names of members. */
function shapeFacts(cluster: ClusterObject, spec: ClusterSpec, set: StatefulSet): readonly Fact[] {
  const { name } = cluster.metadata;
  const { matchLabels, ...rest } = set.spec?.selector ?? {};
  const selector = Object.entries({ ...matchLabels, ...rest }).map(
    ([key, value]) => `${key}=${String(value)}`,
  );
  const wanted = Object.entries(selectorLabels(name)).map(([key, value]) => `${key}=${value}`);
  const args = argumentSettings(serverOf(set)?.args);
  const port = args.get('service.server.httpIncomingPort') ?? '2480';
  return [
    {
      field: 'the selector of its pods',
      release: selector.sort().join(','),
      cluster: wanted.sort().join(','),
    },
    {
      field: 'the headless Service',
      release: set.spec?.serviceName,
      cluster: objectNames(name).headless,
    },
    {
      field: 'the pod management policy',
      release: set.spec?.podManagementPolicy,
      cluster: 'Parallel',
    },
    { field: 'spec.ports.http', release: port, cluster: String(spec.ports.http) },
  ];
}

/** Secrets whose content both sides must agree on. */
function secretFacts(cluster: ClusterObject, spec: ClusterSpec, set: StatefulSet): readonly Fact[] {
  const { name } = cluster.metadata;
  const names = objectNames(name);
  const root = spec.auth.rootPassword ?? { secretName: names.root, key: rootPasswordKey };
  const facts: Fact[] = [
    {
      field: 'spec.auth.rootPassword',
      release: secretAt(set, 'root-password'),
      cluster: `${root.secretName}/${root.key}`,
    },
  ];
  if (!replicates(set.spec?.template?.spec)) return facts;
  const token = spec.auth.clusterToken ?? { secretName: names.token, key: tokenKey };
  facts.push({
    field: 'spec.auth.clusterToken',
    release: secretAt(set, 'token'),
    cluster: `${token.secretName}/${token.key}`,
  });
  const tls = volumeOf(set, 'ha-tls')?.secret?.secretName;
  if (tls !== undefined && spec.tls.raft.enabled)
    facts.push({
      field: 'spec.tls.issuer.secretRef.name',
      release: tls,
      cluster: servedSecret(name, spec)?.name,
    });
  return facts;
}

function secretAt(set: StatefulSet, volume: string): string | undefined {
  const secret = volumeOf(set, volume)?.secret;
  return secret && `${secret.secretName ?? ''}/${secret.items?.[0]?.key ?? ''}`;
}

function volumeOf(set: StatefulSet, name: string) {
  return set.spec?.template?.spec?.volumes?.find((volume) => volume.name === name);
}

/** What members compare before they talk to each other. */
function groupFacts(
  cluster: ClusterObject,
  spec: ClusterSpec,
  settings: ReadonlyMap<string, string>,
): readonly Fact[] {
  const said = (key: string, standard: string) => settings.get(key) ?? standard;
  const { raft } = spec.tls;
  const facts: Fact[] = [
    {
      field: 'spec.clusterName',
      release: said('service.ha.clusterName', 'service'),
      cluster: spec.clusterName ?? cluster.metadata.name,
    },
    {
      field: 'spec.clusterDomain',
      release: settings.get('service.ha.k8sSuffix'),
      cluster: hostSuffix(cluster, spec),
    },
    {
      field: 'spec.ports.raft',
      release: said('service.ha.raftPort', '2434'),
      cluster: String(spec.ports.raft),
    },
    {
      field: 'spec.tls.raft.enabled',
      release: said('service.ha.tls.enabled', 'false'),
      cluster: String(raft.enabled),
    },
    { field: 'spec.quorum', release: said('service.ha.quorum', 'majority'), cluster: spec.quorum },
  ];
  if (raft.enabled)
    facts.push({
      field: 'spec.tls.raft.mutualAuth',
      release: said('service.ha.tls.mutualAuth', 'true'),
      cluster: String(raft.mutualAuth),
    });
  return facts;
}

/** Claims and the directories on them: a StatefulSet keeps its templates for ever, and data stay where they are. */
function volumeFacts(spec: ClusterSpec, set: StatefulSet): readonly Fact[] {
  const templates = set.spec?.volumeClaimTemplates ?? [];
  const named = (names: Iterable<string>) => [...names].sort().join(',');
  const facts: Fact[] = [
    {
      field: 'the set of volumes (spec.storage)',
      release: named(templates.map(({ metadata }) => metadata.name)),
      cluster: named(wantedSizes(spec).keys()),
    },
    ...templates.flatMap((template) => templateFacts(spec, template)),
  ];
  const mounts = new Map(
    serverOf(set)?.volumeMounts?.map(({ mountPath, name, subPath = '' }) => [
      mountPath,
      `${name}/${subPath}`,
    ]),
  );
  const { storage } = spec;
  const isGroup = replicates(set.spec?.template?.spec);
  const wanted: readonly (readonly [string, string])[] = [
    [directories.databases, 'data/databases'],
    [directories.config, 'data/config'],
    [directories.backups, `${storage.backups === undefined ? 'data' : 'backups'}/backups`],
    ...(isGroup
      ? [[raftDirectory, `${storage.raft === undefined ? 'data' : 'raft'}/raft`] as const]
      : []),
  ];
  const at = wanted.map(([path, place]) => ({
    field: `the place of ${path}`,
    release: mounts.get(path),
    cluster: place,
  }));
  return [...facts, ...at];
}

function templateFacts(
  { storage }: ClusterSpec,
  { metadata, spec }: ClaimTemplate,
): readonly Fact[] {
  const { name } = metadata;
  const own = name === 'data' ? storage : storage[name as 'raft' | 'backups'];
  const field = name === 'data' ? 'spec.storage' : `spec.storage.${name}`;
  return [
    {
      field: `${field}.storageClassName`,
      release: spec.storageClassName,
      cluster: own?.storageClassName,
    },
    {
      field: 'spec.storage.accessMode',
      release: spec.accessModes?.join(),
      cluster: storage.accessMode,
    },
  ];
}

export function serverOf(set: { readonly spec?: StatefulSet['spec'] }) {
  const pod: Pod['spec'] = set.spec?.template?.spec;
  return pod?.containers?.find(({ name }) => name === 'server');
}
