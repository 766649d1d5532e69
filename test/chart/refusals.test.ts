import assert from 'node:assert/strict';
import { it } from 'node:test';
import { helms, objectsOf, pick, renderWith, skipWithoutHelm, template } from './helm.ts';

// What the chart refuses, in words that name the key, and what it takes in two forms (chart.md 3, 7 and 8).

const needed = { skip: skipWithoutHelm };

const cluster = 'mode=cluster';
const monitored = 'polyad.plugins.prometheus.enabled=true';
const refused: readonly (readonly [sets: string, words: RegExp])[] = [
  ['replicaCount=null', /replicaCount/],
  ['service.http.port=null', /service.http.*port/],
  ['autoscaling=null', /autoscaling/],
  ['persistence.size=null', /persistence.*size/],
  ['persistence.storageClass=-', /storageClass/],
  ['service.rpc.port=2480', /service\.rpc\.port and service\.http\.port are both 2480/],
  ['tls.enabled=true,tls.secretName=a,tls.port=2434', /tls\.port.*both 2434/],
  [
    'polyad.plugins.redis.enabled=true,polyad.plugins.redis.port=2480',
    /polyad\.plugins\.redis\.port and service\.http\.port are both 2480/,
  ],
  [`${cluster},polyad.databaseDirectory=/data/databases`, /polyad\.databaseDirectory has no/],
  [`${cluster},persistence.subPaths=false`, /persistence\.subPaths=false has no/],
  [`${cluster},persistence.raft.accessMode=ReadWriteOnce`, /persistence\.raft\.accessMode has no/],
  [`${cluster},service.http.nodePort=30000`, /service\.http\.nodePort has no/],
  [`${cluster},pdb.maxUnavailable=2`, /pdb\.maxUnavailable has no/],
  [`${cluster},serviceAccount.automount=true`, /serviceAccount\.automount has no/],
  [`${cluster},livenessProbe=null`, /livenessProbe: a Cluster always has its probes/],
  [`${cluster},tls.secretName=a,ha.tls.secretName=b`, /one certificate/],
  [
    `${cluster},${monitored},metrics.podMonitor.basicAuth.username.name=a`,
    /metrics\.podMonitor\.basicAuth has no/,
  ],
  [
    `${cluster},${monitored},metrics.prometheusRule.rules[0].alert=a`,
    /metrics\.prometheusRule\.rules has no/,
  ],
];

it('what cannot be rendered is refused by the name of its key', needed, async () => {
  for (const [sets, words] of refused)
    await Promise.all(
      helms.map(async (helm) => {
        const { isGood, error } = await template(helm, '--set', sets);
        assert.equal(isGood, false, `${helm} renders ${sets}`);
        assert.match(error, words, helm);
      }),
    );
});

it('values of mode cluster stand in the Cluster, or beside it', needed, async () => {
  const objects = await renderWith(
    'mode=cluster',
    'startupProbe.failureThreshold=900',
    'affinity=null',
    'pdb.unhealthyPodEvictionPolicy=AlwaysAllow',
    'persistence.raft.enabled=false',
    'persistence.raft.size=1Gi',
    'persistence.backups.enabled=true',
    'persistence.backups.size=2Gi',
    'polyad.plugins.prometheus.enabled=true',
    'metrics.grafanaDashboard.enabled=true',
  );
  const { spec } = pick(objects, 'Cluster');
  assert.equal(spec.probes.startup.failureThreshold, 900);
  assert.equal(spec.antiAffinity, 'None');
  assert.deepEqual(spec.disruption, { pdb: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } });
  assert.deepEqual(spec.storage, { size: '8Gi', backups: { size: '2Gi' } });
  assert.equal(pick(objects, 'ConfigMap').metadata.name, 'orders-dashboard');
});

it('a volume of its own is there unless it is switched off', needed, async () => {
  const names = async (...sets: readonly string[]) =>
    pick(await renderWith('replicaCount=3', ...sets), 'StatefulSet').spec.volumeClaimTemplates.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
  assert.deepEqual(await names('persistence.raft.size=1Gi'), ['data', 'raft']);
  assert.deepEqual(await names('persistence.raft.enabled=true'), ['data', 'raft']);
  const off = ['persistence.raft.enabled=false', 'persistence.backups.enabled=false'];
  assert.deepEqual(await names(...off), ['data']);
});

it('claim templates of the user have a volume mode too', needed, async () => {
  const objects = await renderWith(
    'volumeClaimTemplates[0].metadata.name=cold',
    'volumeClaimTemplates[0].spec.resources.requests.storage=1Gi',
  );
  const [, claim] = pick(objects, 'StatefulSet').spec.volumeClaimTemplates;
  assert.equal(claim.spec.volumeMode, 'Filesystem');
  assert.equal(claim.kind, 'PersistentVolumeClaim');
});

it('a monitor of the operator is asked for by true or by its fields', needed, async () => {
  const pulled = 'operator.image.pullPolicy=Always';
  for (const key of [
    'operator.metrics.podMonitor=true',
    'operator.metrics.podMonitor.enabled=true',
  ])
    for (const helm of helms) {
      const { output } = await template(helm, '--set', `mode=operator,${pulled},${key}`);
      const objects = objectsOf(output);
      assert.equal(pick(objects, 'PodMonitor').spec.podMetricsEndpoints[0].interval, '30s', key);
      const [container] = pick(objects, 'Deployment').spec.template.spec.containers;
      assert.equal(container.imagePullPolicy, 'Always');
    }
});
