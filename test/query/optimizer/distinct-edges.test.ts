// Goal: patterns of distinct edges (cypher.md 4.2) match what an obvious matcher finds, with all rules, none, and one left out; also
// when matches are only counted or made distinct. Method: random patterns over small random graphs with loops and parallel edges.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isRecord, type Value } from '#core/value/value.ts';
import type { Expression } from '#query/algebra/expression.ts';
import type { LogicalPlan, Move, Pattern, PatternStep, QueryProgram } from '#query/algebra/plan.ts';
import { rules } from '#query/optimizer/rules.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import type { Transaction } from '#transaction/transaction.ts';

const allRules = new Set(rules.map((rule) => rule.name));

interface Edge {
  readonly id: number;
  readonly type: 'K' | 'L';
  readonly from: number;
  readonly to: number;
}

interface Graph {
  readonly nodeCount: number;
  readonly edges: readonly Edge[];
}

const graphArbitrary: fc.Arbitrary<Graph> = fc.integer({ min: 2, max: 5 }).chain((nodeCount) =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom<'K' | 'L'>('K', 'K', 'L'),
        fc.nat(nodeCount - 1),
        fc.nat(nodeCount - 1),
      ),
      { minLength: 3, maxLength: 9 },
    )
    .map((edges) => ({
      nodeCount,
      edges: edges.map(([type, from, to], id) => ({ id, type, from, to })),
    })),
);

interface Step {
  readonly from: number;
  readonly to: number;
  readonly direction: 'out' | 'in' | 'both';
  readonly types: readonly ('K' | 'L')[] | undefined;
  readonly range: { readonly min: number; readonly max: number } | undefined;
  readonly isNamed: boolean;
}

const range = fc.constantFrom(
  undefined,
  undefined,
  undefined,
  { min: 0, max: 2 },
  { min: 1, max: 2 },
  { min: 1, max: 3 },
  { min: 2, max: 2 },
);
const stepParts = fc.record({
  direction: fc.constantFrom<Step['direction']>('out', 'in', 'both', 'both'),
  types: fc.constantFrom<Step['types']>(['K'], ['K'], ['L'], ['K', 'L'], undefined),
  range,
  isNamed: fc.boolean(),
});
/** A chain, of which a node may come back, and perhaps a step of its own. */
const patternArbitrary: fc.Arbitrary<readonly Step[]> = fc
  .array(fc.tuple(stepParts, fc.nat(3)), { minLength: 1, maxLength: 3 })
  .map((parts) => {
    let from = 0;
    return parts.map(([part, to], at) => {
      const step = { ...part, from, to: to === 0 ? 0 : at + 1 };
      from = step.to;
      return step;
    });
  });

test('a pattern of distinct edges matches what a naive matcher finds', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const [graph] = fc.sample(graphArbitrary, { numRuns: 1, seed: seed * 7919 });
    await using stored = await StoredGraph.of(graph as Graph);
    await fc.assert(
      fc.asyncProperty(patternArbitrary, fc.constantFrom(...allRules), (steps, rule) =>
        stored.agrees(steps, rule),
      ),
      { numRuns: Number(process.env['COUNT'] ?? 40) },
    );
  }
});

test('counting two steps over the same edges walks one and asks for degrees', async () => {
  const graph: Graph = {
    nodeCount: 3,
    edges: [
      { id: 0, type: 'K', from: 0, to: 1 },
      { id: 1, type: 'K', from: 1, to: 2 },
      { id: 2, type: 'K', from: 1, to: 1 },
    ],
  };
  await using stored = await StoredGraph.of(graph);
  const both = { direction: 'both', types: ['K'], range: undefined, isNamed: false } as const;
  const steps: readonly Step[] = [
    { ...both, from: 0, to: 1 },
    { ...both, from: 1, to: 2 },
  ];
  await stored.agrees(steps, 'match-order');
  const ops = stored.optimizedOps(steps);
  assert.ok(ops.includes('Degree'), ops.join());
  assert.equal(ops.filter((op) => op === 'Expand').length, 1);
});

test('bound relationships, and bound lists of them, are walked and nothing else', async () => {
  const graph: Graph = {
    nodeCount: 3,
    edges: [
      { id: 0, type: 'K', from: 0, to: 1 },
      { id: 1, type: 'K', from: 1, to: 2 },
      { id: 2, type: 'L', from: 2, to: 2 },
    ],
  };
  await using stored = await StoredGraph.of(graph);
  assert.deepEqual(await stored.following([0], 'single', 'both'), ['0-1', '1-0']);
  assert.deepEqual(await stored.following([0], 'single', 'in'), ['1-0']);
  assert.deepEqual(await stored.following([2], 'single', 'both'), ['2-2']);
  assert.deepEqual(await stored.following([0, 1], 'list', 'out'), ['0-2']);
  assert.deepEqual(await stored.following([1, 0], 'list', 'out'), []);
  assert.deepEqual(await stored.following([1, 0], 'list', 'both'), ['2-0']);
  assert.deepEqual(await stored.following([1, 2], 'list', 'out'), ['1-2']);
});

class StoredGraph implements AsyncDisposable {
  readonly #graph: Graph;
  readonly #db: SqlDatabase;

  private constructor(graph: Graph, db: SqlDatabase) {
    this.#graph = graph;
    this.#db = db;
  }

  static async of(graph: Graph): Promise<StoredGraph> {
    const db = await SqlDatabase.open();
    for (const ddl of ['CREATE VERTEX TYPE N', 'CREATE EDGE TYPE K', 'CREATE EDGE TYPE L'])
      await db.run(ddl);
    for (let id = 0; id < graph.nodeCount; id += 1) await db.run(`CREATE VERTEX N SET id = ${id}`);
    for (const { id, type, from, to } of graph.edges)
      await db.run(
        `CREATE EDGE ${type} FROM (SELECT FROM N WHERE id = ${from}) TO (SELECT FROM N WHERE id = ${to}) SET id = ${id}`,
      );
    return new StoredGraph(graph, db);
  }

  async agrees(steps: readonly Step[], rule: string): Promise<void> {
    const expected = naiveMatches(this.#graph, steps);
    const disabledSets: readonly ReadonlySet<string>[] = [new Set(), allRules, new Set([rule])];
    const transaction = this.#db.state.begin('READ_COMMITTED');
    transaction.beginStatement();
    try {
      for (const disabled of disabledSets) {
        const options = { disabled, isRead: true };
        const rows = await this.#db.execute(this.#rowsOf(steps, transaction), transaction, options);
        assert.deepEqual(sorted(rows.rows.map(textOf)), sorted(expected));
        const counted = this.#countOf(steps, transaction);
        const count = await this.#db.execute(counted, transaction, options);
        assert.equal(count.rows[0]?.[0], expected.length);
        const ends = await this.#db.execute(this.#endsOf(steps, transaction), transaction, options);
        const lastNode = steps.at(-1)?.to ?? 0;
        assert.deepEqual(
          sorted(ends.rows.map(textOf)),
          sorted([...new Set(expected.map((row) => nodeIn(row, lastNode, steps)))]),
        );
      }
    } finally {
      transaction.rollback();
    }
  }

  optimizedOps(steps: readonly Step[]): readonly string[] {
    const transaction = this.#db.state.begin('READ_COMMITTED');
    try {
      const ops: string[] = [];
      const program = this.#countOf(steps, transaction);
      let plan: LogicalPlan | undefined = this.#db.optimized(program, transaction).plan;
      while (plan !== undefined) {
        ops.push(plan.op);
        plan = 'input' in plan ? plan.input : undefined;
      }
      return ops;
    } finally {
      transaction.rollback();
    }
  }

  async following(
    edgeIds: readonly number[],
    shape: 'single' | 'list',
    direction: 'out' | 'in' | 'both',
  ): Promise<readonly string[]> {
    const transaction = this.#db.state.begin('READ_COMMITTED');
    transaction.beginStatement();
    try {
      const found: Value[] = [];
      for (const id of edgeIds)
        for (const type of ['K', 'L']) {
          const text = `SELECT FROM ${type} WHERE id = ${id}`;
          const { rows } = await this.#db.run(text, { transaction });
          found.push(...rows.map((row) => row[0] as Value));
        }
      const value = shape === 'single' ? (found[0] as Value) : found;
      const pattern: Pattern = {
        nodes: [node(0), node(1)],
        steps: [
          {
            from: 0,
            to: 1,
            move: { kind: 'vertex', direction, types: undefined, loops: 'once' },
            edge: 2,
            edgeIsBound: true,
            path: undefined,
            optional: false,
          },
        ],
        distinctEdges: true,
      };
      const input: LogicalPlan = {
        op: 'Project',
        input: { op: 'Argument' },
        columns: [{ slot: 2, value: { op: 'Constant', value } }],
      };
      const plan: LogicalPlan = { op: 'Match', input, pattern };
      const { rows } = await this.#db.execute(program(plan, [0, 1], 3), transaction);
      return rows.map((row) => row.map(textOfValue).join('-'));
    } finally {
      transaction.rollback();
    }
  }

  #pattern(steps: readonly Step[], transaction: Transaction): Pattern {
    const nodes = [...new Set(steps.flatMap(({ from, to }) => [from, to]))];
    return {
      nodes: nodes.map(node),
      steps: steps.map((step, at) => this.#step(step, at, transaction)),
      distinctEdges: true,
    };
  }

  #step(step: Step, at: number, { catalog }: Transaction): PatternStep {
    const types = step.types?.flatMap((name) => {
      const type = catalog.typeNamed(name);
      return type ? catalog.withSubtypes(type.id) : [];
    });
    const move: Move = { kind: 'vertex', direction: step.direction, types, loops: 'once' };
    const edge = edgeSlot(at);
    const { from, to, range: bounds } = step;
    if (bounds === undefined)
      return {
        from,
        to,
        move,
        edge: step.isNamed ? edge : undefined,
        path: undefined,
        optional: false,
      };
    const path = {
      moves: [{ move, element: edge + 1, edge: undefined, predicate: undefined }],
      min: bounds.min,
      max: bounds.max,
      condition: undefined,
      predicate: undefined,
      depth: undefined,
      path: step.isNamed ? edge : undefined,
      pathHolds: 'edges' as const,
      distinctEdges: true,
    };
    return { from, to, move, edge: undefined, path, optional: false };
  }

  #match(steps: readonly Step[], transaction: Transaction): LogicalPlan {
    const pattern = this.#pattern(steps, transaction);
    return { op: 'Match', input: { op: 'Argument' }, pattern };
  }

  #rowsOf(steps: readonly Step[], transaction: Transaction): QueryProgram {
    const nodes = [...new Set(steps.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
    const edges = steps.flatMap(({ isNamed }, at) => (isNamed ? [edgeSlot(at)] : []));
    return program(this.#match(steps, transaction), [...nodes, ...edges], slotCount);
  }

  #countOf(steps: readonly Step[], transaction: Transaction): QueryProgram {
    const plan: LogicalPlan = {
      op: 'Aggregate',
      input: this.#match(steps, transaction),
      keys: [],
      first: [],
      aggregates: [{ slot: 30, function: 'count', arguments: [], distinct: false }],
      dialect: 'cypher',
    };
    return program(plan, [30], slotCount);
  }

  #endsOf(steps: readonly Step[], transaction: Transaction): QueryProgram {
    const end: Expression = { op: 'Slot', slot: steps.at(-1)?.to ?? 0 };
    const plan: LogicalPlan = {
      op: 'Distinct',
      input: this.#match(steps, transaction),
      on: [end],
    };
    return program(plan, [steps.at(-1)?.to ?? 0], slotCount);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#db[Symbol.asyncDispose]();
  }
}

const slotCount = 31;
const edgeSlot = (at: number): number => 10 + at * 2;

function node(slot: number): Pattern['nodes'][number] {
  return { slot, types: undefined, rids: undefined, predicates: [], bound: false };
}

function program(plan: LogicalPlan, slots: readonly number[], count: number): QueryProgram {
  return {
    kind: 'query',
    plan,
    output: { kind: 'columns', columns: slots.map((slot) => ({ name: `s${slot}`, slot })) },
    slotCount: count,
    statementLimit: undefined,
    inspect: undefined,
  };
}

/** One text per match: the nodes by their numbers, then the edges of named steps. */
function naiveMatches(graph: Graph, steps: readonly Step[]): readonly string[] {
  const found: string[] = [];
  const nodes = new Map<number, number>();
  const walked: (readonly Edge[])[] = [];
  const visit = (at: number): void => {
    const step = steps[at];
    if (step === undefined) {
      const numbers = [...nodes].sort(([a], [b]) => a - b).map(([, id]) => String(id));
      const edges = steps.flatMap(({ isNamed, range: bounds }, place) => {
        const ids = (walked[place] ?? []).map(({ id }) => String(id));
        if (!isNamed) return [];
        return [bounds === undefined ? (ids[0] as string) : `[${ids.join(',')}]`];
      });
      found.push([...numbers, ...edges].join(' '));
      return;
    }
    const walk = (from: number, edges: readonly Edge[]): void => {
      const { min, max } = step.range ?? { min: 1, max: 1 };
      if (edges.length >= min) arrive(from, edges);
      if (edges.length >= max) return;
      for (const edge of graph.edges) {
        if (step.types?.includes(edge.type) === false) continue;
        if (edges.includes(edge) || walked.some((others) => others.includes(edge))) continue;
        const ends: number[] = [];
        if (step.direction !== 'in' && edge.from === from) ends.push(edge.to);
        if (step.direction !== 'out' && edge.to === from && !ends.includes(from))
          ends.push(edge.from);
        for (const end of ends) walk(end, [...edges, edge]);
      }
    };
    const arrive = (end: number, edges: readonly Edge[]): void => {
      const bound = nodes.get(step.to);
      if (bound !== undefined && bound !== end) return;
      if (bound === undefined) nodes.set(step.to, end);
      walked.push(edges);
      visit(at + 1);
      walked.pop();
      if (bound === undefined) nodes.delete(step.to);
    };
    const start = nodes.get(step.from);
    const starts =
      start === undefined ? Array.from({ length: graph.nodeCount }, (_, id) => id) : [start];
    for (const from of starts) {
      if (start === undefined) nodes.set(step.from, from);
      walk(from, []);
      if (start === undefined) nodes.delete(step.from);
    }
  };
  visit(0);
  return found;
}

/** The number of a node in the text of a match. */
function nodeIn(row: string, wanted: number, steps: readonly Step[]): string {
  const nodes = [...new Set(steps.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  return row.split(' ')[nodes.indexOf(wanted)] as string;
}

function textOf(row: readonly Value[]): string {
  return row.map(textOfValue).join(' ');
}

function textOfValue(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(textOfValue).join(',')}]`;
  return isRecord(value) ? String(value.get('id')) : String(value);
}

function sorted(rows: readonly string[]): readonly string[] {
  return [...rows].sort();
}
