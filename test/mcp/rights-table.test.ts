import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { toolNames } from '#mcp/policy/tool-names.ts';
import type { Asked } from '../http/door-fixture.ts';
import { type Json, type McpFixture, startMcp } from './mcp-fixture.ts';

// Every kind of principal against every tool, resource, prompt and the configuration: what comes out is computed here from what
// the principal is, not from the server's tables, and nothing else may come out. No refusal tells what exists.

type ToolName = (typeof toolNames)[number];

interface Kind {
  readonly name: string;
  /** Rights on database `test` below the policy. */
  readonly native: 'all' | 'read' | 'none';
  readonly isRoot?: boolean;
  readonly isListed: boolean;
  readonly profile?: 'rag' | 'admin';
  /** Before the policy: no or wrong credentials. */
  readonly status?: 401 | 403;
}

const kinds: readonly Kind[] = [
  { name: 'root', native: 'all', isRoot: true, isListed: true },
  { name: 'manager', native: 'all', isListed: true },
  { name: 'reader', native: 'read', isListed: true },
  { name: 'stranger', native: 'none', isListed: true },
  { name: 'retriever', native: 'all', isListed: true, profile: 'rag' },
  { name: 'keeper', native: 'all', isListed: true, profile: 'admin' },
  { name: 'unlisted', native: 'all', isListed: false },
  { name: 'agent', native: 'read', isListed: true, profile: 'rag' },
  { name: 'dropped', native: 'none', isListed: true, status: 403 },
  { name: 'nobody', native: 'none', isListed: false, status: 401 },
];

/** What the tools need (contract 2, Tools): of the server's policy nothing is missing here, so native rights and root remain. */
const needs: Readonly<Record<ToolName, 'nothing' | 'read' | 'write' | 'root'>> = {
  list_databases: 'nothing',
  get_schema: 'read',
  query: 'read',
  execute_command: 'write',
  sample_records: 'read',
  vector_search: 'read',
  full_text_search: 'read',
  hybrid_search: 'read',
  upsert_entity: 'write',
  upsert_relationship: 'write',
  server_status: 'nothing',
  profiler_start: 'root',
  profiler_stop: 'root',
  profiler_status: 'root',
  get_server_settings: 'nothing',
  set_server_setting: 'root',
};

const both: readonly ToolName[] = ['list_databases', 'get_schema', 'query'];
const retrieval: readonly ToolName[] = [
  'sample_records',
  'vector_search',
  'full_text_search',
  'hybrid_search',
  'upsert_entity',
  'upsert_relationship',
];

function isSeen(tool: ToolName, profile: Kind['profile']): boolean {
  if (profile === undefined || both.includes(tool)) return true;
  return retrieval.includes(tool) === (profile === 'rag');
}

const vector = { queryVector: [1, 0], k: 1 };
const given: Readonly<Record<ToolName, Json>> = {
  list_databases: {},
  get_schema: {},
  query: { language: 'sql', query: 'SELECT FROM Doc' },
  execute_command: { language: 'sql', command: 'INSERT INTO Doc SET n = 1' },
  sample_records: {},
  vector_search: { indexName: 'Doc[emb]', ...vector },
  full_text_search: { indexName: 'Doc[words]', queryText: 'x' },
  hybrid_search: { vectorIndexName: 'Doc[emb]', ...vector },
  upsert_entity: { typeName: 'Doc', matchKeys: { n: 1 } },
  upsert_relationship: {
    fromType: 'Doc',
    fromMatchKeys: { n: 1 },
    toType: 'Doc',
    toMatchKeys: { n: 2 },
    relType: 'Cites',
  },
  server_status: {},
  profiler_start: {},
  profiler_stop: {},
  profiler_status: {},
  get_server_settings: {},
  set_server_setting: { key: 'service.mcp.maxCallsPerMinute', value: '0' },
};

type Outcome = 'served' | 'hidden' | 'no database' | 'no right' | 'only root';

function expectedOf(kind: Kind, tool: ToolName): Outcome {
  if (!isSeen(tool, kind.profile)) return 'hidden';
  const needed = needs[tool];
  if (needed === 'nothing') return 'served';
  if (needed === 'root') return kind.isRoot === true ? 'served' : 'only root';
  if (kind.native === 'none') return 'no database';
  return needed === 'write' && kind.native === 'read' ? 'no right' : 'served';
}

function outcomeOf(text: string, isError: boolean): Outcome | string {
  if (!isError) return 'served';
  if (/is not available in global MCP profile 'all' intersected with/.test(text)) return 'hidden';
  if (text === "Database 'test' does not exist or is not accessible") return 'no database';
  if (text === 'This tool is only for user root') return 'only root';
  return /^User '.*' is not allowed to /.test(text) ? 'no right' : text;
}

interface Table {
  readonly fixture: McpFixture;
  readonly as: (kind: Kind) => Asked;
}

async function table(context: TestContext): Promise<Table> {
  const fixture = await startMcp(context);
  const { door, data } = fixture;
  for (const statement of [
    'CREATE VERTEX TYPE Doc',
    'CREATE EDGE TYPE Cites',
    'CREATE PROPERTY Doc.words STRING',
    'CREATE PROPERTY Doc.emb ARRAY_OF_FLOATS',
    'CREATE INDEX ON Doc (words) FULL_TEXT',
    'CREATE INDEX ON Doc (emb) LSM_VECTOR METADATA {"dimensions": 2}',
    "INSERT INTO Doc SET n = 0, words = 'x', emb = [1, 0]",
  ])
    await data.run(statement);
  const groupOf = { all: 'admin', read: 'reader' } as const;
  for (const { name, native, status, isRoot } of kinds) {
    if (isRoot === true || status === 401 || name === 'agent') continue;
    const databases =
      native === 'none' ? new Map([['school', ['admin']]]) : new Map([['test', [groupOf[native]]]]);
    await door.users.create(name, { password: 'password', databases });
  }
  const { token } = await door.apiTokens.create({
    name: 'agent',
    database: 'test',
    expiresAt: 0,
    permissions: { types: new Map([['*', ['readRecord']]]), database: [] },
  });
  await door.users.drop('dropped');
  await fixture.configure({
    allowInsert: true,
    allowUpdate: true,
    allowDelete: true,
    allowSchemaChange: true,
    allowAdmin: true,
    allowedUsers: kinds
      .filter(({ isListed }) => isListed)
      .map(({ name }) => (name === 'agent' ? 'apitoken:agent' : name)),
    // The canonical entry of a token wins over the one of its bare name.
    principalProfiles: {
      retriever: 'rag',
      keeper: 'admin',
      agent: 'admin',
      'apitoken:agent': 'rag',
    },
  });
  const as = ({ name, status }: Kind): Asked => {
    if (name === 'agent') return { user: null, headers: { authorization: `Bearer ${token}` } };
    return status === 401 ? { user: null } : { user: name };
  };
  return { fixture, as };
}

test('every principal against every tool', async (context) => {
  const { fixture, as } = await table(context);
  for (const kind of kinds)
    for (const tool of toolNames) {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: tool, arguments: { database: 'test', ...given[tool] } },
      };
      const answer = await fixture.post(body, as(kind));
      const what = `${kind.name} ${tool}: ${answer.text.slice(0, 300)}`;
      if (kind.status !== undefined || !kind.isListed) {
        assert.equal(answer.status, kind.status ?? 403, what);
        assert.doesNotMatch(answer.text, /Doc|school/, what);
        continue;
      }
      const { content, isError } = answer.body['result'] as {
        content: readonly { text: string }[];
        isError: boolean;
      };
      const expected = expectedOf(kind, tool);
      assert.equal(outcomeOf(content[0]?.text ?? '', isError), expected, what);
      if (kind.native === 'none') assert.doesNotMatch(answer.text, /\bDoc\b|\bemb\b/, what);
    }
});

test('every principal against lists, resources, prompts and the configuration', async (context) => {
  const { fixture, as } = await table(context);
  for (const kind of kinds) {
    const asked = as(kind);
    const call = async (method: string, params: Json = {}) => fixture.rpc(method, params, asked);
    const config = await fixture.door.ask('GET', 'mcp/config', asked);
    assert.equal(config.status, kind.isRoot === true ? 200 : (kind.status ?? 403), kind.name);
    const change = { ...asked, body: JSON.stringify({ allowDelete: true }) };
    const changed = await fixture.door.ask('POST', 'mcp/config', change);
    assert.equal(changed.status, config.status, kind.name);
    if (kind.status !== undefined || !kind.isListed) {
      for (const method of ['initialize', 'ping', 'tools/list', 'resources/list', 'prompts/list'])
        assert.equal(
          (await fixture.post({ jsonrpc: '2.0', id: 1, method }, asked)).status,
          kind.status ?? 403,
          `${kind.name} ${method}`,
        );
      continue;
    }
    const listOf = async (what: string) =>
      ((await call(`${what}/list`))['result'] as Json)[what] as readonly { name: string }[];
    const seen = toolNames.filter((tool) => isSeen(tool, kind.profile));
    assert.deepEqual(
      (await listOf('tools')).map(({ name }) => name),
      seen,
      kind.name,
    );
    const mayRead = kind.native !== 'none';
    assert.deepEqual(
      (await listOf('resources')).map(({ name }) => name),
      mayRead ? ['test schema'] : [],
      kind.name,
    );
    const prompts = kind.profile === 'admin' ? [] : ['graphrag_query', 'build_knowledge_graph'];
    assert.deepEqual(
      (await listOf('prompts')).map(({ name }) => name),
      prompts,
      kind.name,
    );
    for (const name of ['graphrag_query', 'build_knowledge_graph']) {
      const texts = { database: 'none', question: 'q', sourceText: 's' };
      const { error } = (await call('prompts/get', { name, arguments: texts })) as { error?: Json };
      assert.equal(error?.['code'], prompts.includes(name) ? undefined : -32600, kind.name);
    }
    const read = async (uri: string) => JSON.stringify(await call('resources/read', { uri }));
    const [known, unknown] = ['service://test/schema', 'service://none/schema'];
    if (mayRead) assert.match(await read(known), /Doc/, kind.name);
    else assert.equal((await read(known)).replace('test', 'none'), await read(unknown), kind.name);
  }
});

test('refusing a resource takes the same steps whatever the reason', async (context) => {
  const { fixture, as } = await table(context);
  const stranger = kinds.find(({ name }) => name === 'stranger') as Kind;
  const steps: string[] = [];
  const { data } = fixture;
  const { exists, open } = data.databases;
  data.databases.exists = (name) => {
    steps.push('exists');
    return exists.call(data.databases, name);
  };
  data.databases.open = (name) => {
    steps.push('open');
    return open.call(data.databases, name);
  };
  const uris = ['service://test/schema', 'service://none/schema', 'service:///schema', 'test'];
  const taken: (readonly string[])[] = [];
  for (const uri of uris) {
    steps.length = 0;
    await fixture.rpc('resources/read', { uri }, as(stranger));
    taken.push([...steps]);
  }
  assert.deepEqual(taken, [['exists'], ['exists'], ['exists'], ['exists']]);
});
