import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario } from '../scenario.ts';
import { backToThree, mustBeConsistent, podsOf, uidsOf } from '../steps/group.ts';
import { ask, serverCommand, sql } from '../steps/member.ts';
import { wire } from '../steps/key-value-wire.ts';
import { conditionOf, isReady, type Namespace } from '../steps/objects.ts';

interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
}

interface RpcAnswer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** One request of the tool protocol, over HTTP. */
async function rpc(
  namespace: Namespace,
  pod: string,
  method: string,
  params: object = {},
): Promise<RpcAnswer> {
  const body = { jsonrpc: '2.0', id: 7, method, params };
  const answer = await ask(namespace, pod, { path: '/mcp', body });
  assert.equal(answer.status, 200, answer.body);
  const said = JSON.parse(answer.body) as RpcAnswer;
  assert.equal(said.id, 7);
  return said;
}

/** A refusal is an error of the protocol or of the tool. */
async function callTool(
  namespace: Namespace,
  pod: string,
  name: string,
  given: object,
): Promise<ToolAnswer> {
  const { result, error } = await rpc(namespace, pod, 'tools/call', { name, arguments: given });
  if (error !== undefined) return { isError: true, text: error.message };
  const { isError = false, content } = result as {
    readonly isError?: boolean;
    readonly content: readonly { readonly text: string }[];
  };
  return { isError, text: content.map(({ text }) => text).join('\n') };
}

export const clientScenarios: readonly Scenario[] = [
  {
    id: 'C1',
    title: 'a transaction session and a login through the Service',
    level: 1,
    async run({ namespace, cluster }) {
      await cluster('web');
      const host = 'web-http';
      await serverCommand(namespace, 'web-0', 'create database shop');
      await sql(namespace, 'web-0', 'shop', 'CREATE DOCUMENT TYPE T', { host });
      const begun = await ask(namespace, 'web-0', { path: '/begin/shop', body: {}, host });
      assert.equal(begun.status, 204);
      const session = begun.headers['service-session-id'] ?? '';
      const headers = { 'service-session-id': session };
      await sql(namespace, 'web-0', 'shop', 'INSERT INTO T SET n = 1', { host, headers });
      const count = async (more: object) =>
        (
          await sql(namespace, 'web-0', 'shop', 'SELECT count(*) AS n FROM T', { host, ...more })
        )[0]?.['n'];
      assert.equal(await count({}), 0);
      assert.equal(await count({ headers }), 1);
      const committed = await ask(namespace, 'web-0', {
        path: '/commit/shop',
        body: {},
        host,
        headers,
      });
      assert.equal(committed.status, 204);
      assert.equal(await count({}), 1);
      const login = await ask(namespace, 'web-0', { path: '/login', body: {}, host });
      const token = (JSON.parse(login.body) as { token: string }).token;
      assert.equal(await count({ headers: { authorization: `Bearer ${token}` } }), 1);
    },
  },
  {
    id: 'C2',
    title:
      'the tool protocol on every member: tools, a query, a write refused, and allowed by the spec without a restart',
    level: 1,
    async run({ namespace, cluster, report }) {
      const mcp = { enabled: true, allowInsert: false, allowedUsers: ['root'] };
      await cluster('agent', { replicas: 3, mcp });
      const pods = podsOf('agent');
      const uids = await uidsOf(namespace, 'agent');
      await serverCommand(namespace, 'agent-0', 'create database shop');
      await sql(namespace, 'agent-0', 'shop', 'CREATE DOCUMENT TYPE Item');
      await sql(namespace, 'agent-0', 'shop', "INSERT INTO Item SET name = 'tea'");
      await mustBeConsistent(namespace, 'agent', 'shop');
      const called = (pod: string, tool: string, text: object): Promise<ToolAnswer> =>
        callTool(namespace, pod, tool, { database: 'shop', language: 'sql', ...text });
      const insert = (pod: string) =>
        called(pod, 'execute_command', { command: `INSERT INTO Item SET name = '${pod}'` });
      for (const pod of pods) {
        const { result } = await rpc(namespace, pod, 'tools/list');
        const tools = (result as { tools: readonly { name: string; inputSchema: object }[] }).tools;
        for (const name of ['list_databases', 'query', 'execute_command'])
          assert.ok(tools.find((tool) => tool.name === name)?.inputSchema, `${pod} lacks ${name}`);
        const read = await called(pod, 'query', { query: 'SELECT name FROM Item' });
        assert.match(read.text, /"tea"/, pod);
        assert.equal(read.isError, false, pod);
        const written = await called(pod, 'query', { query: "INSERT INTO Item SET name = 'x'" });
        assert.equal(written.isError, true, pod);
        const refused = await insert(pod);
        assert.equal(refused.isError, true, pod);
        assert.match(refused.text, /insert/i, pod);
      }
      const start = performance.now();
      const change = { mcp: { allowInsert: true, profile: 'ALL' } };
      await namespace.patch('pyd', 'agent', { spec: change });
      await namespace.waitFor('pyd', 'agent', 'Ready', 'hotSetting', isReady);
      report(`allowed on three after ${((performance.now() - start) / 1000).toFixed(1)} s`);
      const configurations = new Set<string>();
      for (const pod of pods) {
        const written = await insert(pod);
        assert.equal(written.isError, false, `${pod}: ${written.text}`);
        const { status, body } = await ask(namespace, pod, { path: '/mcp/config' });
        assert.equal(status, 200);
        configurations.add(body);
      }
      assert.equal(configurations.size, 1, [...configurations].join('\n'));
      assert.match([...configurations][0] ?? '', /"allowInsert":true/);
      assert.deepEqual(await uidsOf(namespace, 'agent'), uids);
      await mustBeConsistent(namespace, 'agent', 'shop');
      const rows = await sql(namespace, 'agent-0', 'shop', 'SELECT name FROM Item ORDER BY name');
      assert.deepEqual(
        rows.map((row) => row['name']),
        [...pods, 'tea'],
      );
      // It is a file of the member from then on.
      await namespace.kubectl(['delete', 'pod', 'agent-2']);
      await backToThree(namespace, 'agent');
      const again = await ask(namespace, 'agent-2', { path: '/mcp/config' });
      assert.equal(again.body, [...configurations][0]);
    },
  },
  {
    id: 'C4',
    title: 'the same manifests again and again change nothing after the first time',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('git', { settings: { 'service.txRetries': '4' } });
      const manifest = JSON.stringify({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'git' },
        spec: { replicas: 1, settings: { 'service.txRetries': '4' } },
      });
      const clientSide = ['apply', '-f', '-'];
      const serverSide = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
      await namespace.kubectl(clientSide, manifest);
      await namespace.kubectl(serverSide, manifest);
      const { generation } = (await namespace.require('pyd', 'git')).metadata;
      const set = (await namespace.require('statefulset', 'git')).metadata;
      for (let turn = 0; turn < 6; turn += 1) {
        await namespace.kubectl(turn % 2 === 0 ? clientSide : serverSide, manifest);
        await pause(10_000);
      }
      assert.equal((await namespace.require('pyd', 'git')).metadata.generation, generation);
      const after = (await namespace.require('statefulset', 'git')).metadata;
      assert.equal(after.generation, set.generation);
      report('6 applies, generation unchanged');
    },
  },
  {
    id: 'C5',
    title: 'kstatus while it comes, stands and goes; no permanent difference',
    level: 1,
    async run({ namespace }) {
      const manifest = JSON.stringify({
        apiVersion: 'polyad.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'status' },
        spec: { replicas: 1 },
      });
      await namespace.kubectl(['apply', '-f', '-'], manifest);
      // Before the operator has looked nothing is said but that it is not ready.
      const young = await namespace.waitFor(
        'pyd',
        'status',
        'reconciling',
        'stalled',
        (object) => conditionOf(object, 'Reconciling') === 'True' || isReady(object),
      );
      assert.equal(conditionOf(young, 'Reconciling'), 'True');
      assert.notEqual(conditionOf(young, 'Ready'), 'True');
      const current = await namespace.waitFor('pyd', 'status', 'Ready', 'clusterReady', isReady);
      assert.equal(conditionOf(current, 'Reconciling'), undefined);
      assert.equal(conditionOf(current, 'Stalled'), undefined);
      const difference = await namespace.tryKubectl(['diff', '-f', '-'], manifest);
      assert.equal(difference.output, '');
    },
  },
  {
    id: 'C7',
    title: 'the wire of plugin redis through the Service of a Cluster',
    level: 1,
    async run({ namespace, cluster, report }) {
      await cluster('keys', { plugins: { redis: { enabled: true } } });
      await serverCommand(namespace, 'keys-0', 'create database shop');
      await sql(namespace, 'keys-0', 'shop', 'CREATE DOCUMENT TYPE Item');
      await sql(namespace, 'keys-0', 'shop', 'CREATE PROPERTY Item.name STRING');
      await sql(namespace, 'keys-0', 'shop', 'CREATE INDEX ON Item (name) UNIQUE');
      const replies = await wire(namespace, 'keys-0', { host: 'keys-http', port: 6379 }, [
        ['PING'],
        ['SELECT', 'shop'],
        ['SET', 'visits', '41'],
        ['INCR', 'visits'],
        ['HSET', 'shop.Item', '{"name":"tea","price":3}'],
      ]);
      assert.deepEqual(replies.slice(0, 4), ['+PONG', '+OK', '+OK', ':42']);
      assert.doesNotMatch(replies[4] ?? '', /^-/);
      const rows = await sql(namespace, 'keys-0', 'shop', 'SELECT price FROM Item');
      assert.deepEqual(
        rows.map((row) => row['price']),
        [3],
      );
      const service = await namespace.require('service', 'keys-http');
      const ports = (service['spec'] as { ports: readonly { name: string; port: number }[] }).ports;
      assert.deepEqual(
        ports.map(({ name, port }) => `${name} ${port}`),
        ['http 2480', 'redis 6379'],
      );
      report(`${replies.length} replies over keys-http:6379`);
    },
  },
];
