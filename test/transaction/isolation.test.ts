import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { heldBack } from './support/held-back.ts';
import { openTestState, type TestState } from './support/open-state.ts';

async function people(options: Parameters<typeof openTestState>[0] = {}): Promise<TestState> {
  const db = await openTestState(options);
  await db.alter(
    type('vertex', 'User'),
    property('User.name', 'STRING'),
    index('User', ['name'], { unique: true }),
    type('edge', 'Knows'),
  );
  return db;
}

function row(properties: Record<string, Value>): Map<string, Value> {
  return new Map(Object.entries(properties));
}

async function add(db: TestState, properties: Record<string, Value>): Promise<Rid> {
  using tx = db.state.begin('READ_COMMITTED');
  const { rid } = tx.insertVertex(db.typeId('User'), row(properties));
  await tx.commit();
  return rid;
}

function begin(db: TestState, isolation: Isolation = 'READ_COMMITTED'): Transaction {
  const tx = db.state.begin(isolation);
  tx.beginStatement();
  return tx;
}

async function refusal(work: Promise<unknown>): Promise<DatabaseError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

test('READ_COMMITTED statements see what was committed before them, REPEATABLE_READ ones the first state', async () => {
  await using db = await people();
  const rid = await add(db, { name: 'a', n: 1 });
  using committed = begin(db);
  using repeatable = begin(db, 'REPEATABLE_READ');
  using writer = begin(db);
  writer.update(rid, row({ name: 'a', n: 2 }));
  await writer.commit();
  const n = (tx: Transaction) => tx.record(rid)?.get('n');
  assert.deepEqual([n(committed), n(repeatable)], [1, 1], 'a statement keeps its snapshot');
  committed.beginStatement();
  repeatable.beginStatement();
  assert.deepEqual([n(committed), n(repeatable)], [2, 1]);
});

test('of two transactions that change one record the second is refused with a retryable error', async () => {
  for (const isolation of ['READ_COMMITTED', 'REPEATABLE_READ'] as const) {
    await using db = await people();
    const rid = await add(db, { name: 'a', n: 1 });
    using first = begin(db, isolation);
    using second = begin(db, isolation);
    first.update(rid, row({ name: 'a', n: 2 }));
    second.update(rid, row({ name: 'a', n: 3 }));
    await first.commit();
    const error = await refusal(second.commit());
    assert.equal(error.code, 'ConcurrentModification');
    using view = db.state.view();
    assert.equal(view.record(rid)?.get('n'), 2);
  }
});

test('READ_COMMITTED takes the base version inside the writing statement', async () => {
  await using db = await people();
  const rid = await add(db, { name: 'a', n: 1 });
  using tx = begin(db);
  const seen = tx.record(rid)?.get('n') as number;
  using other = begin(db);
  other.update(rid, row({ name: 'a', n: 10 }));
  await other.commit();
  tx.beginStatement();
  tx.update(rid, row({ name: 'a', n: seen + 1 }));
  await tx.commit();
  using view = db.state.view();
  assert.equal(view.record(rid)?.get('n'), 2, 'a lost update across statements is allowed');
});

test('REPEATABLE_READ refuses a write that rests on an old read, and allows write skew', async () => {
  await using db = await people();
  const a = await add(db, { name: 'a', n: 1 });
  const b = await add(db, { name: 'b', n: 1 });
  using first = begin(db, 'REPEATABLE_READ');
  using second = begin(db, 'REPEATABLE_READ');
  assert.equal(second.record(a)?.get('n'), 1);
  first.update(a, row({ name: 'a', n: 0 }));
  second.update(b, row({ name: 'b', n: 0 }));
  await first.commit();
  await second.commit();
  using third = begin(db, 'REPEATABLE_READ');
  using fourth = begin(db);
  assert.equal(third.record(a)?.get('n'), 0);
  fourth.update(a, row({ name: 'a', n: 5 }));
  await fourth.commit();
  third.beginStatement();
  third.update(a, row({ name: 'a', n: 6 }));
  assert.equal((await refusal(third.commit())).code, 'ConcurrentModification');
});

test('concurrent increments are all counted', async () => {
  await using db = await people();
  const rid = await add(db, { name: 'a', n: 0 });
  let attempts = 0;
  const increment = async () => {
    for (;;) {
      using tx = begin(db);
      const n = tx.record(rid)?.get('n') as number;
      tx.update(rid, row({ name: 'a', n: n + 1 }));
      attempts += 1;
      try {
        await tx.commit();
        return;
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.code !== 'ConcurrentModification')
          throw error;
        assert.ok(error.blockedBy, 'the conflict is known before the log write');
        await error.blockedBy;
      }
    }
  };
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 10; i++) await increment();
    }),
  );
  using view = db.state.view();
  assert.equal(view.record(rid)?.get('n'), 80);
  assert.ok(attempts < 80 * 8, 'losers wait for the winner instead of spinning');
});

test('a taken unique key is refused with index, key and owner', async () => {
  await using db = await people();
  const rid = await add(db, { name: 'albert' });
  using tx = begin(db);
  const [bucket, position] = [Math.floor(rid / 2 ** 37), rid % 2 ** 37];
  assert.throws(() => tx.insertVertex(db.typeId('User'), row({ name: 'albert' })), {
    code: 'DuplicatedKey',
    message: `Duplicated key [albert] found on index 'User[name]' already assigned to record #${bucket}:${position}`,
    arguments: ['User[name]', '[albert]', `#${bucket}:${position}`],
  });
});

test('keys may change hands within one transaction', async () => {
  await using db = await people();
  const a = await add(db, { name: 'a' });
  const b = await add(db, { name: 'b' });
  using tx = begin(db);
  const insert = (name: string) => tx.insertVertex(db.typeId('User'), row({ name }));
  tx.update(a, row({ name: 'free' }));
  tx.update(b, row({ name: 'a' }));
  insert('b');
  assert.throws(() => insert('a'), { code: 'DuplicatedKey' });
  assert.throws(() => insert('free'), { code: 'DuplicatedKey' });
  const c = insert('c');
  tx.delete(c.rid);
  insert('c');
  await tx.commit();
  using view = db.state.view();
  const names = view.index(view.catalog.indexNamed('User[name]')?.id as never);
  const owner = (name: string) => {
    const cursor = names.lookup([name]);
    return cursor.next() ? cursor.rid : undefined;
  };
  assert.equal(owner('a'), b);
  assert.equal(owner('free'), a);
});

test('the loser of a unique race learns the fate of the winner first', async () => {
  const held = heldBack();
  await using db = await people({ wrap: held.wrap });
  using winner = begin(db);
  using loser = begin(db);
  winner.insertVertex(db.typeId('User'), row({ name: 'x' }));
  loser.insertVertex(db.typeId('User'), row({ name: 'x' }));
  const release = held.hold();
  const won = winner.commit();
  const lost = refusal(loser.commit());
  release();
  await won;
  assert.equal((await lost).code, 'DuplicatedKey');
});

test('the loser of a unique race gives up after commitLockTimeout', async () => {
  const held = heldBack();
  await using db = await people({ wrap: held.wrap, commitLockTimeoutMs: 10 });
  using winner = begin(db);
  using loser = begin(db);
  winner.insertVertex(db.typeId('User'), row({ name: 'x' }));
  loser.insertVertex(db.typeId('User'), row({ name: 'x' }));
  const release = held.hold();
  const won = winner.commit();
  assert.equal((await refusal(loser.commit())).code, 'LockTimeout');
  release();
  await won;
});

test('an edge and the deletion of its end exclude each other, whoever is first', async () => {
  for (const deleteFirst of [true, false]) {
    await using db = await people();
    const a = await add(db, { name: 'a' });
    const b = await add(db, { name: 'b' });
    using connect = begin(db);
    using remove = begin(db);
    connect.insertEdge(db.typeId('Knows'), a, b, new Map());
    remove.delete(b);
    const [first, second] = deleteFirst ? [remove, connect] : [connect, remove];
    const done = first.commit();
    const error = await refusal(second.commit());
    await done;
    assert.equal(error.code, 'ConcurrentModification');
    using view = db.state.view();
    assert.equal(view.degree(a, 'out', db.typeId('Knows')), deleteFirst ? 0 : 1);
  }
});

test('edges at one popular vertex do not conflict, and neither does a change of the vertex', async () => {
  await using db = await people();
  const hub = await add(db, { name: 'hub' });
  const others = await Promise.all(['a', 'b', 'c', 'd'].map((name) => add(db, { name })));
  const commits = others.map((other) => {
    const tx = begin(db);
    tx.insertEdge(db.typeId('Knows'), other, hub, new Map());
    return tx.commit();
  });
  const tx = begin(db);
  tx.update(hub, row({ name: 'hub', n: 1 }));
  await Promise.all([...commits, tx.commit()]);
  using view = db.state.view();
  assert.equal(view.degree(hub, 'in', db.typeId('Knows')), 4);
});

test('a vertex takes its edges with it, those of unidirectional types too', async () => {
  await using db = await people();
  await db.alter(type('edge', 'OneWay', { bidirectional: false }));
  const a = await add(db, { name: 'a' });
  const b = await add(db, { name: 'b' });
  using tx = begin(db);
  const loop = tx.insertEdge(db.typeId('Knows'), b, b, new Map());
  const way = tx.insertEdge(db.typeId('OneWay'), a, b, new Map());
  assert.equal(tx.degree(b, 'in', db.typeId('OneWay')), 0, 'the target does not know the edge');
  await tx.commit();
  using again = begin(db);
  assert.equal(again.adjacency(b, 'in', db.typeId('OneWay')).count, 0);
  assert.equal(again.adjacency(a, 'out', db.typeId('OneWay')).count, 1);
  again.delete(b);
  await again.commit();
  using view = db.state.view();
  assert.equal(view.record(loop.rid), undefined);
  assert.equal(view.record(way.rid), undefined);
  assert.equal(view.degree(a, 'out', db.typeId('OneWay')), 0);
});

test('an unchanged record is not written', async () => {
  await using db = await people();
  const rid = await add(db, { name: 'a', n: 1, tags: ['x', 'y'], big: 'b'.repeat(3_000) });
  using view = db.state.view();
  const version = view.record(rid)?.version;
  for (const same of [
    { name: 'a', n: 1, tags: ['x', 'y'], big: 'b'.repeat(3_000) },
    { n: 1, big: 'b'.repeat(3_000), tags: ['x', 'y'], name: 'a' },
  ]) {
    using tx = begin(db);
    tx.update(rid, row(same));
    assert.equal(tx.hasWrites, false);
    const receipt = await tx.commit();
    assert.equal(receipt.index, view.snapshotIndex);
  }
  using tx = begin(db);
  tx.update(rid, row({ name: 'a', n: 1, tags: ['x', 'z'], big: 'b'.repeat(3_000) }));
  await tx.commit();
  using after = db.state.view();
  assert.notEqual(after.record(rid)?.version, version);
});

test('what is gone or no vertex cannot be changed or connected', async () => {
  await using db = await people();
  await db.alter(type('document', 'Doc'));
  const a = await add(db, { name: 'a' });
  using tx = begin(db);
  const doc = tx.insertDocument(db.typeId('Doc'), new Map());
  const missing = (a + 1_000) as Rid;
  assert.throws(() => tx.update(missing, new Map()), { code: 'RecordNotFound' });
  assert.throws(() => tx.insertEdge(db.typeId('Knows'), a, missing, new Map()), {
    code: 'RecordNotFound',
  });
  assert.throws(() => tx.insertEdge(db.typeId('Knows'), a, doc.rid, new Map()), /is no vertex/);
  assert.throws(() => tx.insertVertex(db.typeId('Doc'), new Map()), /is a document type/);
  assert.throws(() => tx.insertDocument(db.typeId('User'), new Map()), /is a vertex type/);
  assert.throws(() => tx.insertDocument(db.typeId('Doc'), row({ '': 1 })), { code: 'SchemaLimit' });
});

test('an ended transaction refuses everything', async () => {
  await using db = await people();
  const rid = await add(db, { name: 'a' });
  const tx = begin(db);
  tx.rollback();
  tx.rollback();
  await assert.rejects(tx.commit(), { code: 'TransactionFailed' });
  assert.throws(() => tx.update(rid, new Map()), { code: 'TransactionFailed' });
});

test('a failed apply stops commits for good', async () => {
  await using db = await people({
    wrap: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          if (name === 'apply' && isBroken) return () => Promise.reject(new Error('disk is gone'));
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
  });
  using first = begin(db);
  using second = begin(db);
  first.insertVertex(db.typeId('User'), row({ name: 'a' }));
  second.insertVertex(db.typeId('User'), row({ name: 'b' }));
  isBroken = true;
  await assert.rejects(first.commit(), /disk is gone/);
  isBroken = false;
  await assert.rejects(second.commit(), { code: 'Internal' });
});
let isBroken = false;
