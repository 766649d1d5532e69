import type { ClusterObject } from '../../api/cluster.ts';
import type { ClusterSpec } from '../../api/cluster-spec.ts';
import type { ConfigMap, StatefulSet } from '../../api/kubernetes-object.ts';
import { hotSettings, managedSettings } from '../../api/setting-classes.ts';
import { stableJson } from '../../resources/content-hash.ts';
import { pluginList, pluginSettings } from '../../resources/plugins.ts';
import { replicates, replicationSettings } from '../../resources/replication.ts';
import { argumentSettings, variableOf } from '../../resources/setting-variable.ts';
import { holds } from '../same-content.ts';
import { serverOf } from './release-problem.ts';

/*
 * Whether the pods of a release run with what a Cluster asks for. They are adopted as they are then; where they differ, they
 * restart one after the other as after any change of the spec.
 */

/** Settings of a release: its command line, and the file that it installs. */
export function releaseSettings(
  set: StatefulSet,
  config: ConfigMap | undefined,
): ReadonlyMap<string, string> {
  return new Map([...fileSettings(config), ...argumentSettings(serverOf(set)?.args)]);
}

function fileSettings(config: ConfigMap | undefined): readonly (readonly [string, string])[] {
  try {
    const file = JSON.parse(config?.data?.['service.json'] ?? '{}') as Record<string, unknown>;
    return Object.entries(file).map(([key, value]) => [key, String(value)]);
  } catch {
    return [];
  }
}

/** Compared on their own, or only about how a member is started. */
const apart: ReadonlySet<string> = new Set([
  ...managedSettings,
  'service.ha.autoJoin',
  'service.server.backupDirectory',
]);
const isApart = (key: string) => apart.has(key) || /^service\.(ha\.tls|ssl)\./.test(key);
/** Hot for the server, and yet only told to members when they start. */
const atStart = new Set(['service.server.readinessRequiresHA', 'service.server.readinessHAMaxLag']);
const isLater = (key: string) => hotSettings.has(key) && !atStart.has(key);

/** @returns what differs, in words for an event; empty when the pods run with what the spec says */
export function releaseDifferences(
  cluster: ClusterObject,
  spec: ClusterSpec,
  image: string,
  { set, settings }: { readonly set: StatefulSet; readonly settings: ReadonlyMap<string, string> },
): readonly string[] {
  const server = serverOf(set);
  const found: string[] = [];
  if (server?.image !== image) found.push(`image ${server?.image ?? ''}`);
  const released = server?.resources ?? {};
  const wanted = spec.resources ?? {};
  if (!holds(released, wanted) || !holds(wanted, released)) found.push('resources');
  if (stableJson(variablesOf(server?.env ?? [])) !== stableJson(ownVariables(spec)))
    found.push('environment');
  const free = (args: readonly string[] = []) =>
    args.filter((argument) => !argument.startsWith('-D'));
  if (stableJson(free(server?.args)) !== stableJson(free(spec.extraArgs))) found.push('arguments');
  if ((settings.get('service.ssl.enabled') === 'true') !== spec.tls.http.enabled)
    found.push('spec.tls.http.enabled');
  const isGroup = replicates(set.spec?.template?.spec);
  return [...found, ...differentSettings(settings, ownSettings(cluster, spec, isGroup))];
}

function variablesOf(env: readonly { readonly name: string }[]): readonly object[] {
  return env
    .filter(({ name }) => name !== 'POD_NAME')
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function ownVariables(spec: ClusterSpec): readonly object[] {
  const secrets = (spec.secretSettings ?? []).map(({ key, secretKeyRef }) => ({
    name: variableOf(key),
    valueFrom: { secretKeyRef },
  }));
  return variablesOf([...secrets, ...(spec.env ?? [])]);
}

function ownSettings(
  cluster: ClusterObject,
  spec: ClusterSpec,
  isGroup: boolean,
): ReadonlyMap<string, string> {
  const list = pluginList(spec);
  return new Map([
    ...(isGroup ? Object.entries(replicationSettings(cluster, spec)) : []),
    ...Object.entries(pluginSettings(spec)),
    ...Object.entries(spec.settings ?? {}),
    ...(list === undefined ? [] : [['service.server.plugins', list] as const]),
    ...argumentSettings(spec.extraArgs),
  ]);
}

/** What the server does without being told, of the settings that one side always tells it. */
const standards: ReadonlyMap<string, string> = new Map([
  ['service.ha.readConsistency', 'read_your_writes'],
  ['service.ha.electionTimeoutMin', '2000'],
  ['service.ha.electionTimeoutMax', '5000'],
  ['service.redis.port', '6379'],
]);

function differentSettings(
  released: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): readonly string[] {
  const keys = [...new Set([...released.keys(), ...wanted.keys()])].sort();
  return keys.filter((key) => {
    if (isApart(key) || isLater(key)) return false;
    const standard = standards.get(key);
    return (released.get(key) ?? standard) !== (wanted.get(key) ?? standard);
  });
}
