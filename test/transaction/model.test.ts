import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { Model, ModelState } from './support/model.ts';
import { openTestState, type TestState } from './support/open-state.ts';
import { viewState } from './support/view-state.ts';

// Goal: whatever transactions run side by side, each statement sees exactly one committed state with the transaction's own
// writes over it, and the committed states are those of the successful transactions applied one after the other in LSN order.
// Method: random scripts for some transactions are interleaved step by step; commits are started without waiting for one
// another. A model keeps the state after every LSN and is compared with scans, adjacency, counts and index reads.

type Step =
  | { readonly kind: 'insert'; readonly name: number }
  | { readonly kind: 'increment'; readonly record: number; readonly by: number }
  | { readonly kind: 'rename'; readonly record: number; readonly name: number }
  | { readonly kind: 'delete'; readonly record: number }
  | { readonly kind: 'connect'; readonly from: number; readonly to: number }
  | { readonly kind: 'disconnect'; readonly edge: number }
  | { readonly kind: 'look' };

interface Script {
  readonly isolation: Isolation;
  readonly steps: readonly Step[];
  /** How it ends. */
  readonly end: 'commit' | 'rollback';
}

const small = fc.nat(7);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('insert'), name: fc.nat(12) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('increment'), record: small, by: small }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rename'), record: small, name: fc.nat(12) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete'), record: small }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('connect'), from: small, to: small }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('disconnect'), edge: small }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look') }) },
) as fc.Arbitrary<Step>;

const script: fc.Arbitrary<Script> = fc.record({
  isolation: fc.constantFrom<Isolation>('READ_COMMITTED', 'REPEATABLE_READ'),
  steps: fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }),
  end: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
});

/** A transaction under way, with what the model says it sees. */
interface Running {
  readonly script: Script;
  readonly transaction: Transaction;
  at: number;
  readonly own: ((state: ModelState) => void)[];
  /** What must still hold in a later state for the transaction to be able to commit. */
  readonly facts: ((state: ModelState) => boolean)[];
  /** Another transaction took away what this one rests on: its commit must fail. */
  /** Records it inserted, deleted ones too. */
  readonly made: Set<Rid>;
  isOver: boolean;
}

async function prepare(state: TestState): Promise<Model> {
  await state.alter(
    type('vertex', 'V', { bucketCount: 2 }),
    property('V.name', 'INTEGER'),
    property('V.n', 'LONG'),
    index('V', ['name'], { unique: true }),
    index('V', ['n']),
    type('edge', 'E'),
  );
  using before = state.state.view();
  const model = new Model(before.snapshotIndex);
  const transaction = state.state.begin('READ_COMMITTED');
  const own: ((state: ModelState) => void)[] = [];
  for (const name of [100, 101, 102, 103]) {
    const properties = new Map([
      ['name', name],
      ['n', 0],
    ]);
    const { rid } = transaction.insertVertex(state.typeId('V'), properties);
    own.push((s) => s.vertices.set(rid, { name, n: 0 }));
  }
  model.committed((await transaction.commit()).index, own);
  return model;
}

function stateSeen(running: Running, model: Model): ModelState {
  const seen = model.at(running.transaction.snapshotIndex);
  for (const change of running.own) change(seen);
  return seen;
}

/** What a statement works with: the running transaction, the committed state it reads, and that with its own writes. */
interface Statement {
  readonly running: Running;
  readonly committed: ModelState;
  readonly seen: ModelState;
  readonly db: TestState;
}

/** One statement. @returns false when it ended the transaction */
function perform(running: Running, model: Model, db: TestState): boolean {
  const { transaction } = running;
  const action = running.script.steps[running.at++] as Step;
  transaction.beginStatement();
  const committed = model.at(transaction.snapshotIndex);
  // What it rests on is gone for now: it sees a mixture, and cannot be committed unless that comes back.
  if (!running.facts.every((holds) => holds(committed))) {
    return true;
  }
  const seen = stateSeen(running, model);
  assert.deepEqual(viewState(transaction, db), seen.plain(), 'a statement sees one state');
  const wanted = wantedName(action, seen);
  const isTaken = wanted !== undefined && seen.hasName(wanted);
  try {
    act(action, { running, committed, seen, db });
    assert.equal(isTaken, false, 'a taken key is refused');
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'DuplicatedKey') throw error;
    assert.equal(isTaken, true, 'only a taken key is refused');
    transaction.rollback();
    return false;
  }
  return true;
}

/** The name that a step gives to a record which does not have it. */
function wantedName(action: Step, seen: ModelState): number | undefined {
  if (action.kind === 'insert') return action.name;
  if (action.kind !== 'rename') return undefined;
  const rid = pick(seen.vertices, action.record);
  const has = rid !== undefined && seen.vertices.get(rid)?.name === action.name;
  return rid === undefined || has ? undefined : action.name;
}

function pick(from: ReadonlyMap<Rid, unknown>, n: number): Rid | undefined {
  return [...from.keys()][n % Math.max(1, from.size)];
}

function note(
  running: Running,
  change: (state: ModelState) => void,
  fact: (state: ModelState) => boolean,
): void {
  running.own.push(change);
  running.facts.push(fact);
}

function act(action: Step, statement: Statement): void {
  if (action.kind === 'insert') insert(action.name, statement);
  else if (action.kind === 'increment' || action.kind === 'rename') update(action, statement);
  else if (action.kind === 'delete') deleteVertex(action.record, statement);
  else if (action.kind === 'connect') connect(action, statement);
  else if (action.kind === 'disconnect') disconnect(action.edge, statement);
}

function insert(name: number, { running, committed, db }: Statement): void {
  const properties = new Map([
    ['name', name],
    ['n', 0],
  ]);
  const { rid } = running.transaction.insertVertex(db.typeId('V'), properties);
  running.made.add(rid);
  const has = stillNamed(running, committed);
  note(
    running,
    (s) => s.vertices.set(rid, { name, n: 0 }),
    (s) => !has(rid, name) || s.isFree(name, rid, has),
  );
}

function update(
  action: Extract<Step, { kind: 'increment' | 'rename' }>,
  { running, committed, seen }: Statement,
): void {
  const rid = pick(seen.vertices, action.record);
  if (rid === undefined) return;
  const record = running.transaction.record(rid);
  const n = record?.get('n') as number;
  const name = record?.get('name') as number;
  const next = action.kind === 'increment' ? { name, n: n + action.by } : { name: action.name, n };
  running.transaction.update(rid, new Map(Object.entries(next)));
  if (next.n === n && next.name === name) return;
  const before = committed.vertices.get(rid);
  const has = stillNamed(running, committed);
  note(
    running,
    (s) => s.vertices.set(rid, next),
    (s) => s.isSame(rid, before) && (!has(rid, next.name) || s.isFree(next.name, rid, has)),
  );
}

function deleteVertex(record: number, { running, committed, seen }: Statement): void {
  const rid = pick(seen.vertices, record);
  if (rid === undefined) return;
  assert.equal(running.transaction.delete(rid), true);
  const before = committed.vertices.get(rid);
  const edges = seen.edgesOf(rid);
  const storedEdges = committed.edgesOf(rid).join();
  note(
    running,
    (s) => {
      s.vertices.delete(rid);
      for (const edge of edges) s.edges.delete(edge);
    },
    (s) => s.isSame(rid, before) && s.edgesOf(rid).join() === storedEdges,
  );
}

function connect(
  action: Extract<Step, { kind: 'connect' }>,
  { running, committed, seen, db }: Statement,
): void {
  const [from, to] = [pick(seen.vertices, action.from), pick(seen.vertices, action.to)];
  if (from === undefined || to === undefined) return;
  const { rid } = running.transaction.insertEdge(db.typeId('E'), from, to, new Map());
  const ends = [from, to].filter((end) => committed.vertices.has(end));
  note(
    running,
    (s) => s.edges.set(rid, { from, to }),
    (s) => ends.every((end) => s.vertices.has(end)),
  );
}

function disconnect(edge: number, { running, committed, seen }: Statement): void {
  const rid = pick(seen.edges, edge);
  if (rid === undefined) return;
  assert.equal(running.transaction.delete(rid), true);
  const wasStored = committed.edges.has(rid);
  note(
    running,
    (s) => s.edges.delete(rid),
    (s) => s.edges.has(rid) === wasStored,
  );
}

/** Whether a record has a name in the end: committed ones that the transaction did not touch have theirs. */
function stillNamed(running: Running, committed: ModelState): (rid: Rid, name: number) => boolean {
  return (rid, name) => {
    const seen = new ModelState(committed);
    for (const change of running.own) change(seen);
    const isOthers = !committed.vertices.has(rid) && !seen.vertices.has(rid);
    if (isOthers) return !running.made.has(rid);
    return seen.vertices.get(rid)?.name === name;
  };
}

async function run(
  scripts: readonly Script[],
  order: readonly number[],
  db: TestState,
): Promise<void> {
  const model = await prepare(db);
  const commits: Promise<void>[] = [];
  const committed: { index: number; facts: Running['facts'] }[] = [];
  const running: Running[] = scripts.map((s) => ({
    script: s,
    transaction: db.state.begin(s.isolation),
    at: 0,
    own: [],
    facts: [],
    made: new Set(),
    isOver: false,
  }));
  const finish = (one: Running) => {
    one.isOver = true;
    if (one.script.end === 'rollback') {
      one.transaction.rollback();
      return;
    }
    const before = one.transaction.snapshotIndex;
    commits.push(
      one.transaction.commit().then(
        (receipt) => {
          if (receipt.index === before) return;
          model.committed(receipt.index, one.own);
          committed.push({ index: receipt.index, facts: one.facts });
        },
        (error: unknown) => {
          const code = error instanceof DatabaseError ? error.code : undefined;
          if (code !== 'ConcurrentModification' && code !== 'DuplicatedKey') throw error;
        },
      ),
    );
  };
  let turn = 0;
  while (running.some((one) => !one.isOver)) {
    const choice = order[turn % order.length] ?? 0;
    turn += 1;
    const open = running.filter((one) => !one.isOver);
    const one = open[choice % open.length] as Running;
    // Now and then commits get a chance to finish; the model must know them before anybody reads them.
    if (choice % 3 === 0) await Promise.all(commits.splice(0));
    if (one.at >= one.script.steps.length) finish(one);
    else if (!perform(one, model, db)) one.isOver = true;
  }
  await Promise.all(commits);
  for (const { index, facts } of committed) {
    const landedOn = model.at((index - 1) as LogIndex);
    assert.ok(
      facts.every((holds) => holds(landedOn)),
      'what rests on an old state is refused',
    );
  }
  using view = db.state.view();
  assert.deepEqual(viewState(view, db), model.at(view.snapshotIndex).plain());
}

test('random concurrent transactions agree with a serial model', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(script, { minLength: 2, maxLength: 6, size: 'max' }),
      fc.array(fc.nat(11), { minLength: 5, maxLength: 40, size: 'max' }),
      async (scripts, order) => {
        await using db = await openTestState();
        await run(scripts, order, db);
      },
    ),
    { numRuns: 60 },
  );
});
