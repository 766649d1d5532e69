// Goal: clauses that match patterns give the rows that trying everything gives, with all rules, none, and one left out. Method: random
// graphs with labels, loops and parallel edges; random MATCH and OPTIONAL MATCH with conditions that keep nodes apart or ask for other
// patterns; counted, grouped and made distinct.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { rules } from '#query/optimizer/rules.ts';
import { openTestDatabase } from '#test/database/support/open-test-database.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import type { Transaction } from '#transaction/transaction.ts';
import {
  type ClauseText,
  type ConditionText,
  type ModelGraph,
  type ModelRow,
  type NodeText,
  type PathText,
  rowsOf,
  textOfClause,
} from './naive-matcher.ts';

const allRules = new Set(rules.map(({ name }) => name));
const variables = ['a', 'b', 'c', 'd'];

const graphArbitrary: fc.Arbitrary<ModelGraph> = fc.integer({ min: 3, max: 6 }).chain((count) =>
  fc.record({
    nodes: fc
      .array(fc.tuple(fc.constantFrom(['A'], ['B'], ['A', 'B']), fc.constantFrom(0, 1, 2, null)), {
        minLength: count,
        maxLength: count,
      })
      .map((nodes) => nodes.map(([labels, v], k) => ({ k, labels, v }))),
    edges: fc.array(
      fc.record({
        type: fc.constantFrom('K', 'K', 'L'),
        from: fc.nat(count - 1),
        to: fc.nat(count - 1),
      }),
      { minLength: 3, maxLength: 9 },
    ),
  }),
);

const nodeArbitrary = (names: readonly string[]): fc.Arbitrary<NodeText> =>
  fc.record({
    variable: fc.constantFrom('', ...names, ...names),
    label: fc.constantFrom(undefined, undefined, 'A', 'B'),
  });

const pathArbitrary = (names: readonly string[], stepsMax: number): fc.Arbitrary<PathText> =>
  fc.record({
    first: nodeArbitrary(names),
    steps: fc.array(
      fc.record({
        direction: fc.constantFrom<'out' | 'in' | 'both'>('out', 'in', 'both'),
        types: fc.constantFrom(['K'], ['K'], ['L'], ['K', 'L'], []),
        node: nodeArbitrary(names),
      }),
      { minLength: 1, maxLength: stepsMax },
    ),
  });

/** @param names of nodes that are there */
function conditionArbitrary(names: readonly string[]): fc.Arbitrary<ConditionText> {
  const name = fc.constantFrom(...names);
  const leaf: fc.Arbitrary<ConditionText> = fc.oneof(
    fc.record({ kind: fc.constant('unlike' as const), left: name, right: name }),
    fc.record({ kind: fc.constant('unlike' as const), left: name, right: name }),
    fc.record({ kind: fc.constant('value' as const), variable: name, below: fc.nat(2) }),
    fc.record({ kind: fc.constant('less' as const), left: name, right: name }),
    fc.record({
      kind: fc.constant('pattern' as const),
      path: pathArbitrary(names, 2),
      form: fc.constantFrom<'exists' | 'bare'>('exists', 'bare'),
    }),
  );
  return fc.oneof(
    leaf,
    leaf.map((of): ConditionText => ({ kind: 'not', of })),
  );
}

function namesIn(paths: readonly PathText[]): string[] {
  const names = paths.flatMap(({ first, steps }) => [first, ...steps.map(({ node }) => node)]);
  return names.flatMap(({ variable }) => (variable === '' ? [] : [variable]));
}

const clausesArbitrary: fc.Arbitrary<readonly ClauseText[]> = fc
  .array(
    fc.tuple(
      fc.boolean(),
      fc.oneof(
        { weight: 3, arbitrary: fc.tuple(pathArbitrary(variables, 2)) },
        {
          weight: 1,
          arbitrary: fc.tuple(pathArbitrary(variables, 2), pathArbitrary(variables, 1)),
        },
      ),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .chain((drawn) => {
    const known: string[] = [];
    const clauses = drawn.map(([isOptional, paths], at): fc.Arbitrary<ClauseText> => {
      known.push(...namesIn(paths));
      const conditions =
        known.length === 0
          ? fc.constant([])
          : fc.array(conditionArbitrary([...new Set(known)]), { maxLength: 2 });
      return conditions.map((given) => ({
        isOptional: isOptional && at > 0,
        paths,
        conditions: given,
      }));
    });
    return fc.tuple(...clauses);
  });

type Ending = 'count' | 'rows' | 'groups' | 'distinct';

test('MATCH and OPTIONAL MATCH give what trying everything gives', async () => {
  for (const seed of [1, 2, 3]) {
    const [graph] = fc.sample(graphArbitrary, { numRuns: 1, seed: seed * 7919 });
    await using db = await stored(graph as ModelGraph);
    await fc.assert(
      fc.asyncProperty(
        clausesArbitrary,
        fc.constantFrom<Ending>('count', 'count', 'rows', 'groups', 'distinct'),
        fc.constantFrom(...allRules),
        async (clauses, ending, rule) => {
          const rows = rowsOf(graph as ModelGraph, clauses);
          const names = [...new Set(clauses.flatMap(({ paths }) => namesIn(paths)))];
          const text = `${clauses.map(textOfClause).join(' ')} RETURN ${itemsOf(ending, names)}`;
          const expected = answerOf(ending, rows, names);
          for (const disabled of [new Set<string>(), allRules, new Set([rule])])
            assert.deepEqual(
              await answer(db, text, disabled),
              expected,
              `${text} without ${[...disabled].join()}`,
            );
        },
      ),
      { numRuns: Number(process.env['COUNT'] ?? 60) },
    );
  }
});

function itemsOf(ending: Ending, names: readonly string[]): string {
  const [first] = names;
  if (ending === 'count' || first === undefined) return 'count(*) AS n';
  if (ending === 'groups') return `${first}.k AS k, count(*) AS n`;
  const columns = names.map((name) => `${name}.k AS ${name}`).join(', ');
  return ending === 'distinct' ? `DISTINCT ${columns}` : columns;
}

/** Sorted texts of rows. */
function answerOf(ending: Ending, rows: readonly ModelRow[], names: readonly string[]): string[] {
  const [first] = names;
  if (ending === 'count' || first === undefined) return [String(rows.length)];
  const keyOf = (row: ModelRow, name: string) => String(row.get(name)?.k ?? null);
  const texts = rows.map((row) => names.map((name) => keyOf(row, name)).join(' '));
  if (ending === 'rows') return texts.sort();
  if (ending === 'distinct') return [...new Set(texts)].sort();
  const counts = new Map<string, number>();
  for (const row of rows) {
    const key = keyOf(row, first);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key} ${count}`).sort();
}

async function stored({ nodes, edges }: ModelGraph): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  await db.run('CREATE VERTEX TYPE N');
  for (const text of ['CREATE VERTEX TYPE A EXTENDS N', 'CREATE VERTEX TYPE B EXTENDS N'])
    await db.run(text);
  for (const text of ['CREATE EDGE TYPE K', 'CREATE EDGE TYPE L']) await db.run(text);
  await db.run('CREATE VERTEX TYPE `A~B` EXTENDS A, B');
  for (const { k, labels, v } of nodes)
    await db.run(`CREATE VERTEX \`${labels.join('~')}\` SET k = ${k}, v = ${v}`);
  for (const { type, from, to } of edges)
    await db.run(
      `CREATE EDGE ${type} FROM (SELECT FROM N WHERE k = ${from}) TO (SELECT FROM N WHERE k = ${to})`,
    );
  return db;
}

async function answer(
  db: SqlDatabase,
  text: string,
  disabled: ReadonlySet<string>,
): Promise<readonly string[]> {
  const transaction: Transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  try {
    const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
    const program = cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
      catalog: transaction.catalog,
      variables: new Map(),
      parameterNames: undefined,
      expressionDepthMax: 200,
    }) as QueryProgram;
    const { rows } = await db.execute(program, transaction, { disabled, isRead: true });
    return rows.map((row) => row.map(String).join(' ')).sort();
  } finally {
    transaction.rollback();
  }
}

// Goal: relationships between any nodes are counted the same where they are stored and at their nodes. Method: edges of several types,
// also such as have no record of their own or are not known at their targets; counted with all rules, with none and without edge-scan.
test('relationships between any nodes are counted as each node tells them', async () => {
  await using db = await stored({
    nodes: [0, 1, 2, 3].map((k) => ({ k, labels: [k % 2 === 0 ? 'A' : 'B'], v: k })),
    edges: [
      [0, 1],
      [1, 2],
      [2, 0],
      [3, 3],
      [0, 1],
    ].map(([from = 0, to = 0], at) => ({ type: at < 3 ? 'K' : 'L', from, to })),
  });
  const light = 'CREATE EDGE TYPE Light LIGHTWEIGHT';
  for (const text of ['CREATE EDGE TYPE M EXTENDS K', 'CREATE EDGE TYPE Way UNIDIRECTIONAL', light])
    await db.run(text);
  for (const type of ['M', 'Way', 'Light'])
    await db.run(
      `CREATE EDGE ${type} FROM (SELECT FROM N WHERE k = 0) TO (SELECT FROM N WHERE k = 3)`,
    );
  const counts: readonly (readonly [string, readonly string[]])[] = [
    ['MATCH ()-[r:K]->() RETURN type(r) AS t, count(*) AS n', ['K 3', 'M 1']],
    ['MATCH ()<-[r:K]-() RETURN type(r) AS t, count(r) AS n', ['K 3', 'M 1']],
    ['MATCH (a)-[:K|L]->(b) RETURN count(a) AS n', ['6']],
    ['MATCH (a)-[r:L]->(b) RETURN count(DISTINCT r) AS n, count(DISTINCT type(r)) AS t', ['2 1']],
    ['MATCH (a)-[r:L]->(b) RETURN count(DISTINCT a) AS n', ['2']],
    ['MATCH (a)-[r:L]->(a) RETURN count(*) AS n', ['1']],
    ['MATCH ()-[r:L]-() RETURN count(*) AS n', ['3']],
    ['MATCH ()-[:Way]->() RETURN count(*) AS n', ['1']],
    ['MATCH ()<-[:Way]-() RETURN count(*) AS n', ['0']],
    ['MATCH ()-[:Light]->() RETURN count(*) AS n', ['1']],
    ['MATCH ()-[r]->() RETURN count(*) AS n', ['8']],
    ['MATCH ()-[r:K]->() RETURN startNode(r).k AS k, count(*) AS n', ['0 2', '1 1', '2 1']],
  ];
  for (const [text, expected] of counts)
    for (const disabled of [new Set<string>(), allRules, new Set(['edge-scan'])])
      assert.deepEqual(
        await answer(db, text, disabled),
        expected,
        `${text} without ${[...disabled].join()}`,
      );
});

test('steps to bound nodes name each relationship once, however often the nodes come', async (context) => {
  const engine = await openTestDatabase();
  context.after(() => engine.close());
  const ends = Array.from({ length: 60 }, (_, at) => [(at * at) % 7, (at * 3 + (at >> 2)) % 7]);
  await engine.run('UNWIND range(0, 6) AS i CREATE (:N {i: i})', {}, {}, 'cypher');
  for (const [at, [from, to]] of ends.entries())
    await engine.run(
      `MATCH (a:N {i: ${from}}), (b:N {i: ${to}}) CREATE (a)-[:R {at: ${at}}]->(b)`,
      {},
      {},
      'cypher',
    );
  const between = (a: number, b: number): readonly number[] =>
    ends.flatMap(([from, to], at) =>
      (from === a && to === b) || (from === b && to === a) ? [at] : [],
    );
  const nodes = [0, 1, 2, 3, 4, 5, 6];
  const pairs = nodes.flatMap((a) => nodes.flatMap((b) => between(a, b)));
  const triangles = nodes.flatMap((a) =>
    nodes.flatMap((b) =>
      nodes.flatMap((c) =>
        between(a, b).flatMap((ab) =>
          between(b, c).flatMap((bc) =>
            between(c, a).filter((ca) => ab !== bc && bc !== ca && ab !== ca),
          ),
        ),
      ),
    ),
  );
  const sum = (numbers: readonly number[]): number => numbers.reduce((x, y) => x + y, 0);
  assert.deepEqual(
    await engine.run(
      'MATCH (a:N) MATCH (b:N) MATCH (a)-[r:R]-(b) RETURN count(r) AS n, sum(r.at) AS s',
      {},
      {},
      'cypher',
    ),
    [{ n: pairs.length, s: sum(pairs) }],
  );
  assert.deepEqual(
    await engine.run(
      'MATCH (a:N) MATCH (b:N) MATCH (c:N) MATCH (a)-[:R]-(b)-[:R]-(c)-[r:R]-(a) RETURN count(r) AS n, sum(r.at) AS s',
      {},
      {},
      'cypher',
    ),
    [{ n: triangles.length, s: sum(triangles) }],
  );
});
