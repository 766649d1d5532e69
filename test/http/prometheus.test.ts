import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { expositionText } from '#control/prometheus-text.ts';
import { parsePlugins, unavailability } from '#control/plugins.ts';
import { HttpClient, quickStart, startServer } from '../support/server-process.ts';
import { startDoor } from './door-fixture.ts';
import { type ParsedFamily, parseExposition } from './exposition-parser.ts';

// Plugin `prometheus` (wire-protocols.md 4; house decision 41).

function value(families: readonly ParsedFamily[], name: string, labels: object = {}): number {
  const family = families.find((candidate) => candidate.name === name);
  assert(family, `${name} is there`);
  const wanted = JSON.stringify(Object.entries(labels).sort());
  const sample = family.samples.find(
    (candidate) => JSON.stringify(Object.entries(candidate.labels).sort()) === wanted,
  );
  assert(sample, `${name} ${JSON.stringify(labels)} is there`);
  return sample.value;
}

test('label values and help texts are escaped, counters named as each form wants', () => {
  const families = [
    {
      name: 'odd',
      help: 'a\\b\nc',
      type: 'counter' as const,
      samples: [{ labels: { label: 'q"b\\s\nn' }, value: 1.5e-7 }],
    },
    { name: 'empty', help: 'nothing', type: 'gauge' as const, samples: [] },
  ];
  const text = expositionText(families, 'prometheus');
  assert.equal(
    text,
    '# HELP polyad_odd_total a\\\\b\\nc\n# TYPE polyad_odd_total counter\n' +
      'polyad_odd_total{label="q\\"b\\\\s\\nn"} 1.5e-7\n',
  );
  const [parsed] = parseExposition(text, 'prometheus');
  assert.equal(parsed?.samples[0]?.labels['label'], 'q"b\\s\nn');
  parseExposition(expositionText(families, 'openmetrics'), 'openmetrics');
});

test('without the plugin there is no such path', async (context) => {
  const door = await startDoor(context);
  for (const path of ['/metrics', '/prometheus'])
    assert.equal((await door.ask('GET', path)).status, 404);
});

test('plugins are named with or without a class; what cannot be started is told', () => {
  assert.deepEqual(parsePlugins(' Prometheus:com.x.Y, redis ,,redis:z'), [
    { name: 'prometheus', className: 'com.x.Y' },
    { name: 'redis', className: '' },
  ]);
  assert.equal(unavailability('prometheus'), undefined);
  assert.equal(unavailability('teleport'), 'not known');
  assert.equal(unavailability('mcp'), 'not available in this version');
});

/** Four commands that succeed and one that fails, a batch, a backup, a path that nobody has, a refusal. */
async function workOn(client: HttpClient, url: string, authorization: string): Promise<void> {
  await client.server('create database school');
  await client.sql('school', 'CREATE DOCUMENT TYPE N');
  await client.sql('school', 'INSERT INTO N SET n = 1');
  await client.sql('school', 'SELECT FROM N');
  assert.equal((await client.server('trigger backup school')).status, 200);
  await client.request('POST', '/command/school', { language: 'sql', command: 'SELECT 1/0' });
  await client.sql('school', 'CREATE VERTEX TYPE V');
  const batch = await fetch(`${url}/api/v1/batch/school?commitEvery=2`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-ndjson' },
    body: '{"@type":"v","@class":"V"}\n'.repeat(3),
  });
  assert.equal(batch.status, 200);
  await client.request('POST', '/mcp/config', { enabled: true, allowedUsers: ['root'] });
  for (const [name, given] of [
    ['query', { database: 'school', language: 'sql', query: 'SELECT FROM N' }],
    ['query', { database: 'school', language: 'sql', query: 'DELETE FROM N' }],
    ['xxxxxx', {}],
  ])
    await client.request('POST', '/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: given },
    });
  await fetch(`${url}/no/such/path/${'x'.repeat(50)}`);
  await fetch(`${url}/api/v1/databases`);
}

/** Of the calls of `workOn`. */
function checkTools(families: readonly ParsedFamily[]): void {
  const calls = 'polyad_mcp_tool_calls_total';
  assert.equal(value(families, calls, { tool: 'query', outcome: 'ok' }), 1);
  assert.equal(value(families, calls, { tool: 'query', outcome: 'failed' }), 1);
  assert.equal(value(families, calls, { tool: 'unknown', outcome: 'failed' }), 1);
  assert.equal(value(families, 'polyad_mcp_tool_rows_total', { tool: 'query' }), 1);
}

test('a real server is scraped: requests, statements, storage and process', async () => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-metrics-'));
  const server = await startServer({
    rootPath,
    rootPassword: 'password',
    environment: quickStart,
    readyTimeoutMs: 60_000,
    settings: { 'service.server.plugins': 'prometheus,teleport:x' },
  });
  try {
    const client = new HttpClient(server.port, 'root', 'password');
    const url = `http://127.0.0.1:${server.port}`;
    const authorization = `Basic ${Buffer.from('root:password').toString('base64')}`;
    assert.equal((await fetch(`${url}/metrics`)).status, 401);
    await workOn(client, url, authorization);
    const scrape = async (path: string, accept = 'text/plain') => {
      const answer = await fetch(url + path, { headers: { authorization, accept } });
      assert.equal(answer.status, 200);
      return { type: answer.headers.get('content-type'), text: await answer.text() };
    };
    const { type, text } = await scrape('/metrics');
    assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
    const families = parseExposition(text, 'prometheus');
    assert(families.every(({ name }) => name.startsWith('polyad_')));
    const requests = 'polyad_http_requests_total';
    const command = { method: 'POST', route: '/api/v1/command/:database' };
    assert.equal(value(families, requests, { ...command, status: '200' }), 4);
    assert.equal(value(families, requests, { ...command, status: '400' }), 1);
    assert.equal(value(families, requests, { method: '*', route: 'unknown', status: '404' }), 1);
    const refused = { method: 'GET', route: '/api/v1/databases', status: '401' };
    assert.equal(value(families, requests, refused), 1);
    assert.equal(value(families, 'polyad_batch_rows_total', { kind: 'vertex' }), 3);
    checkTools(families);
    // Three commands, and two chunks of the batch.
    assert.equal(value(families, 'polyad_transactions_committed_total'), 5);
    const failure = { exception: 'ArithmeticErrorException' };
    assert.equal(value(families, 'polyad_query_failures_total', failure), 1);
    const times = families.find(({ name }) => name === 'polyad_query_seconds');
    const counts = times?.samples.filter(({ name }) => name.endsWith('_count'));
    assert.deepEqual(
      counts?.map(({ labels, value: count }) => [labels['language'], labels['kind'], count]),
      [
        ['sql', 'read', 2],
        ['sql', 'write', 3],
      ],
    );
    const school = { database: 'school' };
    assert(value(families, 'polyad_backup_last_success_timestamp_seconds', school) > 1e9);
    assert.equal(value(families, 'polyad_storage_records', school), 4);
    assert(value(families, 'polyad_storage_map_bytes', school) > 0);
    assert(value(families, 'polyad_storage_flushes_total', school) > 0);
    for (const name of ['polyad_commit_seconds', 'polyad_storage_flush_seconds']) {
      const samples = families.find((family) => family.name === name)?.samples ?? [];
      assert.equal(samples.filter(({ labels }) => labels['le'] === '+Inf').length, 1, name);
      const last = samples.find(({ labels }) => labels['le'] === '+Inf');
      assert(last && last.value > 0, name);
    }
    assert(value(families, 'polyad_process_cpu_seconds_total') > 0);
    assert.equal(value(families, 'polyad_databases_open'), 1);
    assert.equal(value(families, 'polyad_websocket_clients'), 0);
    // Nothing in it comes from what clients send.
    assert.doesNotMatch(text, /xxxx|password/);

    const open = await scrape('/prometheus', 'application/openmetrics-text; version=1.0.0');
    assert.match(open.type ?? '', /^application\/openmetrics-text; version=1\.0\.0/);
    parseExposition(open.text, 'openmetrics');
    const { body } = await client.server('get server events');
    assert.match(JSON.stringify(body), /Plugin 'teleport' is not known; it was not started/);
    await client.server('create user {"name":"mary","password":"password","databases":{}}');
    const mary = `Basic ${Buffer.from('mary:password').toString('base64')}`;
    const hers = await fetch(`${url}/metrics`, { headers: { authorization: mary } });
    assert.doesNotMatch(await hers.text(), /database="school"/);
    await client.server('set server setting prometheus.requireAuthentication false');
    assert.equal((await fetch(`${url}/metrics`)).status, 200);
    assert.equal(await server.stop(), 0);
  } finally {
    await server.kill().catch(() => {});
    rmSync(rootPath, { recursive: true, force: true });
  }
});
