import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fused, type FusionLeg, fuse } from '#mcp/search/fusion.ts';
import { type Json, type McpFixture, startMcp } from './mcp-fixture.ts';

// The three tools that search (contract 2, tool rules 4 to 6; mcp.md 4.6 to 4.8).

const round = (fused: readonly Fused[]) =>
  fused.map(({ rid, score }) => [rid, Math.round(score * 1e12) / 1e12]);

test('fusion is what the text says, ties by record id', () => {
  const legs: readonly FusionLeg[] = [
    { name: 'vector', weight: 1, rids: ['#1:2', '#1:10'], scores: [-0.1, -0.3] },
    { name: 'fulltext', weight: 2, rids: ['#1:10', '#1:3', '#1:4'], scores: [5, 3, 1] },
  ];
  assert.deepEqual(round(fuse(legs, 'RRF')), [
    ['#1:10', Math.round((1 / 62 + 2 / 61) * 1e12) / 1e12],
    ['#1:3', Math.round((2 / 62) * 1e12) / 1e12],
    ['#1:4', Math.round((2 / 63) * 1e12) / 1e12],
    ['#1:2', Math.round((1 / 61) * 1e12) / 1e12],
  ]);
  assert.deepEqual(round(fuse(legs, 'LINEAR')), [
    ['#1:10', 2],
    ['#1:2', 1],
    ['#1:3', 1],
    ['#1:4', 0],
  ]);
  const deviation = Math.sqrt(8 / 3);
  const share = (score: number) => (score - (3 - 3 * deviation)) / (6 * deviation);
  const [first] = fuse(legs, 'DBSF');
  assert.equal(first?.rid, '#1:10');
  assert.ok(Math.abs((first?.score ?? 0) - ((1 - 1 / 3) / 2 + 2 * share(5))) < 1e-9);
  const same = [{ name: 'vector', weight: 1, rids: ['#2:1', '#1:9'], scores: [4, 4] }] as const;
  assert.deepEqual(round(fuse(same, 'LINEAR')), [
    ['#1:9', 1],
    ['#2:1', 1],
  ]);
});

async function library(context: Parameters<typeof startMcp>[0]): Promise<McpFixture> {
  const fixture = await startMcp(context);
  for (const statement of [
    'CREATE VERTEX TYPE Doc',
    'CREATE PROPERTY Doc.title STRING',
    'CREATE PROPERTY Doc.body STRING',
    'CREATE EDGE TYPE Cites',
    'CREATE INDEX ON Doc (body) FULL_TEXT',
    "CREATE VERTEX Doc SET title = 'a', body = 'graph database'",
    "CREATE VERTEX Doc SET title = 'b', body = 'graph graph theory'",
    "CREATE VERTEX Doc SET title = 'c', body = 'cooking'",
    "CREATE EDGE Cites FROM (SELECT FROM Doc WHERE title = 'a') TO (SELECT FROM Doc WHERE title = 'c')",
  ])
    await fixture.data.run(statement);
  return fixture;
}

test('words are found by index, or by type and properties', async (context) => {
  const { tool, data } = await library(context);
  const search = (given: Json) => tool('full_text_search', { database: 'test', ...given });
  const found = await search({ indexName: 'Doc[body]', queryText: 'graph' });
  assert.equal(found.isError, false, found.text);
  const { indexName, similarity, count, results } = found.json as Record<string, unknown>;
  assert.deepEqual([indexName, similarity, count], ['Doc[body]', 'BM25', 2]);
  const titles = (results as { properties: Json; score: number }[]).map(
    ({ properties }) => properties['title'],
  );
  assert.deepEqual(titles, ['b', 'a']);
  assert.equal((await search({ typeName: 'Doc', queryText: '+graph -theory' })).json['count'], 1);
  assert.equal((await search({ typeName: 'Doc', queryText: 'graph', limit: 1 })).json['count'], 1);
  for (const [given, message] of [
    [{ queryText: 'x' }, /'indexName' or 'typeName'/],
    [{ queryText: ' ', typeName: 'Doc' }, /'queryText' is required/],
    [{ queryText: 'x', indexName: 'Doc[title]' }, /available: Doc\[body\]/],
    [{ queryText: 'x', typeName: 'Doc', properties: ['title'] }, /no such full-text index/],
    [{ queryText: 'x', typeName: 'Doc', limit: 1001 }, /'limit'/],
  ] as const) {
    const refused = await search(given);
    assert.equal(refused.isError, true);
    assert.match(refused.text, message);
  }
  await data.run('CREATE INDEX ON Doc (title, body) FULL_TEXT');
  assert.match((await search({ typeName: 'Doc', queryText: 'graph' })).text, /several/);
});
