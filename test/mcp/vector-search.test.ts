import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type Json, type McpFixture, startMcp } from './mcp-fixture.ts';

// Search by vectors and the fusion of legs over a real database; fused scores are computed here anew (mcp.md 4.6, 4.8).

const count = 12;

/** Documents 0 to 11 on a line, each cites the next one; `Plain` is no vertex type. */
async function line(context: TestContext): Promise<McpFixture> {
  const fixture = await startMcp(context);
  for (const statement of [
    'CREATE VERTEX TYPE Doc',
    'CREATE EDGE TYPE Cites',
    'CREATE EDGE TYPE Likes',
    'CREATE DOCUMENT TYPE Plain',
    'CREATE PROPERTY Doc.words STRING',
    'CREATE PROPERTY Doc.dense ARRAY_OF_FLOATS',
    'CREATE PROPERTY Doc.places ARRAY_OF_INTEGERS',
    'CREATE PROPERTY Doc.weights ARRAY_OF_FLOATS',
    'CREATE PROPERTY Plain.dense ARRAY_OF_FLOATS',
    'CREATE INDEX ON Doc (words) FULL_TEXT',
    'CREATE INDEX ON Doc (dense) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN"}',
    'CREATE INDEX ON Doc (places, weights) LSM_SPARSE_VECTOR METADATA {"dimensions": 20}',
    'CREATE INDEX ON Plain (dense) LSM_VECTOR METADATA {"dimensions": 2}',
  ])
    await fixture.data.run(statement);
  for (let n = 0; n < count; n++)
    await fixture.data.run(
      `CREATE VERTEX Doc SET n = ${n}, words = 'all ${'even '.repeat(n % 2 === 0 ? n : 0)}', dense = [${n}, 1], places = [${n}], weights = [2], record = 'own'`,
    );
  for (let n = 0; n + 1 < count; n++)
    await fixture.data.run(
      `CREATE EDGE Cites FROM (SELECT FROM Doc WHERE n = ${n}) TO (SELECT FROM Doc WHERE n = ${n + 1})`,
    );
  return fixture;
}

interface Row {
  readonly rid: string;
  readonly distance?: number;
  readonly score?: number;
  readonly fusedScore: number;
  readonly sources: readonly string[];
  readonly depth?: number;
  readonly path?: readonly string[];
  readonly properties: Json;
}

const rowsOf = (answer: Json) => answer['results'] as readonly Row[];
const places = (answer: Json) => rowsOf(answer).map(({ properties }) => properties['n']);

test('neighbours, with a condition over what is found', async (context) => {
  const { tool } = await line(context);
  const search = async (given: Json) => {
    const base = { database: 'test', indexName: 'Doc[dense]', queryVector: [3.25, 1], k: 3 };
    return tool('vector_search', { ...base, ...given });
  };
  const { results, ...head } = (await search({})).json;
  assert.deepEqual(head, {
    indexName: 'Doc[dense]',
    sparse: false,
    scoring: 'distance_lower_is_better:EUCLIDEAN',
    candidateLimit: 3,
    truncated: true,
    count: 3,
  });
  const [first] = results as readonly Row[];
  assert.deepEqual([first?.properties['n'], first?.distance], [3, 0.0625]);
  assert.equal(first?.properties['record'], 'own');
  const conditions: readonly (readonly [string, readonly number[]])[] = [
    ['n > 5', [6, 7, 8]],
    ['record.n = 4', [4]],
    ["@type = 'Doc' AND distance < 2 -- all", [3, 4, 2]],
    ['n > 10', [11]],
    ['n = -1', []],
    [' ', [3, 4, 2]],
  ];
  for (const [filter, found] of conditions)
    assert.deepEqual(places((await search({ filter })).json), found, filter);
  assert.equal((await search({ filter: 'n > 1', k: 2 })).json['candidateLimit'], 16);
  assert.equal((await search({ filter: 'n > 1', k: 1000 })).json['candidateLimit'], 8000);
  assert.equal((await search({ k: 1000 })).json['truncated'], false);
  for (const filter of [
    'n > 5) OR (1 = 1',
    'n IN (SELECT n FROM Doc)',
    '(DELETE FROM Doc) IS NULL',
    'n > 5; DELETE FROM Doc',
    'n = :vector',
    'n = ?',
    '/* n = 1',
    "n = 'a",
    'n > 5 LIMIT 3',
    'n = 1 ORDER BY n',
    'nope(n)',
    `n > 5${' '.repeat(4092)}`,
    '('.repeat(1000),
  ]) {
    const { isError, text } = await search({ filter });
    assert.ok(isError, filter.slice(0, 60));
    assert.match(text, /^Invalid vector search or filter expression: /);
  }
});

test('what no index can take is refused', async (context) => {
  const { tool } = await line(context);
  const dense = { indexName: 'Doc[dense]', queryVector: [3, 1], k: 3 };
  const sparse = { indexName: 'Doc[places,weights]', sparse: true, k: 3 };
  const pair = { ...sparse, queryVector: [1, 2], queryIndices: [3, 4] };
  const found = await tool('vector_search', { database: 'test', ...pair });
  assert.deepEqual(
    rowsOf(found.json).map(({ score }) => score),
    [4, 2],
  );
  assert.equal(found.json['scoring'], 'score_higher_is_better:dot_product');
  const refused: readonly (readonly [Json, RegExp])[] = [
    [{ ...dense, k: 0 }, /'k' must be from 1 to 1000/],
    [{ ...dense, k: 1001 }, /'k' must be from 1 to 1000/],
    [{ ...dense, k: undefined }, /'k' is required/],
    [{ ...dense, queryVector: [] }, /'queryVector' is required/],
    [{ ...dense, queryVector: [0, 0] }, /zeros/],
    [{ ...dense, queryVector: [1] }, /1 dimensions.* 2/],
    [{ ...dense, queryVector: Array(65_535).fill(1) }, /65535 dimensions.* 2/],
    [{ ...dense, queryVector: Array(65_536).fill(1) }, /may hold 65535 numbers, .* 65536/],
    [{ ...pair, queryIndices: Array(65_536).fill(1) }, /'queryIndices' may hold 65535 numbers/],
    [{ ...dense, queryVector: [1, 'a'] }, /finite numbers/],
    [{ ...dense, efSearch: 0 }, /'efSearch'/],
    [{ ...dense, sparse: true }, /LSM_SPARSE_VECTOR.*'sparse'.*Doc\[places,weights\]/],
    [{ ...dense, queryIndices: [1, 2] }, /'sparse'/],
    [{ ...dense, indexName: 'Doc[nope]' }, /does not exist.*Doc\[dense\]/],
    [{ ...pair, indexName: 'Doc[dense]' }, /LSM_VECTOR.*'sparse'/],
    [{ ...pair, efSearch: 5 }, /'efSearch'/],
    [{ ...pair, queryIndices: [3] }, /1 entries/],
    [{ ...pair, queryIndices: [3, 3] }, /twice/],
    [{ ...pair, queryIndices: [-1, 3] }, /-1/],
    [{ ...pair, queryIndices: [1.5, 3] }, /1.5/],
    [{ ...pair, queryIndices: [1, 20] }, /20 dimensions/],
    [{ ...pair, queryIndices: [1, 2 ** 31] }, /2147483648/],
    [{ ...sparse, queryVector: [1, 2] }, /20/],
  ];
  for (const [given, message] of refused) {
    const { isError, text } = await tool('vector_search', { database: 'test', ...given });
    assert.ok(isError, JSON.stringify(given));
    assert.match(text, message);
  }
});

test('fused scores are those that the ranks and scores of the legs give', async (context) => {
  const { tool } = await line(context);
  const database = 'test';
  const vector = { queryVector: [3.25, 1], k: 3 };
  const text = { fulltextIndexName: 'Doc[words]', fulltextQuery: 'even' };
  const leg = { database, indexName: 'Doc[dense]', ...vector, k: 12 };
  const near = rowsOf((await tool('vector_search', leg)).json);
  const words = { database, indexName: 'Doc[words]', queryText: 'even', limit: 12 };
  const matching = rowsOf((await tool('full_text_search', words)).json);
  const scores = { near: near.map(({ distance = 0 }) => -distance), matching: [] as number[] };
  scores.matching = matching.map(({ score = 0 }) => score);
  const shares = (strategy: string, of: readonly number[]): readonly number[] => {
    if (strategy === 'RRF') return of.map((_, at) => 1 / (61 + at));
    const mean = of.reduce((sum, score) => sum + score, 0) / of.length;
    const squares = of.reduce((sum, score) => sum + (score - mean) ** 2, 0);
    const reach = 3 * Math.sqrt(squares / of.length);
    const [low, high] =
      strategy === 'DBSF' ? [mean - reach, mean + reach] : [Math.min(...of), Math.max(...of)];
    return of.map((score) => (Math.min(high, Math.max(low, score)) - low) / (high - low));
  };
  for (const fusionStrategy of ['RRF', 'dbsf', 'LINEAR'])
    for (const weights of [undefined, { vector: 0.5, fulltext: 3 }, { fulltext: 0 }]) {
      const given = { database, vectorIndexName: 'Doc[dense]', ...vector, ...text };
      const { json } = await tool('hybrid_search', { ...given, fusionStrategy, weights });
      const strategy = fusionStrategy.toUpperCase();
      const { vector: weightOfVector = 1, fulltext: weightOfText = 1 } = {
        ...(weights as { vector?: number; fulltext?: number } | undefined),
      };
      const expected = new Map<string, number>();
      const add = (rows: readonly Row[], share: readonly number[], weight: number) => {
        for (const [at, { rid }] of rows.entries())
          expected.set(rid, (expected.get(rid) ?? 0) + weight * (share[at] ?? 0));
      };
      add(near, shares(strategy, scores.near), weightOfVector);
      add(matching, shares(strategy, scores.matching), weightOfText);
      const best = [...expected.values()].sort((a, b) => b - a).slice(0, 3);
      const rows = rowsOf(json);
      assert.equal(rows.length, 3);
      for (const [at, { rid, fusedScore }] of rows.entries()) {
        assert.ok(Math.abs(fusedScore - (best[at] ?? 0)) < 1e-9, `${strategy} ${at}`);
        assert.ok(Math.abs(fusedScore - (expected.get(rid) ?? 0)) < 1e-9, `${strategy} ${rid}`);
      }
      assert.deepEqual([json['fused'], json['fusionStrategy']], [true, strategy]);
    }
});

test('expansion walks from what the legs found', async (context) => {
  const { tool } = await line(context);
  const base = { database: 'test', vectorIndexName: 'Doc[dense]', queryVector: [0, 1], k: 1 };
  const search = (given: Json) => tool('hybrid_search', { ...base, ...given });
  const plain = await search({});
  assert.deepEqual([plain.json['fused'], 'fusionStrategy' in plain.json], [false, false]);
  assert.deepEqual(rowsOf(plain.json)[0]?.sources, ['vector']);
  const wide = { k: 10, filter: 'n < 2', expand: { edgeTypes: ['Cites'], maxDepth: 2 } };
  const { json } = await search(wide);
  assert.deepEqual((json['legs'] as Json)['expand'], {
    direction: 'out',
    edgeTypes: ['Cites'],
    maxDepth: 2,
    truncated: false,
    seedCount: 2,
    seedsTruncated: false,
    count: 2,
  });
  assert.deepEqual(
    rowsOf(json).map(({ properties, sources, depth }) => [properties['n'], sources[0], depth]),
    [
      [0, 'vector', undefined],
      [1, 'vector', undefined],
      [2, 'expand', 1],
      [3, 'expand', 2],
    ],
  );
  const [, second, , last] = rowsOf(json);
  assert.ok(Math.abs((last?.fusedScore ?? 0) - 0.5 / 62) < 1e-9);
  assert.deepEqual(last?.path?.[0], second?.rid);
  assert.equal(last?.path?.length, 3);
  const refused: readonly (readonly [Json, RegExp])[] = [
    [{ expand: { edgeTypes: ['Nope'] } }, /'Nope'.*Cites, Likes/],
    [{ expand: { edgeTypes: ['a`b'] } }, /quote/],
    [{ expand: { maxDepth: 4 } }, /'maxDepth' must be from 1 to 3/],
    [{ expand: { maxDepth: 0 } }, /'maxDepth'/],
    [{ expand: { direction: 'up' } }, /'direction'/],
    [{ expand: [] }, /'expand' must be an object/],
    [{ expand: {}, fusionStrategy: 'DBSF' }, /cannot be combined/],
    [{ expand: {}, fusionStrategy: 'LINEAR' }, /cannot be combined/],
    [{ expand: {}, vectorIndexName: 'Plain[dense]' }, /vertex type/],
    [{ fusionStrategy: 'MAX' }, /RRF, DBSF, LINEAR/],
    [{ weights: { fulltext: 1 } }, /not requested/],
    [{ weights: { other: 1 } }, /'other'/],
    [{ weights: { vector: -1 } }, /'weights.vector'/],
    [{ weights: { vector: '1' } }, /'weights.vector'/],
    [{ fulltextQuery: 'x' }, /fulltextIndexName/],
    [{ fulltextIndexName: 'Doc[words]' }, /fulltextQuery/],
  ];
  for (const [given, message] of refused) {
    const { isError, text } = await search(given);
    assert.ok(isError, JSON.stringify(given));
    assert.match(text, message);
  }
});
