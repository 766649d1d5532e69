import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { budgetMs } from '../config/timeouts.ts';
import type { Scenario } from '../scenario.ts';
import { sql, serverCommand } from '../steps/member.ts';
import { isReady, valueAt } from '../steps/objects.ts';
import { mustStayQuiet } from '../steps/quiescence.ts';

/** A spec that the API server refuses, and a part of what it says. */
const refused: readonly (readonly [object, RegExp])[] = [
  [{ replicas: 10 }, /replicas/],
  [{ replicas: 0 }, /replicas/],
  [{ replicas: 1, readReplicas: 17 }, /readReplicas/],
  [{ replicas: 1, tls: { issuer: { certManager: {} } } }, /tls/],
  [
    { replicas: 1, settings: { 'service.server.rootPath': '/x' } },
    /spec\.settings may not hold names, ports, directories/,
  ],
  [{ replicas: 1, settings: { plain: 'x' } }, /service\./],
  [{ replicas: 1, storage: { size: 'big' } }, /size/],
  [{ replicas: 1, deletionPolicy: 'Keep' }, /deletionPolicy/],
  [{ replicas: 1, electionTimeout: { minMs: 5000, maxMs: 2000 } }, /electionTimeout|minMs/],
  [{ replicas: 1, unknownField: true }, /unknownField/],
  [{ replicas: 1, plugins: { mongo: { enabled: true } } }, /plugins/],
  [{ replicas: 1, update: { strategy: 'Recreate' } }, /allowDowntime/],
];

const accepted: readonly object[] = [
  {},
  { replicas: 5, readReplicas: 2 },
  { replicas: 1 },
  { replicas: 1, settings: { 'service.txRetries': '5' }, hibernate: true },
  { replicas: 1, storage: { size: '1Gi', accessMode: 'ReadWriteOncePod' } },
  { replicas: 1, deletionPolicy: 'Delete', update: { paused: true } },
  { replicas: 1, resources: { limits: { memory: '512Mi' } }, heapPercent: 60 },
];

const manifest = (name: string, spec: object) => ({
  apiVersion: 'polyad.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name },
  spec,
});

export const installScenarios: readonly Scenario[] = [
  {
    id: 'I2',
    title:
      'the smallest Cluster, three lines: three voters, first write through the Service, quiet afterwards',
    level: 0,
    async run({ namespace, image, load, report }) {
      const start = performance.now();
      const text = 'apiVersion: polyad.io/v1alpha1\nkind: Cluster\nmetadata: {name: small}\n';
      await namespace.kubectl(['apply', '-f', '-'], text);
      await namespace.kubectl([
        ...['wait', '--for=condition=Ready', 'clusters.polyad.io/small'],
        `--timeout=${budgetMs('clusterReady') / 1000}s`,
      ]);
      const readySeconds = (performance.now() - start) / 1000;
      await serverCommand(namespace, 'small-0', 'create database first');
      await sql(namespace, 'small-0', 'first', 'CREATE DOCUMENT TYPE T', { host: 'small-http' });
      await sql(namespace, 'small-0', 'first', 'INSERT INTO T SET n = 1', { host: 'small-http' });
      const writtenSeconds = (performance.now() - start) / 1000;
      report(
        `Ready after ${readySeconds.toFixed(1)} s, first write after ${writtenSeconds.toFixed(1)} s`,
      );
      assert.ok(writtenSeconds * 1000 < budgetMs('installToFirstWrite'));
      const seen = await namespace.require('pyd', 'small');
      assert.equal(valueAt(seen, 'status.leader'), 'small-0');
      assert.equal(valueAt(seen, 'status.image'), image);
      assert.equal(valueAt(seen, 'status.faultTolerance'), 1);
      // A member that has just joined may take a new database over as a whole, and is not ready meanwhile.
      await namespace.waitFor('pyd', 'small', 'Ready', 'memberBack', isReady);
      const columns = await namespace.kubectl(['get', 'pyd', 'small']);
      assert.match(columns, /NAME\s+READY\s+PHASE\s+REPLICAS\s+VOTERS/);
      assert.match(columns, /small\s+True\s+Running\s+3\s+3/);
      const refusal = await namespace.tryKubectl(['scale', 'pyd', 'small', '--replicas=10']);
      assert.match(refusal.error, /replicas/);
      const ends = async (service: string): Promise<number> => {
        const slices = await namespace.list(
          'endpointslices',
          '-l',
          `kubernetes.io/service-name=${service}`,
        );
        return slices.flatMap((slice) => (slice['endpoints'] ?? []) as object[]).length;
      };
      assert.deepEqual(
        [await ends('small-http'), await ends('small-rw'), await ends('small-ro')],
        [3, 1, 2],
      );
      await mustStayQuiet(namespace, 60);
      const clients = await load('small');
      await clients.untilAcknowledged(50);
      const { acknowledged, failed } = await clients.stop();
      assert.equal(failed, 0);
      report(`${acknowledged} writes`);
    },
  },
  {
    id: 'I3',
    title: 'what the definition accepts and refuses, in sentences',
    level: 0,
    async run({ namespace, report }) {
      const words = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
      for (const spec of accepted)
        await namespace.kubectl(words, JSON.stringify(manifest('accepted', spec)));
      for (const [spec, sentence] of refused) {
        const { isGood, error } = await namespace.tryKubectl(
          words,
          JSON.stringify(manifest('refused', spec)),
        );
        assert.equal(isGood, false, JSON.stringify(spec));
        assert.match(error, sentence, JSON.stringify(spec));
      }
      const long = await namespace.tryKubectl(
        words,
        JSON.stringify(manifest('n'.repeat(41), { replicas: 1 })),
      );
      assert.equal(long.isGood, false);
      report(`${accepted.length} accepted, ${refused.length + 1} refused`);
    },
  },
  {
    id: 'I5',
    title: 'every Cluster of the documents applies unchanged and becomes Ready',
    level: 1,
    async run({ namespace, report }) {
      const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
      const blocks = [...text.matchAll(/^(apiVersion: polyad\.io[\s\S]*?)\n(?:EOF|```)/gm)].map(
        (match) => match[1] ?? '',
      );
      const clusters = blocks
        .flatMap((block) => parseAllDocuments(block))
        .map((document) => document.toJS() as { kind?: string; metadata?: { name?: string } })
        .filter((object) => object?.kind === 'Cluster');
      assert.ok(clusters.length > 0, 'the README shows no Cluster');
      for (const object of clusters) {
        await namespace.apply(object as Readonly<Record<string, unknown>>);
        await namespace.waitFor(
          'pyd',
          object.metadata?.name ?? '',
          'Ready',
          'clusterReady',
          isReady,
        );
      }
      report(`${clusters.length} examples`);
    },
  },
  {
    id: 'I6',
    title: 'names at their limit and awkward ones',
    level: 2,
    async run({ cluster }) {
      await cluster(`c${'n'.repeat(39)}`);
      await cluster('x9-8');
    },
  },
  {
    id: 'I7',
    title: 'restricted pod security, read-only root, another user',
    level: 1,
    async run({ namespace, cluster }) {
      await cluster('other', {
        podSecurityContext: {
          runAsNonRoot: true,
          fsGroup: 4242,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        securityContext: {
          runAsUser: 4242,
          runAsGroup: 4242,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      });
      const who = await namespace.kubectl(['exec', 'other-0', '-c', 'server', '--', 'id', '-u']);
      assert.equal(who.trim(), '4242');
      const written = await namespace.tryKubectl([
        ...['exec', 'other-0', '-c', 'server', '--', 'touch', '/app-file'],
      ]);
      assert.match(written.error, /Read-only|Permission/);
      await serverCommand(namespace, 'other-0', 'create database d');
    },
  },
];
