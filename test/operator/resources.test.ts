import { parse, stringify } from 'yaml';
import { runGoldenFile } from '#test/support/datadriven.ts';
import { parseSpec } from '../../operator/api/cluster.ts';
import type { ClusterObject } from '../../operator/api/cluster.ts';
import type { Observation } from '../../operator/api/observation.ts';
import { membersFile, printMembersRecord } from '../../operator/resources/members-record.ts';
import { makePass } from '../../operator/reconcile/pass.ts';
import { facts } from './sim/simulated-world.ts';
import { desiredObjects } from '../../operator/reconcile/steps/ensure-objects.ts';

/*
 * What stands in the API server for a spec. A difference in a pod template needs a decision in review: pods take it when they
 * restart (operator.md 10.8). `kinds` chooses which objects are shown, `only` a path in them.
 */

runGoldenFile(new URL('./resources.txt', import.meta.url), ({ input, options }) => {
  // As a Cluster of the released version stands in the API server, where TLS between members was off by default.
  const given = parse(input) as { readonly tls?: object } | null;
  const cluster: ClusterObject = {
    apiVersion: 'polyad.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'orders', namespace: 'shop', uid: 'cluster-1', generation: 1 },
    spec: { replicas: 1, ...given, tls: { raft: { enabled: false }, ...given?.tls } },
  };
  const { spec, problem } = parseSpec(cluster);
  if (spec === undefined) throw new Error(problem);
  // Without the option: a Cluster of a version that had no replication.
  const isReplicated = options.has('replicated');
  const record = {
    clusterId: 'volume-1',
    initialised: false,
    ...(isReplicated ? { replicated: true } : undefined),
    members: {},
  };
  const seen = {
    cluster,
    operator: facts,
    members: [],
    claims: [],
    secrets: {},
    membersRecord: { data: { [membersFile]: printMembersRecord(record) } },
  } as unknown as Observation;
  const objects = desiredObjects(makePass(seen, spec, 0), { record });
  const kinds = options.get('kinds')?.split(',');
  const shown = objects.filter(({ kind }) => kinds === undefined || kinds.includes(kind));
  const only = options.get('only');
  return shown
    .map((object) => (only === undefined ? object : valueAt(object, only.split('.'))))
    .map((value) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
});

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (inner as Record<string, unknown> | undefined)?.[name],
    value,
  );
}
