import assert from 'node:assert/strict';
import { it } from 'node:test';
import { operatorPermissions } from '../../operator/api/permissions.ts';
import { clusterSpec } from '../../operator/api/cluster-spec.ts';
import { helms, objectsOf, pick, renderWith, skipWithoutHelm, template } from './helm.ts';
import type { Rendered } from './helm.ts';

// What each value of the contract does (chart.md 2, 3 and 9).

const serverOf = (objects: readonly Rendered[]) =>
  pick(objects, 'StatefulSet').spec.template.spec.containers[0];
const templateOf = (objects: readonly Rendered[]) =>
  JSON.stringify(pick(objects, 'StatefulSet').spec.template);
const serviceJson = (objects: readonly Rendered[]) =>
  JSON.parse(pick(objects, 'ConfigMap', 'orders-config').data?.['service.json'] ?? '');

const needed = { skip: skipWithoutHelm };

it('one replica is standalone: no setting of a group', needed, async () => {
  const objects = await renderWith();
  assert.equal(templateOf(objects).includes('service.ha.'), false);
  assert.deepEqual(serviceJson(objects), {});
  assert.equal(
    objects.some(({ kind }) => kind === 'PodDisruptionBudget'),
    false,
  );
  const claim = pick(objects, 'StatefulSet').spec.volumeClaimTemplates[0];
  assert.equal('storageClassName' in claim.spec, false);
  assert.deepEqual([claim.apiVersion, claim.kind], ['v1', 'PersistentVolumeClaim']);
});

it('a test that has passed is there for whoever reads its log', needed, async () => {
  const annotations = pick(await renderWith(), 'Pod', 'orders-test').metadata.annotations;
  assert.equal(annotations?.['helm.sh/hook-delete-policy'], 'before-hook-creation');
});

it('more replicas are a group as the contract says', needed, async () => {
  const objects = await renderWith('replicaCount=3');
  const { args, lifecycle } = serverOf(objects);
  for (const word of [
    '-Dservice.ha.enabled=true',
    '-Dservice.ha.k8s=true',
    '-Dservice.ha.k8sSuffix=.orders.shop.svc.cluster.local',
    '-Dservice.server.name=$(POD_NAME)',
    '-Dservice.server.readinessRequiresHA=true',
  ])
    assert.equal(args.includes(word), true, word);
  assert.equal(
    serviceJson(objects)['service.ha.serverList'],
    [0, 1, 2].map((n) => `orders-${n}.orders.shop.svc.cluster.local:2434:2480`).join(),
  );
  const { spec } = pick(objects, 'StatefulSet');
  assert.deepEqual([spec.podManagementPolicy, spec.replicas], ['Parallel', 3]);
  assert.equal(pick(objects, 'Service', 'orders').spec.publishNotReadyAddresses, true);
  assert.equal(lifecycle.preStop.exec.command.includes('--mode=leave'), true);
  const ports = pick(objects, 'Service', 'orders-http').spec.ports as { name: string }[];
  assert.deepEqual(
    ports.map(({ name }) => name),
    ['http'],
  );
});

it('a group that grows, and a change of backups, restart nobody', needed, async () => {
  const three = await renderWith('replicaCount=3');
  assert.equal(templateOf(await renderWith('replicaCount=5')), templateOf(three));
  const backup = await renderWith('replicaCount=3', 'backup.defaults.retention.maxFiles=3');
  assert.equal(templateOf(backup), templateOf(three));
});

it(
  'a setting that needs a restart restarts, one that is taken over live does not',
  needed,
  async () => {
    const plain = templateOf(await renderWith());
    const key = (name: string) => `polyad.settings.service\\.${name.replaceAll('.', '\\.')}`;
    const hot = await renderWith(`${key('server.maxDatabases')}=7`);
    assert.deepEqual(serviceJson(hot), { 'service.server.maxDatabases': '7' });
    assert.equal(templateOf(hot), plain);
    assert.notEqual(templateOf(await renderWith(`${key('server.logLevel')}=debug`)), plain);
  },
);

it(
  'an autoscaler owns the number of replicas, and the list holds all there may be',
  needed,
  async () => {
    const objects = await renderWith('autoscaling.enabled=true', 'autoscaling.maxReplicas=5');
    assert.equal('replicas' in pick(objects, 'StatefulSet').spec, false);
    assert.equal(serviceJson(objects)['service.ha.serverList'].split(',').length, 5);
    const { behavior } = pick(objects, 'HorizontalPodAutoscaler').spec;
    assert.deepEqual(behavior.scaleDown.policies, [{ type: 'Pods', value: 1, periodSeconds: 300 }]);
  },
);

it('plugins get their port on containers, Services and network policies', needed, async () => {
  const objects = await renderWith(
    'polyad.plugins.redis.enabled=true',
    'polyad.plugins.prometheus.enabled=true',
    'networkPolicy.enabled=true',
  );
  const { args, ports } = serverOf(objects);
  assert.equal(args.includes('-Dservice.server.plugins=prometheus,redis'), true);
  assert.deepEqual(
    ports.map(({ containerPort }: { containerPort: number }) => containerPort),
    [2480, 2434, 6379],
  );
  const policy = pick(objects, 'NetworkPolicy', 'orders-http').spec.ingress[0];
  assert.deepEqual(
    policy.ports.map(({ port }: { port: number }) => port),
    [2480, 6379],
  );
});

it('no password is in a render, whatever is generated', needed, async () => {
  for (const generate of ['auto', 'job']) {
    const objects = await renderWith(`polyad.credentials.rootPassword.generate=${generate}`);
    assert.equal(
      objects.some(({ kind }) => kind === 'Secret'),
      false,
    );
    assert.equal(
      pick(objects, 'Job').metadata.annotations?.['helm.sh/hook'],
      'pre-install,pre-upgrade',
    );
  }
});

it('a generated Secret is kept and cannot be changed', needed, async () => {
  const objects = await renderWith('polyad.credentials.rootPassword.generate=lookup');
  const secret = pick(objects, 'Secret', 'service-credentials-secret');
  assert.equal(secret.immutable, true);
  assert.equal(secret.metadata.annotations?.['helm.sh/resource-policy'], 'keep');
  const text = Buffer.from(secret.data?.['rootPassword'] ?? '', 'base64').toString();
  assert.match(text, /^[A-Za-z0-9]{32}$/);
});

it('every render of the same values is the same', needed, async () => {
  for (const helm of helms) {
    const words = ['--set', 'replicaCount=3,extraManifests.a.kind=A,extraManifests.b.kind=B'];
    const [first, second] = [await template(helm, ...words), await template(helm, ...words)];
    assert.equal(first.isGood, true, first.error);
    assert.equal(first.output, second.output, helm);
  }
});

it('every container meets the restricted profile', needed, async () => {
  const renders = [...(await renderWith('replicaCount=3')), ...(await renderWith('mode=operator'))];
  const pods = renders.flatMap((object) =>
    object.kind === 'Pod'
      ? [object.spec]
      : object.spec?.template?.spec?.containers
        ? [object.spec.template.spec]
        : [],
  );
  assert.equal(pods.length, 4);
  for (const pod of pods) {
    assert.equal(pod.securityContext.runAsNonRoot, true);
    assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault');
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      const { securityContext } = container;
      assert.equal(securityContext.allowPrivilegeEscalation, false, container.name);
      assert.equal(securityContext.readOnlyRootFilesystem, true, container.name);
      assert.deepEqual(securityContext.capabilities.drop, ['ALL'], container.name);
    }
  }
});

it('affinity is replaced as a whole, and null takes it away', needed, async () => {
  const preferred = pick(await renderWith(), 'StatefulSet').spec.template.spec.affinity
    .podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0];
  assert.equal(preferred.weight, 100);
  assert.deepEqual(preferred.podAffinityTerm.labelSelector.matchLabels, {
    'app.kubernetes.io/name': 'polyad',
  });
  const none = pick(await renderWith('affinity=null'), 'StatefulSet').spec.template.spec;
  assert.equal('affinity' in none, false);
});

it('operator rules are those of the operator, in the scope that is asked for', needed, async () => {
  const rulesOf = (scopes: readonly string[]) =>
    operatorPermissions
      .filter(({ scope }) => scopes.includes(scope))
      .map(({ group, resources, verbs }) => ({ apiGroups: [group], resources, verbs }));
  const wide = await renderWith('mode=operator', 'operator.rbac.aggregateRoles=false');
  assert.deepEqual(pick(wide, 'ClusterRole').rules, rulesOf(['whole', 'monitoring', 'optional']));
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  assert.deepEqual(rulesOf(['own']), [{ ...leases, verbs: ['get', 'create', 'update'] }]);
  assert.deepEqual(pick(wide, 'Role').rules, [
    { ...leases, verbs: ['create'] },
    { ...leases, verbs: ['get', 'update'], resourceNames: ['polyad-operator'] },
  ]);
  const narrow = await renderWith('mode=operator', 'operator.watchNamespaces={a,b}');
  const roles = narrow.filter(
    ({ kind, metadata }) => kind === 'Role' && metadata.namespace !== 'shop',
  );
  assert.deepEqual(
    roles.map((role) => [role.metadata.namespace, role.rules]),
    ['a', 'b'].map((namespace) => [namespace, rulesOf(['whole', 'monitoring'])]),
  );
  assert.match(JSON.stringify(pick(narrow, 'Deployment')), /--lease-name=polyad-operator-orders/);
});

it('the definition is kept when the operator goes', needed, async () => {
  const definition = pick(await renderWith('mode=operator'), 'CustomResourceDefinition');
  assert.equal(definition.metadata.annotations?.['helm.sh/resource-policy'], 'keep');
});

it('a Cluster has a spec that the operator understands', needed, async () => {
  const { output } = await template(
    helms[0] ?? '',
    '--values',
    new URL('../../chart/ci/cluster-everything.yaml', import.meta.url).pathname,
  );
  const cluster = pick(objectsOf(output), 'Cluster');
  const parsed = clusterSpec.safeParse(cluster.spec);
  assert.equal(parsed.success, true, String(parsed.error));
  const { auth, storage } = cluster.spec;
  assert.deepEqual(auth.rootPassword, { secretName: 'orders-admin', key: 'rootPassword' });
  assert.deepEqual(storage.backups, { size: '50Gi' });
  assert.equal(Object.keys(clusterSpec.shape).length >= Object.keys(cluster.spec).length, true);
  for (const key of Object.keys(cluster.spec)) assert.equal(key in clusterSpec.shape, true, key);
});

it(
  'a Cluster that grows changes its count, and nothing that cannot be changed',
  needed,
  async () => {
    const specOf = async (...sets: readonly string[]) =>
      pick(await renderWith('mode=cluster', ...sets), 'Cluster').spec;
    const { replicas: one, ...alone } = await specOf();
    const { replicas: three, readiness, ...group } = await specOf('replicaCount=3');
    assert.deepEqual([one, three], [1, 3]);
    assert.deepEqual(readiness, { requiresHA: true, maxLag: 100 });
    assert.deepEqual(group, alone);
    assert.equal('clusterName' in alone, false);
    const named = await specOf('polyad.settings.service\\.ha\\.clusterName=north');
    assert.equal(named.clusterName, 'north');
    // The operator makes the certificate.
    const sealed = await specOf('replicaCount=3', 'ha.tls.enabled=true');
    assert.deepEqual(sealed.tls.raft, { enabled: true, mutualAuth: true });
  },
);

it('a release is small enough for the Secret that Helm keeps it in', needed, async () => {
  const bytesMax = 800 * 1024;
  for (const mode of ['statefulset', 'operator', 'cluster']) {
    const { output } = await template(helms[0] ?? '', '--set', `mode=${mode}`);
    assert.equal(output.length < bytesMax, true, mode);
  }
});
