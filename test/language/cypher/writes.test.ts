// Goal: statements that write leave the graph, the rows and the counters that the book says, with all rules, none, and one left out.
// Method: random chains of clauses over a few nodes with labels that come and go; the same ones over a model in memory, by which every
// statement is judged; one that fails leaves nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { MissingTypes } from '#catalog/labels.ts';
import { emptyStatistics } from '#query/operators/operator.ts';
import { rules } from '#query/optimizer/rules.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import {
  type Counters,
  type Label,
  textOfWrite,
  type WriteClause,
  WrittenGraph,
} from './naive-writer.ts';

const allRules = new Set(rules.map(({ name }) => name));

interface Draw {
  readonly kind: WriteClause['kind'];
  readonly label: Label;
  readonly number: number;
  readonly pick: number;
  readonly other: number;
  readonly yes: boolean;
}

const draw: fc.Arbitrary<Draw> = fc.record({
  kind: fc.constantFrom<WriteClause['kind']>(
    ...(['unwind', 'match', 'match', 'hop', 'hop', 'create', 'create', 'link', 'link'] as const),
    ...(['merge', 'merge', 'set', 'count', 'label', 'label', 'delete'] as const),
  ),
  label: fc.constantFrom<Label>('A', 'B', 'N'),
  number: fc.nat(3),
  pick: fc.nat(100),
  other: fc.nat(100),
  yes: fc.boolean(),
});

/** Clauses that fit together: what a clause names was bound by one before it, and nothing is touched once it is deleted. */
function clausesOf(draws: readonly Draw[]): readonly WriteClause[] {
  const clauses: WriteClause[] = [];
  const nodes: string[] = [];
  const edges: string[] = [];
  const numbers: string[] = [];
  const pickOf = (names: readonly string[], at: number) => names[at % names.length];
  for (const [at, { kind, label, number, pick, other, yes }] of draws.entries()) {
    const name = `x${at}`;
    const node = pickOf(nodes, pick);
    const k = (yes ? pickOf(numbers, other) : undefined) ?? String(number);
    if (kind === 'unwind') {
      if (numbers.length > 1) continue;
      clauses.push({ kind, as: name, list: yes ? [number, number, 1] : [number, 2] });
      numbers.push(name);
    } else if (kind === 'match') {
      clauses.push(yes ? { kind, as: name, label, k: number } : { kind, as: name, label });
      nodes.push(name);
    } else if (kind === 'create' || kind === 'merge') {
      clauses.push({ kind, as: name, label, k });
      nodes.push(name);
    } else if (node === undefined) continue;
    else if (kind === 'hop') {
      const to = yes ? `${name}b` : (pickOf(nodes, other) as string);
      clauses.push({ kind, from: node, edge: name, to });
      edges.push(name);
      if (yes) nodes.push(to);
    } else if (kind === 'link') {
      clauses.push({ kind, from: node, to: pickOf(nodes, other) as string, isMerge: yes });
    } else if (kind === 'set') clauses.push({ kind, of: node, to: yes ? number : null });
    else if (kind === 'count') clauses.push({ kind, of: node });
    else if (kind === 'label')
      clauses.push({ kind, of: node, label: label === 'N' ? 'A' : label, adds: yes });
    else if (kind === 'delete') {
      const edge = yes ? pickOf(edges, pick) : undefined;
      clauses.push({ kind, of: edge ?? node, detach: edge === undefined && other % 3 > 0 });
      return clauses;
    }
  }
  return clauses;
}

test('random writes leave the graph, the rows and the counters of the model', async () => {
  const statements = fc.array(fc.array(draw, { minLength: 1, maxLength: 6 }), {
    minLength: 4,
    maxLength: 8,
  });
  await using db = await opened();
  await fc.assert(
    fc.asyncProperty(statements, fc.constantFrom(...allRules), async (drawn, rule) => {
      for (const disabled of [new Set<string>(), allRules, new Set([rule])]) {
        const graph = new WrittenGraph();
        await run(db, 'MATCH (n) DETACH DELETE n', disabled);
        for (const draws of drawn) {
          const clauses = clausesOf(draws);
          if (clauses.length === 0) continue;
          const text = `${clauses.map(textOfWrite).join(' ')} RETURN count(*) AS n`;
          const expected = graph.run(clauses);
          const { count, counters } = await run(db, text, disabled);
          const where = `${text} without ${[...disabled].join()}`;
          assert.equal(count, expected, where);
          if (expected !== undefined) assert.deepEqual(counters, graph.counters, where);
          assert.deepEqual(await textsOf(db, nodesText), graph.nodeTexts(), where);
          assert.deepEqual(await textsOf(db, edgesText), graph.edgeTexts(), where);
        }
      }
    }),
    { numRuns: Number(process.env['COUNT'] ?? 12) },
  );
});

const nodesText = 'MATCH (a:N) RETURN labels(a), a.k, a.v';
const edgesText = 'MATCH (a:N)-[:K]->(b:N) RETURN labels(a), a.k, a.v, labels(b), b.k, b.v';

async function opened(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  for (const name of ['A', 'B', 'N']) await db.run(`CREATE VERTEX TYPE ${name}`);
  await db.run('CREATE VERTEX TYPE `A~N` EXTENDS A, N');
  await db.run('CREATE VERTEX TYPE `B~N` EXTENDS B, N');
  await db.run('CREATE VERTEX TYPE `A~B~N` EXTENDS A, B, N');
  await db.run('CREATE EDGE TYPE K');
  await db.run('CREATE PROPERTY N.k INTEGER');
  await db.run('CREATE INDEX ON N (k) NOTUNIQUE');
  return db;
}

function programOf(text: string, catalog: Parameters<typeof cypherFrontend.analyze>[1]['catalog']) {
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
  return cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
    catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  }) as QueryProgram;
}

interface Outcome {
  readonly count: unknown;
  readonly counters: Counters | undefined;
}

/** @returns no count when the statement failed because a deleted node still has relationships */
async function run(db: SqlDatabase, text: string, disabled: ReadonlySet<string>): Promise<Outcome> {
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const statistics = emptyStatistics();
  try {
    const program = programOf(text, transaction.catalog);
    const { rows } = await db.execute(program, transaction, { disabled, statistics });
    await transaction.commit();
    const { nodesCreated, nodesDeleted, relationshipsCreated } = statistics;
    const { relationshipsDeleted, propertiesSet, labelsAdded, labelsRemoved } = statistics;
    const counters = {
      ...{ nodesCreated, nodesDeleted, relationshipsCreated, relationshipsDeleted },
      ...{ propertiesSet, labelsAdded, labelsRemoved },
    };
    return { count: rows[0]?.[0], counters };
  } catch (error) {
    transaction.rollback();
    if (error instanceof MissingTypes) {
      for (const change of error.changes) await db.state.alter(change);
      return run(db, text, disabled);
    }
    if (!(error instanceof DatabaseError) || !/DeleteConnectedNode/u.test(error.message))
      throw error;
    return { count: undefined, counters: undefined };
  }
}

async function textsOf(db: SqlDatabase, text: string): Promise<readonly string[]> {
  const transaction = db.state.begin('READ_COMMITTED');
  try {
    const program = programOf(text, transaction.catalog);
    const { rows } = await db.execute(program, transaction, { isRead: true });
    const nodeText = ([labels, k, v]: readonly unknown[]) =>
      `${(labels as readonly string[]).join('~')} ${k} ${v}`;
    return rows
      .map((row) =>
        row.length === 3
          ? nodeText(row)
          : `${nodeText(row.slice(0, 3))} > ${nodeText(row.slice(3))}`,
      )
      .sort();
  } finally {
    transaction.rollback();
  }
}
