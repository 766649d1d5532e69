import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Json, startMcp } from './mcp-fixture.ts';

// An agent that knows only what the server tells it: instructions, prompts, lists, schemas. It stores a small graph twice and
// answers questions over it.

const entities = [
  ['Person', { name: 'Ada Lovelace' }, { born: 1815 }],
  ['Person', { name: 'Charles Babbage' }, { born: 1791 }],
  ['Machine', { name: 'Analytical Engine' }, { kind: 'general purpose' }],
] as const;
const relations = [
  ['Person', 'Charles Babbage', 'Designed', 'Machine', 'Analytical Engine'],
  ['Person', 'Ada Lovelace', 'Programmed', 'Machine', 'Analytical Engine'],
  ['Person', 'Ada Lovelace', 'Knew', 'Person', 'Charles Babbage'],
] as const;

test('an agent stores a text twice without a duplicate, and answers from what it stored', async (context) => {
  const { rpc, tool, configure } = await startMcp(context);
  await configure({ allowInsert: true, allowUpdate: true, profile: 'rag' });
  const { instructions } = (await rpc('initialize'))['result'] as { instructions: string };
  assert.match(instructions, /list_databases/);
  const [database] = (await tool('list_databases')).json['databases'] as readonly string[];
  const prompt = await rpc('prompts/get', {
    name: 'build_knowledge_graph',
    arguments: { database, sourceText: 'Ada Lovelace programmed the Analytical Engine.' },
  });
  const named = JSON.stringify(prompt['result']).match(/\b(get_schema|upsert_\w+)\b/g) ?? [];
  assert.deepEqual([...new Set(named)], ['get_schema', 'upsert_entity', 'upsert_relationship']);
  const { tools } = (await rpc('tools/list'))['result'] as { tools: readonly { name: string }[] };
  for (const name of named) assert.ok(tools.some((known) => known.name === name));
  const seen: string[] = [];
  for (const round of ['first', 'second']) {
    const rids: unknown[] = [];
    for (const [typeName, matchKeys, setProperties] of entities) {
      const given = { database, typeName, matchKeys, setProperties };
      rids.push(ridOf((await tool('upsert_entity', given)).json));
    }
    for (const [fromType, from, relType, toType, to] of relations) {
      const ends = { fromMatchKeys: { name: from }, toMatchKeys: { name: to } };
      const given = { database, fromType, toType, relType, ...ends, relProperties: { round } };
      rids.push(ridOf((await tool('upsert_relationship', given)).json));
    }
    seen.push(JSON.stringify(rids));
  }
  assert.equal(seen[0], seen[1]);
  const schema = (await tool('get_schema', { database })).json['types'] as readonly Json[];
  assert.deepEqual(
    schema.map(({ name, category }) => `${name} ${category}`),
    ['Designed edge', 'Knew edge', 'Machine vertex', 'Person vertex', 'Programmed edge'],
  );
  const questions: readonly (readonly [string, readonly unknown[]])[] = [
    ['SELECT count(*) AS a FROM Person', [2]],
    ["SELECT out('Programmed').name AS a FROM Person WHERE born = 1815", [['Analytical Engine']]],
    ["SELECT in('Designed').name AS a FROM Machine", [['Charles Babbage']]],
    [
      "SELECT both('Knew').name AS a FROM Person WHERE name = 'Ada Lovelace'",
      [['Charles Babbage']],
    ],
    ['SELECT round AS a FROM Knew', ['second']],
  ];
  for (const [query, answers] of questions) {
    const { json, text } = await tool('query', { database, language: 'sql', query });
    assert.deepEqual(
      (json['records'] as readonly Json[]).map(({ a }) => a),
      answers,
      text,
    );
  }
});

test('names and keys that could end a statement are refused, and nothing is stored', async (context) => {
  const { tool, configure } = await startMcp(context);
  await configure({ allowInsert: true, allowUpdate: true });
  const names = ['a`b', 'a\\b', 'a\nb', 'a\u0000b', 'x'.repeat(257), ' ', '`; DELETE FROM V; `'];
  for (const name of names) {
    const entity = { database: 'test', typeName: 'T', matchKeys: { k: 1 } };
    const relation = {
      database: 'test',
      fromType: 'T',
      fromMatchKeys: { k: 1 },
      toType: 'T',
      toMatchKeys: { k: 2 },
      relType: 'R',
    };
    for (const [wrong, given] of [
      ['upsert_entity', { ...entity, typeName: name }],
      ['upsert_relationship', { ...relation, relType: name }],
      ['upsert_relationship', { ...relation, toType: name }],
    ] as const)
      assert.equal((await tool(wrong, given)).isError, true, JSON.stringify(name));
  }
  const value = '\'); DELETE FROM T; --`"\\';
  const entity = { database: 'test', typeName: 'T', matchKeys: { k: value } };
  for (let time = 0; time < 2; time++) await tool('upsert_entity', entity);
  const found = await tool('query', {
    database: 'test',
    language: 'sql',
    query: 'SELECT k FROM T',
  });
  assert.deepEqual(
    (found.json['records'] as readonly Json[]).map(({ k }) => k),
    [value],
  );
});

function ridOf(json: Json): unknown {
  const [record] = json['records'] as readonly Json[];
  return record?.['@rid'];
}
