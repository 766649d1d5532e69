import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { basic } from '../../http/door-fixture.ts';
import { quickStart } from '../../support/server-process.ts';
import { type McpFixture, startMcp } from '../mcp-fixture.ts';
import { startCredentialsProxy } from './credentials-proxy.ts';

// The clients that people use, with their default options: the SDK of the protocol over both transports, the inspector on the
// command line, the conformance suite. `npm run mcp:clients`.

const projectDirectory = resolve(import.meta.dirname, '../../..');
const packages = join(import.meta.dirname, 'packages/node_modules/@modelcontextprotocol');
const everything = {
  allowInsert: true,
  allowUpdate: true,
  allowDelete: true,
  allowSchemaChange: true,
  allowAdmin: true,
};

const toolNames = [
  'list_databases',
  'get_schema',
  'query',
  'execute_command',
  'sample_records',
  'vector_search',
  'full_text_search',
  'hybrid_search',
  'upsert_entity',
  'upsert_relationship',
  'server_status',
  'profiler_start',
  'profiler_stop',
  'profiler_status',
  'get_server_settings',
  'set_server_setting',
];

/** What each tool is called with; the order matters. */
const calls: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ['list_databases', {}],
  ['upsert_entity', { typeName: 'Doc', matchKeys: { title: 'a' }, setProperties: { n: 1 } }],
  [
    'upsert_relationship',
    {
      fromType: 'Doc',
      fromMatchKeys: { title: 'a' },
      toType: 'Doc',
      toMatchKeys: { title: 'b' },
      relType: 'Cites',
    },
  ],
  ['execute_command', { language: 'sql', command: 'CREATE PROPERTY Doc.title STRING' }],
  ['execute_command', { language: 'sql', command: 'CREATE PROPERTY Doc.emb ARRAY_OF_FLOATS' }],
  ['execute_command', { language: 'sql', command: 'CREATE INDEX ON Doc (title) FULL_TEXT' }],
  [
    'execute_command',
    {
      language: 'sql',
      command: 'CREATE INDEX ON Doc (emb) LSM_VECTOR METADATA {"dimensions": 2}',
    },
  ],
  ['execute_command', { language: 'sql', command: 'UPDATE Doc SET emb = [1.0, 0.5]' }],
  ['get_schema', {}],
  ['query', { language: 'sql', query: 'SELECT FROM Doc' }],
  ['sample_records', {}],
  ['vector_search', { indexName: 'Doc[emb]', queryVector: [1, 0], k: 2 }],
  ['full_text_search', { typeName: 'Doc', queryText: 'a OR b' }],
  [
    'hybrid_search',
    {
      vectorIndexName: 'Doc[emb]',
      queryVector: [1, 0],
      k: 2,
      fulltextIndexName: 'Doc[title]',
      fulltextQuery: 'a',
      expand: { edgeTypes: ['Cites'] },
    },
  ],
  ['server_status', {}],
  ['profiler_start', { timeoutSeconds: 1 }],
  ['profiler_status', {}],
  ['profiler_stop', {}],
  ['get_server_settings', {}],
  ['set_server_setting', { key: 'service.mcp.maxCallsPerMinute', value: '0' }],
];

/** Connects, lists, calls every tool, reads and renders, as an agent's host does. */
async function walk(transport: Transport, database: string): Promise<void> {
  const client = new Client({ name: 'walk', version: '1.0.0' });
  await client.connect(transport);
  assert.match(client.getInstructions() ?? '', /list_databases/);
  await client.ping();
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    toolNames,
  );
  for (const [name, given] of calls) {
    const answer = await client.callTool({ name, arguments: { database, ...given } });
    assert.equal(answer.isError, false, `${name}: ${JSON.stringify(answer.content)}`);
  }
  const untouched = tools
    .map(({ name }) => name)
    .filter((name) => !calls.some(([c]) => c === name));
  assert.deepEqual(untouched, []);
  const refused = await client.callTool({ name: 'query', arguments: { database } });
  assert.equal(refused.isError, true);
  const { resources } = await client.listResources();
  const uri = `service://${database}/schema`;
  assert.ok(resources.some((resource) => resource.uri === uri));
  const { contents } = await client.readResource({ uri });
  assert.match(String((contents[0] as { text?: string }).text), /"Doc"/);
  await assert.rejects(client.readResource({ uri: 'service://none/schema' }), { code: -32002 });
  const { prompts } = await client.listPrompts();
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['graphrag_query', 'build_knowledge_graph'],
  );
  const prompt = await client.getPrompt({
    name: 'graphrag_query',
    arguments: { database, question: 'what cites what?' },
  });
  assert.equal(prompt.messages.length, 1);
  await client.close();
}

function address(port: number): string {
  return `http://127.0.0.1:${port}/api/v1/mcp`;
}

async function server(context: TestContext): Promise<McpFixture> {
  const fixture = await startMcp(context);
  await fixture.configure(everything);
  return fixture;
}

test('the SDK over HTTP', async (context) => {
  const { door } = await server(context);
  const requestInit = { headers: { authorization: basic('root') } };
  const transport = new StreamableHTTPClientTransport(new URL(address(door.port)), { requestInit });
  await walk(transport as Transport, 'test');
});

test('the SDK over standard input and output', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-mcp-'));
  context.after(() => rmSync(rootPath, { recursive: true, force: true }));
  const settings = {
    'service.server.rootPath': rootPath,
    'service.server.rootPassword': 'root-password-1',
    'service.server.httpIncomingPort': '0',
    'service.server.httpIncomingHost': '127.0.0.1',
    'service.server.defaultDatabases': 'agents[]',
  };
  const config = join(rootPath, 'config');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'mcp-config.json'), JSON.stringify(everything));
  const transport = new StdioClientTransport({
    command: join(projectDirectory, 'bin/mcp-stdio.sh'),
    env: {
      PATH: process.env['PATH'] ?? '',
      ...quickStart,
      SERVICE_SETTINGS: Object.entries(settings)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    },
    stderr: 'pipe',
  });
  await walk(transport, 'agents');
});

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

function run(script: string, given: readonly string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [script, ...given], { cwd: tmpdir() });
  let output = '';
  let errors = '';
  child.stdout.on('data', (piece) => {
    output += String(piece);
  });
  child.stderr.on('data', (piece) => {
    errors += String(piece);
  });
  return new Promise((done) => child.once('close', (code) => done({ code, output, errors })));
}

test('the inspector on the command line', async (context) => {
  const { door } = await server(context);
  const script = join(packages, 'inspector/clients/launcher/build/index.js');
  const inspect = (...given: readonly string[]) =>
    run(script, [
      '--cli',
      '--transport',
      'http',
      '--server-url',
      address(door.port),
      '--header',
      `Authorization: ${basic('root')}`,
      ...given,
    ]);
  const listed = await inspect('--method', 'tools/list');
  assert.equal(listed.code, 0, listed.errors);
  const { tools } = JSON.parse(listed.output) as { tools: readonly { name: string }[] };
  assert.deepEqual(
    tools.map(({ name }) => name),
    toolNames,
  );
  const called = await inspect('--method', 'tools/call', '--tool-name', 'list_databases');
  assert.equal(called.code, 0, called.errors);
  assert.match(called.output, /databases/);
  const read = await inspect('--method', 'resources/read', '--uri', 'service://test/schema');
  assert.equal(read.code, 0, read.errors);
  const prompt = await inspect(
    ...['--method', 'prompts/get', '--prompt-name', 'graphrag_query'],
    ...['--prompt-args', 'database=test', 'question=why'],
  );
  assert.equal(prompt.code, 0, prompt.errors);
  assert.match(prompt.output, /why/);
});

test('the conformance suite, but for what the file of expected failures names', async (context) => {
  const { door } = await server(context);
  const port = await startCredentialsProxy(context, {
    port: door.port,
    authorization: basic('root'),
  });
  const results = mkdtempSync(join(tmpdir(), 'polyad-conformance-'));
  context.after(() => rmSync(results, { recursive: true, force: true }));
  const expected = join(import.meta.dirname, 'conformance-expected-failures.yml');
  const outcome = await run(join(packages, 'conformance/dist/index.js'), [
    ...['server', '--url', address(port), '--suite', 'all'],
    ...['--expected-failures', expected, '--output-dir', results],
  ]);
  assert.equal(outcome.code, 0, `${outcome.output.slice(-6000)}\n${outcome.errors.slice(-2000)}`);
});
