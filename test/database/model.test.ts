import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { openTestDatabase, root, rowsOf, type TestDatabase } from './support/open-test-database.ts';

// Random transactions of several clients at once, through statements and sessions, against a map.
//
// Every commit has a place in the log and every statement tells which state it saw. So afterwards the committed transactions
// are replayed on the model in log order, and each answer must be what the model said in the state it was taken from, with
// the session's own earlier writes on top. A lost, doubled or half seen write has no place in such a history.

type State = ReadonlyMap<number, number>;

type Operation =
  | { readonly kind: 'insert'; readonly key: number; readonly value: number }
  | { readonly kind: 'add'; readonly key: number; readonly value: number }
  | { readonly kind: 'delete'; readonly key: number }
  | { readonly kind: 'read' };

interface ModelTransaction {
  readonly mode: 'auto' | 'READ_COMMITTED' | 'REPEATABLE_READ';
  readonly operations: readonly Operation[];
  readonly isRolledBack: boolean;
}

interface Answer {
  /** The state that the statement saw, as a place in the log. */
  readonly index: number;
  /** What the session had done before. */
  readonly own: readonly Operation[];
  readonly rows: State;
}

interface History {
  readonly commits: { readonly index: number; readonly operations: readonly Operation[] }[];
  readonly answers: Answer[];
}

const key = fc.integer({ min: 0, max: 5 });
const value = fc.integer({ min: 1, max: 9 });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('insert' as const), key, value }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), key, value }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
);
const transaction: fc.Arbitrary<ModelTransaction> = fc.record({
  mode: fc.constantFrom('auto' as const, 'READ_COMMITTED' as const, 'REPEATABLE_READ' as const),
  operations: fc.array(operation, { minLength: 1, maxLength: 4 }),
  isRolledBack: fc.nat({ max: 9 }).map((n) => n === 0),
});
const clients = fc.array(fc.array(transaction, { minLength: 1, maxLength: 6 }), {
  minLength: 2,
  maxLength: 5,
});

const texts = {
  insert: 'INSERT INTO R SET k = :key, v = :value',
  add: 'UPDATE R SET v = v + :value WHERE k = :key',
  delete: 'DELETE FROM R WHERE k = :key',
  read: 'SELECT k, v FROM R',
} as const;

function applied(state: State, operations: readonly Operation[]): State {
  const next = new Map(state);
  for (const one of operations) {
    if (one.kind === 'insert') next.set(one.key, one.value);
    const held = one.kind === 'add' ? next.get(one.key) : undefined;
    if (one.kind === 'add' && held !== undefined) next.set(one.key, held + one.value);
    if (one.kind === 'delete') next.delete(one.key);
  }
  return next;
}

/**
 * What a transaction leaves: a record that it inserted and deleted again was never there for anybody else, so replaying the two
 * must not touch a record that another transaction has put under the same key meanwhile.
 */
function netOperations(operations: readonly Operation[]): Operation[] {
  const net: Operation[] = [];
  for (const one of operations) {
    const insertedAt =
      one.kind === 'delete'
        ? net.findLastIndex((earlier) => earlier.kind === 'insert' && earlier.key === one.key)
        : -1;
    if (insertedAt < 0) net.push(one);
    else {
      const kept = net.filter(
        (earlier, at) =>
          at < insertedAt || !('key' in earlier && 'key' in one && earlier.key === one.key),
      );
      net.length = 0;
      net.push(...kept);
    }
  }
  return net;
}

/** What may happen to a transaction that meets others. */
function isExpected(error: unknown): boolean {
  return (
    error instanceof DatabaseError &&
    ['ConcurrentModification', 'DuplicatedKey', 'LockTimeout'].includes(error.code)
  );
}

interface Executed {
  readonly index: number;
  readonly rows: State;
  /** False for a change that found no record: it is not repeated on the model, where it might find one. */
  readonly hasEffect: boolean;
}

async function execute(
  database: TestDatabase,
  one: Operation,
  sessionId: string | undefined,
): Promise<Executed> {
  const parameters = 'key' in one ? { key: one.key, value: 'value' in one ? one.value : 0 } : {};
  const options = sessionId === undefined ? {} : { sessionId };
  const result = await database.stream(texts[one.kind], parameters, options);
  const { index } = result.summary();
  const rows = await rowsOf(result, (values) => values);
  if (one.kind === 'read') {
    return { index, rows: new Map(rows.map(([k, v]) => [Number(k), Number(v)])), hasEffect: false };
  }
  const hasEffect = one.kind === 'insert' || rows[0]?.[0] !== 0;
  return { index, rows: new Map(), hasEffect };
}

async function runAuto(database: TestDatabase, one: Operation, history: History): Promise<void> {
  try {
    const { index, rows, hasEffect } = await execute(database, one, undefined);
    if (one.kind === 'read') history.answers.push({ index, own: [], rows });
    else if (hasEffect) history.commits.push({ index, operations: [one] });
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}

async function runSession(
  database: TestDatabase,
  { mode, operations, isRolledBack }: ModelTransaction,
  history: History,
): Promise<void> {
  if (mode === 'auto') return;
  const sessionId = database.database.begin(root, mode);
  const own: Operation[] = [];
  // A READ_COMMITTED session sees its own version of a record that somebody else has changed since; its commit is then
  // refused. So what it saw after its first write counts when it commits.
  const doubtful: Answer[] = [];
  try {
    for (const one of operations) {
      const { index, rows, hasEffect } = await execute(database, one, sessionId);
      const isDoubtful = mode === 'READ_COMMITTED' && own.length > 0;
      if (one.kind === 'read') {
        (isDoubtful ? doubtful : history.answers).push({ index, own: [...own], rows });
      } else if (hasEffect) own.push(one);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (isRolledBack) await database.database.rollback(root, sessionId);
    else {
      const index = await database.database.commit(root, sessionId);
      if (own.length > 0) history.commits.push({ index, operations: netOperations(own) });
      history.answers.push(...doubtful);
    }
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}

function check({ commits, answers }: History, final: State): void {
  // A transaction that changed nothing is given the place of the state it saw; replaying it there changes nothing either.
  const inOrder = [...commits].sort((a, b) => a.index - b.index);
  const states: { readonly index: number; readonly state: State }[] = [
    { index: 0, state: new Map() },
  ];
  for (const { index, operations } of inOrder) {
    const last = states.at(-1)?.state ?? new Map();
    states.push({ index, state: applied(last, operations) });
  }
  const stateAt = (index: number): State =>
    states.findLast((one) => one.index <= index)?.state ?? new Map();
  for (const { index, own, rows } of answers) {
    assert.deepEqual(sorted(rows), sorted(applied(stateAt(index), own)), `at ${index}`);
  }
  assert.deepEqual(sorted(final), sorted(states.at(-1)?.state ?? new Map()));
}

function sorted(state: State): readonly (readonly [number, number])[] {
  return [...state].sort(([a], [b]) => a - b);
}

test('random transactions of several clients at once agree with a map, in log order', async () => {
  const database = await openTestDatabase({ settings: { txRetryDelay: '1' } });
  try {
    await database.run('CREATE DOCUMENT TYPE R');
    await database.run('CREATE PROPERTY R.k LONG');
    await database.run('CREATE INDEX ON R (k) UNIQUE');
    await fc.assert(
      fc.asyncProperty(clients, async (programs) => {
        await database.run('DELETE FROM R');
        const history: History = { commits: [], answers: [] };
        await Promise.all(
          programs.map(async (transactions) => {
            for (const one of transactions) {
              if (one.mode !== 'auto') await runSession(database, one, history);
              else for (const step of one.operations) await runAuto(database, step, history);
            }
          }),
        );
        const { rows } = await execute(database, { kind: 'read' }, undefined);
        check(history, rows);
      }),
      { numRuns: 30 },
    );
  } finally {
    await database.close();
  }
});
