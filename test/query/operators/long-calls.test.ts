import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { unitsPerTurn } from '#query/evaluate/turns/long-calls.ts';
import type { PhysicalOperator } from '#query/operators/operator.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: whatever an expression calls, one pull does a bounded share of its work. Method: every list of edges and every record
// that is looked up in one call of `next()` of the topmost operator is counted. Rows are those of the same statement without
// the rule.

const side = 40;
/** Lookups in one pull: one share of work and what one vertex costs on top of it. */
const lookupsMax = 300;
let db: SqlDatabase;

before(async () => {
  db = await SqlDatabase.open();
  for (const text of ['CREATE VERTEX TYPE P', 'CREATE EDGE TYPE E', 'CREATE EDGE TYPE F'])
    await db.run(text);
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const { catalog } = transaction;
  const [p, e, f] = ['P', 'E', 'F'].map((name) => catalog.typeNamed(name)?.id);
  assert.ok(p !== undefined && e !== undefined && f !== undefined);
  const rids = Array.from({ length: side * side }, (_, n) => {
    const place = new Map([
      ['n', n],
      ['x', n % side],
      ['y', Math.floor(n / side)],
    ]);
    return transaction.insertVertex(p, place).rid;
  });
  const connect = (type: typeof e, from: number, to: number): void => {
    const [source, target] = [rids[from], rids[to]];
    if (source === undefined || target === undefined) return;
    transaction.insertEdge(type, source, target, new Map([['w', 1 + ((from * 7 + to) % 5)]]));
  };
  for (let n = 0; n < rids.length; n += 1) {
    if (n % side < side - 1) connect(e, n, n + 1);
    connect(e, n, n + side);
    connect(f, 0, n);
  }
  await transaction.commit();
});

after(async () => {
  await db[Symbol.asyncDispose]();
});

interface Measured {
  readonly rows: readonly unknown[];
  readonly pauseCount: number;
  /** Most lookups in one pull. */
  readonly lookups: number;
  readonly bytesLeft: number;
}

async function measured(text: string, disabled: ReadonlySet<string>): Promise<Measured> {
  let lookups = 0;
  let most = 0;
  const transaction = db.state.begin('READ_COMMITTED');
  const { adjacency, record } = transaction;
  Object.assign(transaction, {
    adjacency: (...args: Parameters<typeof adjacency>) => {
      lookups += 1;
      return adjacency.apply(transaction, args);
    },
    record: (...args: Parameters<typeof record>) => {
      lookups += 1;
      return record.apply(transaction, args);
    },
  });
  const inspect = (root: PhysicalOperator): void => {
    const next = root.next.bind(root);
    Object.assign(root, {
      next: () => {
        lookups = 0;
        const pulled = next();
        most = Math.max(most, lookups);
        return pulled;
      },
    });
  };
  try {
    const result = await db.run(text, { transaction, disabled, inspect });
    const { rows, pauseCount, bytesLeft } = result;
    return { rows: rows.map((row) => JSON.stringify(row)), pauseCount, lookups: most, bytesLeft };
  } finally {
    transaction.rollback();
  }
}

const first = '(SELECT FROM P WHERE n = 0)';
const last = `(SELECT FROM P WHERE n = ${side * side - 1})`;

/** Each would look hundreds of times or more into the graph in one evaluation. */
const statements: readonly string[] = [
  `SELECT dijkstra(${first}, ${last}, 'w') AS p`,
  `SELECT dijkstra(${first}, ${last}, 'w', 'BOTH').size() + 1 AS n`,
  `SELECT shortestPath(${first}, ${last}, 'OUT', 'E') AS p`,
  `SELECT astar(${first}, ${last}, 'w', {vertexAxisNames: ['x', 'y'], edgeTypeNames: ['E']}) AS p`,
  `SELECT bellmanFord(${first}, ${last}, 'w') AS p`,
  `SELECT expand(dijkstra(${first}, ${last}, 'w', {edgeTypeNames: ['E']}))`,
  `SELECT n, $p.size() AS s FROM P LET $p = dijkstra($current, ${last}, 'w') WHERE n IN [0, 1, 2]`,
  `SELECT n FROM P WHERE n < 3 AND dijkstra(@rid, ${last}, 'w').size() > 4 ORDER BY n`,
  `SELECT n FROM P WHERE n < 4 ORDER BY dijkstra(@rid, ${last}, 'w').size(), n`,
  `SELECT sum(dijkstra(@rid, ${last}, 'w').size()) AS s FROM P WHERE n < 3`,
  `SELECT dijkstra(@rid, ${last}, 'w').size() AS s, count(*) AS c FROM P WHERE n < 3 GROUP BY s`,
  `SELECT n, CASE WHEN n = 1 THEN dijkstra(@rid, ${last}, 'w').size() ELSE 0 END AS s FROM P WHERE n < 3`,
  `SELECT [1, 2, dijkstra(${first}, ${last}, 'w').size(), shortestPath(${first}, ${last}).size()] AS l`,
  `SELECT out('F').out('E').size() AS n FROM P WHERE n = 0`,
  `SELECT out().out().out('E').out('E').n AS ns FROM P WHERE n = 0`,
  `SELECT out('F').n AS ns FROM P WHERE n = 0`,
  `SELECT n FROM P WHERE n = 0 AND out('F').out('E').n CONTAINS 77`,
  `UPDATE P SET s = dijkstra(@rid, ${last}, 'w').size() RETURN AFTER n, s WHERE n < 2`,
];

test('one pull does a bounded share of the work of long calls, whatever stands around them', async () => {
  for (const text of statements) {
    const patient = await measured(text, new Set());
    const plain = await measured(text, new Set(['long-calls']));
    assert.deepEqual(patient.rows, plain.rows, text);
    // What assigns or expands pauses by itself.
    if (!/^UPDATE|expand\(/.test(text))
      assert.ok(plain.lookups > lookupsMax, `${text}: only ${plain.lookups} lookups in one pull`);
    assert.ok(patient.lookups <= lookupsMax, `${text}: ${patient.lookups} lookups in one pull`);
    assert.ok(patient.pauseCount > 1, `${text}: ${patient.pauseCount} pauses`);
    assert.equal(patient.bytesLeft, 0, `${text} holds ${patient.bytesLeft} bytes at its end`);
  }
});

test('a long call that is not needed is not made', async () => {
  const lazy = `SELECT CASE WHEN n < 0 THEN dijkstra(@rid, ${last}, 'w') ELSE n END AS v FROM P WHERE n = 5`;
  const { rows, lookups } = await measured(lazy, new Set());
  assert.deepEqual(rows, ['[5]']);
  assert.ok(lookups < 20, `${lookups} lookups`);
});

test('an error of a long call ends the statement and leaves nothing held', async () => {
  await assert.rejects(
    db.run(`SELECT bellmanFord(${first}, @rid, 'n') AS p FROM E`),
    (error: unknown) => error instanceof DatabaseError && error.code === 'IllegalArgument',
  );
});

test('what stands around a long call may cost more than a turn, and the call is over all the same', async () => {
  for (const text of [
    'CREATE VERTEX TYPE Hub',
    'CREATE VERTEX TYPE Leaf',
    'CREATE EDGE TYPE Spoke',
  ])
    await db.run(text);
  const leafCount = 2 * unitsPerTurn;
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const { catalog } = transaction;
  const [hub, leaf, spoke] = ['Hub', 'Leaf', 'Spoke'].map((name) => catalog.typeNamed(name)?.id);
  assert.ok(hub !== undefined && leaf !== undefined && spoke !== undefined);
  const middle = transaction.insertVertex(hub, new Map()).rid;
  for (let n = 0; n < leafCount; n += 1) {
    const { rid } = transaction.insertVertex(leaf, new Map([['n', n]]));
    transaction.insertEdge(spoke, middle, rid, new Map());
  }
  await transaction.commit();
  const lists = Array.from({ length: 4 }, () => '[$current, 1, 2].n.size()').join(', ');
  for (const value of [
    "out('Spoke').in('Spoke').size()",
    "[out('Spoke').size(), out('Spoke').n.size()]",
    "[out('Spoke').size(), shortestPath(@rid, @rid).size()]",
    `[${lists}, out('Spoke').n.size(), ${lists}]`,
  ]) {
    const text = `SELECT ${value} AS v FROM Hub`;
    const patient = await measured(text, new Set());
    const plain = await measured(text, new Set(['long-calls']));
    assert.deepEqual(patient.rows, plain.rows, text);
    assert.equal(patient.bytesLeft, 0, text);
  }
});
