import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { parseGroup } from '#security/group-document.ts';
import { type Json, type McpFixture, startMcp, type ToolOutcome } from './mcp-fixture.ts';

// Below the policy stand the rights of the caller (contract 2, Authentication 2): on types, on records wherever they are met, and
// the limits of the caller's groups.

interface Limited {
  readonly fixture: McpFixture;
  /** As user `ann`. */
  readonly call: (name: string, given?: Json) => Promise<ToolOutcome>;
}

const all = ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord'];

/** Ann has the group, and the policy allows her everything. */
async function limited(context: TestContext, group: object): Promise<Limited> {
  const fixture = await startMcp(context);
  const { data, door, configure, tool } = fixture;
  for (const statement of [
    'CREATE VERTEX TYPE Open',
    'CREATE VERTEX TYPE Hidden',
    'CREATE EDGE TYPE Knows',
    'CREATE DOCUMENT TYPE Zoo',
    'CREATE PROPERTY Open.words STRING',
    'CREATE PROPERTY Hidden.words STRING',
    'CREATE PROPERTY Open.emb ARRAY_OF_FLOATS',
    'CREATE PROPERTY Hidden.emb ARRAY_OF_FLOATS',
    'CREATE INDEX ON Open (words) FULL_TEXT',
    'CREATE INDEX ON Hidden (words) FULL_TEXT',
    'CREATE INDEX ON Open (emb) LSM_VECTOR METADATA {"dimensions": 2}',
    'CREATE INDEX ON Hidden (emb) LSM_VECTOR METADATA {"dimensions": 2}',
    "INSERT INTO Hidden SET words = 'canary one', emb = [1, 0]",
  ])
    await data.run(statement);
  for (let n = 0; n < 20; n += 1)
    await data.run(`INSERT INTO Open SET n = ${n}, words = 'plain', emb = [1, ${n}]`);
  await data.run(
    'CREATE EDGE Knows FROM (SELECT FROM Open WHERE n = 0) TO (SELECT FROM Hidden LIMIT 1)',
  );
  await door.groups.put('test', 'few', parseGroup(group, 'few'));
  await door.users.create('ann', {
    password: 'password',
    databases: new Map([['test', ['few']]]),
  });
  const flags = ['Insert', 'Update', 'Delete', 'SchemaChange', 'Admin'];
  const granted = Object.fromEntries(flags.map((flag) => [`allow${flag}`, true]));
  await configure({ ...granted, allowedUsers: ['ann'] });
  const call = (name: string, given: Json = {}) =>
    tool(name, { database: 'test', ...given }, { user: 'ann' });
  return { fixture, call };
}

const onOpenAlone = {
  access: [],
  types: { Open: { access: all }, Knows: { access: all } },
};

test('types that the caller may not read are not read by any tool', async (context) => {
  const { call } = await limited(context, onOpenAlone);
  const near = { queryVector: [1, 0], k: 5 };
  const refused: readonly (readonly [string, Json])[] = [
    ['query', { language: 'sql', query: 'SELECT FROM Hidden' }],
    ['query', { language: 'sql', query: 'SELECT expand(out()) FROM Open WHERE n = 0' }],
    ['query', { language: 'cypher', query: 'MATCH (h:Hidden) RETURN h' }],
    ['query', { language: 'cypher', query: 'MATCH (:Open)-->(h) RETURN h.words' }],
    ['query', { language: 'redis', query: 'HGET #2:0' }],
    ['sample_records', { types: ['Hidden'] }],
    ['vector_search', { indexName: 'Hidden[emb]', ...near }],
    ['full_text_search', { indexName: 'Hidden[words]', queryText: 'canary' }],
    ['hybrid_search', { vectorIndexName: 'Hidden[emb]', ...near }],
    ['hybrid_search', { vectorIndexName: 'Open[emb]', ...near, expand: {} }],
    ['upsert_entity', { typeName: 'Hidden', matchKeys: { words: 'canary one' } }],
    ['upsert_entity', { typeName: 'Missing', matchKeys: { n: 1 } }],
    ['execute_command', { language: 'sql', command: 'UPDATE Hidden SET a = 1' }],
    ['execute_command', { language: 'redis', command: 'HSET Hidden {"n": 1}' }],
    ['execute_command', { language: 'sql', command: 'CREATE DOCUMENT TYPE Mine' }],
  ];
  for (const [name, given] of refused) {
    const { text, isError } = await call(name, given);
    assert.doesNotMatch(text, /canary/, `${name} ${JSON.stringify(given)}`);
    if (isError) assert.match(text, /^User 'ann' is not allowed to /, name);
    else assert.ok(name === 'query' || name === 'hybrid_search', `${name}: ${text}`);
  }
  const samples = await call('sample_records');
  assert.doesNotMatch(samples.text, /canary/);
  const open = await call('upsert_entity', { typeName: 'Open', matchKeys: { n: 0 } });
  assert.equal(open.isError, false, open.text);
});

test('an answer has no more records than the groups of the caller allow', async (context) => {
  const group = { resultSetLimit: 3, types: { '*': { access: ['readRecord'] } } };
  const { call } = await limited(context, group);
  const queried = await call('query', { language: 'sql', query: 'SELECT FROM Open', limit: 10 });
  assert.equal(queried.json['count'], 3);
  const near = { queryVector: [1, 0], k: 5 };
  const found = await call('vector_search', { indexName: 'Open[emb]', ...near });
  assert.equal(found.json['count'], 3);
  assert.equal(found.json['truncated'], true);
  const words = { indexName: 'Open[words]', queryText: 'plain' };
  const both = { fulltextIndexName: 'Open[words]', fulltextQuery: 'plain' };
  for (const more of [{}, both]) {
    const fused = await call('hybrid_search', { vectorIndexName: 'Open[emb]', ...near, ...more });
    const { legs, count } = fused.json as { legs: { vector: Json }; count: number };
    assert.deepEqual([count, legs.vector['count']], [3, 20], 'the legs are searched whole');
  }
  assert.equal((await call('full_text_search', words)).json['count'], 3);
  const sampled = await call('sample_records', { types: ['Open'], limit: 20 });
  assert.equal(sampled.json['recordsReturned'], 3);
  const types = (await call('get_schema')).json['types'] as readonly Json[];
  assert.equal(types.length, 4, 'the schema is no result set');
});

test('a read ends at the read timeout of the groups of the caller', async (context) => {
  const group = { readTimeout: 50, types: { '*': { access: ['readRecord'] } } };
  const { call } = await limited(context, group);
  const product =
    'MATCH (a:Open), (b:Open), (c:Open), (d:Open), (e:Open), (f:Open) RETURN count(*)';
  const { isError, text } = await call('query', { language: 'cypher', query: product });
  assert.deepEqual(
    [isError, /readTimeout|longer than 50 ms|timeout/i.test(text)],
    [true, true],
    text,
  );
});
