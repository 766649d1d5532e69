import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { backToThree, groupSeenBy, mustBeConsistent, podsOf, uidsOf } from '../steps/group.ts';
import { mustHaveServed } from '../steps/load.ts';
import { conditionOf, isReady, type Namespace, reasonOf, valueAt } from '../steps/objects.ts';
import { asPkcs1, Authority, type CertificateFiles } from '../steps/openssl.ts';
import { dialRaftPort } from '../steps/raft-port.ts';

/*
 * Certificates between members: what a Cluster has without being asked for, and a Secret of the user, good and bad.
 */

const both = ['serverAuth', 'clientAuth'] as const;

function secret(name: string, files: CertificateFiles) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: files };
}

/** The digest of the certificate as it lies in the pod. */
async function deliveredTo(namespace: Namespace, pod: string): Promise<string> {
  const words = ['exec', pod, '-c', 'server', '--', 'cat', '/etc/polyad/tls/tls.crt'];
  return digestOf(await namespace.kubectl(words));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The serial numbers that members show whoever dials them. */
async function serialsOf(namespace: Namespace, cluster: string): Promise<readonly string[]> {
  const [from = ''] = podsOf(cluster);
  const asked = podsOf(cluster).map((to) =>
    dialRaftPort(namespace, { cluster, from, to, isMember: false }),
  );
  return (await Promise.all(asked)).map(({ serial }) => serial);
}

export const certificateScenarios: readonly Scenario[] = [
  {
    id: 'T1',
    title:
      'TLS between members without being asked for: a group is formed, and whoever has no certificate is refused by each',
    level: 0,
    async run({ namespace, report }) {
      await namespace.apply({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'shut' },
      });
      const made = await namespace.waitFor('pyd', 'shut', 'Ready', 'clusterReady', isReady);
      assert.equal(valueAt(made, 'status.voters'), 3);
      assert.equal(conditionOf(made, 'CertificatesValid'), 'True');
      const groups = await Promise.all(podsOf('shut').map((pod) => groupSeenBy(namespace, pod)));
      assert.equal(groups.filter((group) => group?.isLeader).length, 1);
      const ids = new Set(groups.map((group) => group?.clusterId));
      assert.equal(ids.size, 1);
      assert.ok(!ids.has(undefined) && !ids.has(''), 'members know of no group');
      const refusals = new Set<string>();
      for (const from of podsOf('shut'))
        for (const to of podsOf('shut')) {
          const dial = { cluster: 'shut', from, to };
          const member = await dialRaftPort(namespace, { ...dial, isMember: true });
          assert.equal(member.refused, '', `${to} refuses ${from}`);
          const stranger = await dialRaftPort(namespace, { ...dial, isMember: false });
          // Shown a certificate, and refused for having none.
          assert.equal(stranger.serial, member.serial);
          assert.match(stranger.refused, /CERTIFICATE_REQUIRED|ALERT|ECONNRESET/i, to);
          refusals.add(stranger.refused);
        }
      report(`refused with ${[...refusals].join(', ')}`);
    },
  },
  {
    id: 'T4',
    title:
      'a Secret of the user with a key in PKCS#1, a usage or a name too few: told by the name of the setting, members that run untouched, new ones not made',
    level: 1,
    async run(context) {
      const { namespace, cluster, load, report } = context;
      const authority = await Authority.make();
      try {
        const names = ['own', 'never'].map(
          (name) => `*.${name}.${namespace.name}.svc.cluster.local`,
        );
        const good = await authority.issue({ dnsNames: names, usages: both });
        const key = await asPkcs1(good['tls.key']);
        const oneUsage = await authority.issue({ dnsNames: names, usages: ['serverAuth'] });
        const oneName = await authority.issue({ dnsNames: ['own-0.example'], usages: both });
        const bad: readonly (readonly [CertificateFiles, RegExp])[] = [
          [{ ...good, 'tls.key': key }, /tls\.key holds 'RSA PRIVATE KEY'.*PKCS#8/],
          [oneUsage, /serverAuth and clientAuth in tls\.crt/],
          [oneName, /tls\.crt does not speak for the member own-0\./],
        ];
        const tls = { issuer: { secretRef: { name: 'mine' } } };
        await namespace.apply(secret('mine', good));
        await cluster('own', { replicas: 3, tls });
        const clients = await load('own');
        const [uids, serials] = [await uidsOf(namespace, 'own'), await serialsOf(namespace, 'own')];
        const mustTell = async (about: string, setting: string, why: RegExp) => {
          const told = await namespace.waitFor(
            'pyd',
            about,
            `told of ${String(why)}`,
            'stalled',
            (object) =>
              conditionOf(object, 'Stalled') === 'True' && why.test(reasonOf(object, 'Stalled')),
          );
          assert.ok(reasonOf(told, 'Stalled').includes(setting), reasonOf(told, 'Stalled'));
          assert.equal(conditionOf(told, 'CertificatesValid'), 'False');
        };
        for (const [files, why] of bad) {
          await namespace.apply(secret('mine', files));
          await mustTell('own', 'spec.tls.issuer.secretRef: Secret mine', why);
        }
        await namespace.apply({
          apiVersion: 'polyad.io/v1alpha1',
          kind: 'Cluster',
          metadata: { name: 'never' },
          spec: { replicas: 1, tls },
        });
        await mustTell('never', 'spec.tls.issuer.secretRef: Secret mine', /never-0\./);
        assert.equal(await namespace.get('statefulset', 'never'), undefined);

        // Members see the last one in their files, and go on with the one that they have.
        const start = performance.now();
        const wanted = digestOf(oneName['tls.crt']);
        for (const pod of podsOf('own'))
          while ((await deliveredTo(namespace, pod)) !== wanted) {
            if (performance.now() - start > budgetMs('certificateServed'))
              throw new Error(`${pod} does not have the file`);
            await pause(2_000);
          }
        report(`delivered after ${((performance.now() - start) / 1000).toFixed(0)} s`);
        await pause(15_000);
        assert.deepEqual(await serialsOf(namespace, 'own'), serials);

        // Another Secret, that a restart would be for.
        await namespace.apply(secret('mine', good), secret('other', oneUsage));
        const named = (name: string) => ({ spec: { tls: { issuer: { secretRef: { name } } } } });
        await namespace.patch('pyd', 'own', named('other'));
        await mustTell('own', 'spec.tls.issuer.secretRef: Secret other', /clientAuth/);
        await pause(10_000);
        assert.deepEqual(await uidsOf(namespace, 'own'), uids);
        await namespace.patch('pyd', 'own', named('mine'));
        await backToThree(namespace, 'own');
        await namespace.waitFor('pyd', 'never', 'Ready', 'clusterReady', isReady);
        assert.deepEqual(await uidsOf(namespace, 'own'), uids);
        await clients.untilAcknowledged(20);
        mustHaveServed(context, await clients.stop());
        await mustBeConsistent(namespace, 'own', 'load');
      } finally {
        authority.remove();
      }
    },
  },
];
