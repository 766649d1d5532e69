import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import {
  ask,
  chart,
  deleteNamespaces,
  helms,
  imageValues,
  makeNamespace,
  whySkip,
  withFolder,
  writeValues,
} from './tools.ts';
import type { GroupAnswer } from '../steps/group.ts';
import { isOnPath, must, run } from '../steps/programs.ts';

/*
 * The chart on a real cluster (scenarios I1, I4 and L9 of the e2e text in their one-member form): every render is accepted by the
 * API server, a release lives from install to uninstall with its data, and what it must refuse it refuses.
 */

const skip = await whySkip();
const wait = ['--wait', '--timeout', '180s'];
const prefix = 'pyd-e2e-chart';

describe('every render is accepted by the API server', { skip }, () => {
  const namespace = `${prefix}-dry`;
  let kinds: ReadonlySet<string> = new Set();

  before(async () => {
    await makeNamespace(namespace);
    const listed = await must('kubectl', ['api-resources', '--no-headers']);
    // NAME [SHORTNAMES] APIVERSION NAMESPACED KIND
    kinds = new Set(
      listed
        .split('\n')
        .map((line) => line.trim().split(/\s+/).slice(-3).toSpliced(1, 1).join(' ')),
    );
  });
  after(() => deleteNamespaces(namespace));

  for (const file of readdirSync(join(chart, 'ci'))) {
    const path = join(chart, 'ci', file);
    if (readFileSync(path, 'utf8').startsWith('# fails:')) continue;
    it(file, async (context) => {
      for (const helm of helms) await must(helm, ['lint', '--strict', chart, '--values', path]);
      const words = ['template', 'orders', chart, '-n', namespace, '--values', path];
      const rendered = parseAllDocuments(await must(helms[0] ?? '', words))
        .map((document) => document.toJS() as { apiVersion: string; kind: string } | null)
        .filter((object) => object !== null);
      const known = rendered.filter(({ apiVersion, kind }) => kinds.has(`${apiVersion} ${kind}`));
      for (const { apiVersion, kind } of rendered)
        if (!kinds.has(`${apiVersion} ${kind}`))
          context.diagnostic(`not checked, the cluster has no ${apiVersion} ${kind}`);
      const list = { apiVersion: 'v1', kind: 'List', items: known };
      const outcome = await run(
        'kubectl',
        [
          ...['apply', '--server-side', '--force-conflicts', '--dry-run=server'],
          // Roles for other namespaces stand in one file with the rest.
          ...(file.startsWith('operator-') ? [] : ['-n', namespace]),
          ...['-f', '-'],
        ],
        JSON.stringify(list),
      );
      const missing = /namespaces "(shop|bank)" not found/;
      const complaints = outcome.error.split('\n').filter((line) => !missing.test(line));
      assert.deepEqual(outcome.isGood ? [] : complaints.filter((line) => line !== ''), []);
    });
  }
});

interface Life {
  readonly helm: string;
  readonly namespace: string;
  readonly release: readonly string[];
  /** The generated password, as the Secret holds it. */
  password: string;
}

const service = 'http://orders-http:2480/api/v1';

const sql = ({ namespace }: Life, command: string) =>
  ask(namespace, 'orders-0', {
    url: `${service}/command/school`,
    body: { language: 'sql', command },
  });

async function countNotes(life: Life): Promise<number | undefined> {
  const { body } = await sql(life, 'SELECT count(*) AS n FROM Note');
  return (JSON.parse(body) as { result: readonly { n: number }[] }).result[0]?.n;
}

function passwordOf({ namespace }: Life): Promise<string> {
  return must('kubectl', [
    ...['-n', namespace, 'get', 'secret', 'service-credentials-secret'],
    '-o=jsonpath={.data.rootPassword}',
  ]);
}

for (const helm of helms) {
  describe(`a release lives, with ${helm}`, { skip }, () => {
    const namespace = `${prefix}-${helm}`;
    const release = ['orders', chart, '-n', namespace, ...imageValues(), ...wait];
    const life: Life = { helm, namespace, release, password: '' };
    before(() => makeNamespace(namespace));
    after(() => deleteNamespaces(namespace));
    grows(life);
    ends(life);
  });
}

function grows(life: Life): void {
  const { helm, namespace, release } = life;

  it('is installed and passes its test', async () => {
    await must(helm, ['install', ...release]);
    const tested = await must(helm, ['test', 'orders', '-n', namespace, '--logs']);
    assert.match(tested, /Phase:\s+Succeeded/);
    // A line of its own for each check, printed by either Helm; and once more, over the pod that stays.
    assert.match(tested, /^\{"check":"health","passed":true/m);
    assert.match(
      await must(helm, ['test', 'orders', '-n', namespace, '--logs']),
      /"check":"login"/,
    );
    life.password = await passwordOf(life);
    assert.equal(Buffer.from(life.password, 'base64').toString().length, 32);
    const create = { command: 'create database school' };
    const { status } = await ask(namespace, 'orders-0', {
      url: `${service}/server`,
      body: create,
    });
    assert.equal(status, 200);
    await sql(life, 'CREATE DOCUMENT TYPE Note');
    await sql(life, 'INSERT INTO Note SET text = 1');
  });

  it('takes settings over with an upgrade, and keeps data and password', async () => {
    await withFolder((folder) =>
      must(helm, [
        'upgrade',
        ...release,
        ...writeValues(folder, {
          resources: { limits: { memory: '512Mi' } },
          polyad: { settings: { 'service.server.logLevel': 'debug' } },
          backup: { defaults: { retention: { maxFiles: 3 } } },
        }),
      ]),
    );
    const config = ['-n', namespace, 'exec', 'orders-0', '-c', 'server', '--', 'cat'];
    assert.match(
      await must('kubectl', [...config, '/home/service/config/service.json']),
      /"service.server.logLevel": "debug"/,
    );
    const command = await must('kubectl', [...config, '/proc/1/cmdline']);
    const heap = Number(/--max-old-space-size=(\d+)/.exec(command)?.[1]);
    // 75 percent of the limit of 512 MiB, less what storage and statements are budgeted.
    assert.ok(heap > 128 && heap <= 384, command);
    assert.match(
      await must('kubectl', [...config, '/home/service/config/backup.json']),
      /"maxFiles": 3/,
    );
    assert.equal(await countNotes(life), 1);
    assert.equal(await passwordOf(life), life.password);
  });

  it('goes back with a rollback', async () => {
    await must(helm, ['rollback', 'orders', '1', '-n', namespace, ...wait]);
    assert.equal(await countNotes(life), 1);
    assert.equal(await passwordOf(life), life.password);
  });
}

function ends(life: Life): void {
  const { helm, namespace, release } = life;

  it('says what to do when a claim should grow', async () => {
    const { isGood, error } = await run(helm, [
      'upgrade',
      ...release,
      '--set',
      'persistence.size=9Gi',
    ]);
    assert.equal(isGood, false);
    assert.match(error, /persistence.size changes from 8Gi to 9Gi/);
    assert.match(error, /delete statefulset orders --cascade=orphan/);
  });

  it('says that another release has the Secret', async () => {
    const words = ['install', 'other', chart, '-n', namespace, ...imageValues()];
    const { isGood, error } = await run(helm, words);
    assert.equal(isGood, false);
    assert.match(error, /belongs to the release orders: set .*generatedName/);
  });

  it('leaves claims and password when it is uninstalled, and finds them again', async () => {
    await must(helm, ['uninstall', 'orders', '-n', namespace, '--wait']);
    const left = await must('kubectl', [
      ...['-n', namespace, 'get', 'pvc,secret', '-l', 'app.kubernetes.io/instance=orders'],
      '-o=name',
    ]);
    assert.deepEqual(left.trim().split('\n').sort(), [
      'persistentvolumeclaim/data-orders-0',
      'secret/service-credentials-secret',
    ]);
    await must(helm, ['install', ...release]);
    assert.equal(await countNotes(life), 1);
    assert.equal(await passwordOf(life), life.password);
  });

  it('goes without a trace with one further command', async () => {
    await must(helm, ['uninstall', 'orders', '-n', namespace, '--wait']);
    await must('kubectl', [
      ...['-n', namespace, 'delete', 'pvc,secret', '-l', 'app.kubernetes.io/instance=orders'],
    ]);
    await must('kubectl', ['-n', namespace, 'delete', 'pod', 'orders-test', '--ignore-not-found']);
    const left = await must('kubectl', [
      ...['-n', namespace, 'get', 'all,pvc,secret,role,rolebinding,networkpolicy', '-o=name'],
    ]);
    // A pod may still be on its way.
    assert.deepEqual(
      left.split('\n').filter((line) => line !== '' && line !== 'pod/orders-0'),
      [],
    );
  });
}

describe('a release in a namespace that it makes itself', { skip }, () => {
  const namespace = `${prefix}-fresh`;
  after(() => deleteNamespaces(namespace));

  it('gets its password from the Job, once', async () => {
    const helm = helms.at(-1) ?? '';
    const words = ['graph', chart, '-n', namespace, ...imageValues(), ...wait];
    await must(helm, ['install', ...words, '--create-namespace']);
    const secret = () =>
      must('kubectl', [
        ...['-n', namespace, 'get', 'secret', 'service-credentials-secret'],
        '-o=jsonpath={.metadata.uid} {.immutable} {.data.rootPassword}',
      ]);
    const first = await secret();
    assert.match(first, / true .{40,}/);
    await must(helm, ['upgrade', ...words, '--set', 'podAnnotations.a=b']);
    assert.equal(await secret(), first);
    assert.match(await must(helm, ['test', 'graph', '-n', namespace]), /Phase:\s+Succeeded/);
    await must(helm, ['uninstall', 'graph', '-n', namespace]);
  });
});

describe('a release with HTTPS, metrics and a port of its own', { skip }, () => {
  const namespace = `${prefix}-tls`;
  after(() => deleteNamespaces(namespace));

  it('serves them', { skip: skip || (!isOnPath('openssl') && 'no openssl') }, async () => {
    await makeNamespace(namespace);
    const helm = helms[0] ?? '';
    await withFolder(async (folder) => {
      const [key, certificate] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
      await must('openssl', [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
        ...['-days', '2', '-subj', '/CN=orders', '-keyout', key, '-out', certificate],
      ]);
      await must('kubectl', [
        ...['-n', namespace, 'create', 'secret', 'tls', 'orders-https'],
        ...[`--cert=${certificate}`, `--key=${key}`],
      ]);
      const values = writeValues(folder, {
        fullnameOverride: 'graph',
        service: { http: { port: 8080 } },
        tls: { enabled: true, secretName: 'orders-https' },
        polyad: { plugins: { prometheus: { enabled: true } }, defaultDatabases: 'school[]' },
        persistence: { enabled: false },
        networkPolicy: { enabled: true },
      });
      await must(helm, [
        'install',
        'orders',
        chart,
        '-n',
        namespace,
        ...imageValues(),
        ...values,
        ...wait,
      ]);
    });
    const get = (url: string) => ask(namespace, 'graph-0', { url });
    assert.equal((await get('https://graph-http:2490/api/v1/ready')).status, 204);
    assert.match((await get('http://graph-http:8080/metrics')).body, /polyad_http_requests_total/);
    const { body } = await ask(namespace, 'graph-0', {
      url: 'http://graph-http:8080/api/v1/server',
      body: { command: 'list databases' },
    });
    assert.deepEqual((JSON.parse(body) as { result: unknown }).result, ['school']);
    assert.match(await must(helm, ['test', 'orders', '-n', namespace]), /Phase:\s+Succeeded/);
  });
});

for (const helm of helms) {
  describe(`a release becomes a group, with ${helm}`, { skip }, () => {
    const namespace = `${prefix}-ha-${helm}`;
    const release = ['orders', chart, '-n', namespace, ...imageValues(), ...wait];
    const pods = ['orders-0', 'orders-1', 'orders-2'];
    const url = 'http://127.0.0.1:2480/api/v1';
    const sql = async (pod: string, command: string) => {
      const body = { language: 'sql', command };
      const answer = await ask(namespace, pod, { url: `${url}/command/school`, body });
      assert.equal(answer.status, 200, answer.body);
      return (JSON.parse(answer.body) as { result: readonly { text?: number }[] }).result;
    };
    const groupSeenBy = async (pod: string) => {
      const { body } = await ask(namespace, pod, { url: `${url}/cluster` });
      const { leaderId, isLeader, peers } = JSON.parse(body) as GroupAnswer;
      return { leaderId, isLeader, voters: peers.filter(({ voter }) => voter).length };
    };
    before(() => makeNamespace(namespace));
    after(() => deleteNamespaces(namespace));

    it('of three that are Ready, by one upgrade', async () => {
      await must(helm, ['install', ...release]);
      const create = { command: 'create database school' };
      await ask(namespace, 'orders-0', { url: `${url}/server`, body: create });
      await sql('orders-0', 'CREATE DOCUMENT TYPE Note');
      await sql('orders-0', 'INSERT INTO Note SET text = 0');
      await must(helm, ['upgrade', ...release, '--set', 'replicaCount=3']);
      await must('kubectl', [
        ...['-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s'],
        ...pods.map((pod) => `pod/${pod}`),
      ]);
    });

    it('with one leader, whom all three name and count as voters', async () => {
      const said = await Promise.all(pods.map(groupSeenBy));
      assert.equal(said.filter(({ isLeader }) => isLeader).length, 1, JSON.stringify(said));
      assert.equal(new Set(said.map(({ leaderId }) => leaderId)).size, 1, JSON.stringify(said));
      assert.deepEqual(
        said.map(({ voters }) => voters),
        [3, 3, 3],
      );
    });

    it('that takes writes at each member, and passes its test', async () => {
      for (const [index, pod] of pods.entries())
        await sql(pod, `INSERT INTO Note SET text = ${index + 1}`);
      const said = await Promise.all(pods.map(groupSeenBy));
      const leader = pods[said.findIndex(({ isLeader }) => isLeader)] ?? '';
      const { status, body } = await ask(namespace, leader, {
        url: `${url}/cluster/verify/school`,
        body: {},
      });
      assert.equal(status, 200, body);
      assert.match(body, /"overallStatus":"ALL_CONSISTENT"/);
      const rows = await sql(leader, 'SELECT text FROM Note ORDER BY text');
      assert.deepEqual(
        rows.map(({ text }) => text),
        [0, 1, 2, 3],
      );
      assert.match(await must(helm, ['test', 'orders', '-n', namespace]), /Phase:\s+Succeeded/);
      await must(helm, ['uninstall', 'orders', '-n', namespace]);
    });
  });
}
