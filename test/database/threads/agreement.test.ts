import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import {
  randomGraphIndexes,
  randomGraphRecords,
  randomGraphSchema,
} from '#test/query/support/random-graph.ts';
import { RandomStatements, statementParameters } from '#test/query/support/random-statements.ts';
import { openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';
import { askedRows } from './asked-rows.ts';

// Goal: a statement gives the same bytes and errors wherever it runs. Method: seeded statements of SQL and some of openCypher, each
// in the main thread and, however short, in a reader thread, one after the other and several at once. `COUNT=5000 SEED=5` runs more.

const count = Number(process.env['COUNT'] ?? 4);
const seed = Number(process.env['SEED'] ?? 20261128);

const cypher: readonly string[] = [
  'MATCH (p:P)-[k:K]->(q) RETURN p, k, q.a AS a ORDER BY id(k)',
  'MATCH p = (:P)-[:K*1..3]->(:P) RETURN length(p) AS n, count(*) AS c ORDER BY n',
  'MATCH (p:P) OPTIONAL MATCH (p)-[:L]->(q) RETURN p.id AS id, collect(q.b) AS bs ORDER BY id',
  'MATCH (p:P) WHERE EXISTS { (p)-[:K]->(:S) } RETURN p.id AS id, p.d AS d, p.c AS c ORDER BY id',
  'MATCH p = (a:P)-[:K]->(b) RETURN p LIMIT 5',
  'MATCH (p:P) RETURN percentileCont(p.c, 0.5) AS m, stDev(p.a) AS s, avg(p.x) AS v',
  'UNWIND range(1, 5000) AS n RETURN n, toString(n) AS t',
  'MATCH (p:P) RETURN 1 / (p.a - p.a) AS none',
  'MATCH (p:P) RETURN toInteger(p) AS wrong',
];

interface Asking {
  readonly text: string;
  readonly language: string;
}

for (const threads of [1, 3])
  test(`${count} random statements give the same rows in ${threads} reader threads`, async () => {
    const settings = { 'server.readThreads': String(threads), 'server.readThreadMinWork': '0' };
    const db = await openTestDatabase({ settings });
    try {
      for (const text of [...randomGraphSchema, ...randomGraphIndexes, ...randomGraphRecords()])
        await db.run(text);
      await db.threads?.started();
      const statements = new RandomStatements(seed);
      const asked: Asking[] = cypher.map((text) => ({ text, language: 'cypher' }));
      for (let n = 0; n < count; n += 1)
        for (const kind of ['select', 'match', 'traverse'] as const)
          asked.push({ text: statements.next(kind), language: 'sql' });
      for (const one of asked) await compare(db, one);
      const taken = db.threads?.takenCount ?? 0;
      assert(taken > asked.length / 2, `${taken} of ${asked.length} ran in a thread`);
      await Promise.all(asked.slice(0, 40).map((one) => compare(db, one)));
    } finally {
      await db.close();
    }
  });

async function compare(db: TestDatabase, asking: Asking): Promise<void> {
  const here = await outcome(db, asking, true);
  const there = await outcome(db, asking, false);
  assert.equal(there, here, asking.text);
}

/** Bytes of the rows, or the error. */
async function outcome(db: TestDatabase, { text, language }: Asking, isHere: boolean) {
  const parameters = Object.fromEntries(statementParameters);
  const form = { typeHints: true, counts: true } as const;
  try {
    const { json, rowCount } = await askedRows(db, text, { parameters, language, form, isHere });
    return `${rowCount}\n${json}`;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code === 'Internal') throw error;
    const { code, message, position, failure } = error;
    return JSON.stringify({ code, message, position, failure });
  }
}
