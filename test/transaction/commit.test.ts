import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { LogEntry, StorageEngine } from '#storage/engine.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { heldBack } from './support/held-back.ts';
import { openTestState, type TestState } from './support/open-state.ts';

function row(properties: Record<string, Value>): Map<string, Value> {
  return new Map(Object.entries(properties));
}

async function prepared(
  count: number,
  options: Parameters<typeof openTestState>[0],
): Promise<TestState & { readonly rids: readonly Rid[] }> {
  const db = await openTestState(options);
  await db.alter(
    type('vertex', 'V'),
    property('V.k', 'LONG'),
    index('V', ['k'], { unique: true }),
    type('edge', 'E'),
  );
  const tx = begin(db);
  const rids: Rid[] = [];
  for (let i = 0; i < count; i++) rids.push(tx.insertVertex(db.typeId('V'), row({ k: i })).rid);
  await tx.commit();
  return { ...db, rids };
}

function begin(db: TestState): Transaction {
  const tx = db.state.begin('READ_COMMITTED');
  tx.beginStatement();
  return tx;
}

/** Sees every group that is applied. */
function recorded(): {
  readonly groups: (readonly LogEntry[])[];
  wrap(engine: StorageEngine): StorageEngine;
} {
  const groups: (readonly LogEntry[])[] = [];
  return {
    groups,
    wrap: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          if (name === 'apply') {
            return (entries: readonly LogEntry[]) => {
              groups.push(entries);
              return target.apply(entries);
            };
          }
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
  };
}

test('commits that arrive together travel in one group, with contiguous positions', async () => {
  const log = recorded();
  await using db = await prepared(10, { wrap: log.wrap });
  log.groups.length = 0;
  const commits = db.rids.map((rid, i) => {
    const tx = begin(db);
    tx.update(rid, row({ k: i, n: 1 }));
    return tx.commit();
  });
  const receipts = await Promise.all(commits);
  assert.ok(log.groups.length <= 2, `${log.groups.length} groups`);
  const positions = log.groups.flat().map(({ position }) => position);
  for (let i = 1; i < positions.length; i++) {
    assert.equal(positions[i]?.index, (positions[i - 1]?.index ?? 0) + 1);
    assert.equal(positions[i]?.txId, (positions[i - 1]?.txId ?? 0) + 1);
  }
  assert.deepEqual(
    receipts.map((r) => r.index),
    positions.map((p) => p.index),
  );
});

test('a write set is in canonical order: definitions, then by record id and kind, then leases', async () => {
  const log = recorded();
  await using db = await prepared(4, { wrap: log.wrap });
  log.groups.length = 0;
  const [a, b, c, d] = db.rids as [Rid, Rid, Rid, Rid];
  const tx = begin(db);
  tx.update(d, row({ k: 13 }));
  tx.delete(b);
  const gone = tx.insertVertex(db.typeId('V'), row({ k: 99 }));
  const edge = tx.insertEdge(db.typeId('E'), c, a, row({ new: true }));
  tx.delete(gone.rid);
  tx.update(a, row({ k: 10 }));
  await tx.commit();
  const operations = log.groups.flat().flatMap((entry) => entry.operations);
  assert.deepEqual(
    operations.map((o) => ('rid' in o ? `${o.op} ${o.rid}` : o.op)),
    [
      'shape',
      `put-row ${a}`,
      `delete-row ${b}`,
      `put-row ${d}`,
      `put-row ${edge.rid}`,
      `add-edge ${edge.rid}`,
      'positions',
    ],
  );
});

test('large transactions in flight keep others off their records, keys and vertices', async () => {
  const held = heldBack();
  await using db = await prepared(600, { wrap: held.wrap });
  const large = begin(db);
  for (let i = 0; i < 300; i++) large.update(db.rids[i] as Rid, row({ k: 1_000 + i }));
  for (let i = 300; i < 400; i++) large.delete(db.rids[i] as Rid);
  for (let i = 400; i < 500; i++) {
    large.insertEdge(db.typeId('E'), db.rids[i] as Rid, db.rids[i + 1] as Rid, new Map());
  }
  const others: [string, (tx: Transaction) => void][] = [
    ['ConcurrentModification', (tx) => tx.update(db.rids[5] as Rid, row({ k: 5, n: 1 }))],
    ['ConcurrentModification', (tx) => tx.delete(db.rids[350] as Rid)],
    [
      'ConcurrentModification',
      (tx) => tx.insertEdge(db.typeId('E'), db.rids[350] as Rid, db.rids[599] as Rid, new Map()),
    ],
    ['ConcurrentModification', (tx) => tx.delete(db.rids[450] as Rid)],
    ['DuplicatedKey', (tx) => tx.insertVertex(db.typeId('V'), row({ k: 1_010 }))],
    ['ok', (tx) => tx.update(db.rids[550] as Rid, row({ k: 550, n: 1 }))],
    ['ok', (tx) => tx.update(db.rids[450] as Rid, row({ k: 450, n: 1 }))],
  ];
  const transactions = others.map(([, write]) => {
    const tx = begin(db);
    write(tx);
    return tx;
  });
  const release = held.hold();
  const done = large.commit();
  const outcomes = transactions.map((tx) =>
    tx.commit().then(
      () => 'ok',
      (error: unknown) => (error instanceof DatabaseError ? error.code : String(error)),
    ),
  );
  release();
  await done;
  assert.deepEqual(
    await Promise.all(outcomes),
    others.map(([expected]) => expected),
  );
});

for (const code of ['CorruptedRecord', 'IllegalArgument', 'CommandExecution'] as const)
  test(`what storage refuses with ${code} fails the commit that needs it and no other of its group`, async () => {
    let damaged: Rid | undefined;
    await using db = await prepared(4, {
      wrap: (engine) =>
        new Proxy(engine, {
          get(target, name) {
            if (name === 'apply') {
              return async (entries: readonly LogEntry[]) => {
                const bad = entries.some((e) =>
                  e.operations.some((o) => 'rid' in o && o.rid === damaged),
                );
                if (bad) throw new DatabaseError(code, 'block is damaged');
                await target.apply(entries);
              };
            }
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        }),
    });
    damaged = db.rids[2];
    const commits = db.rids.map((rid, i) => {
      const tx = begin(db);
      tx.update(rid, row({ k: i, n: 7 }));
      return tx.commit();
    });
    const outcomes = await Promise.allSettled(commits);
    assert.deepEqual(
      outcomes.map((o) => (o.status === 'rejected' ? o.reason.code : 'ok')),
      ['ok', 'ok', code, 'ok'],
    );
    using view = db.state.view();
    assert.deepEqual(
      db.rids.map((rid) => view.record(rid)?.get('n')),
      [7, 7, undefined, 7],
    );
  });

test('values of the meta table are committed in log order', async () => {
  await using db = await prepared(1, {});
  await db.state.writeMeta(new Map([['settings', Buffer.from('{"a":1}')]]));
  using view = db.state.view();
  assert.equal(Buffer.from(view.snapshot.meta('settings') ?? []).toString(), '{"a":1}');
  await db.state.writeMeta(new Map([['settings', undefined]]));
  using later = db.state.view();
  assert.equal(later.snapshot.meta('settings'), undefined);
});

test('a bulk load takes its place among commits and may be refused by what it lands on', async () => {
  await using db = await prepared(2, {});
  const bucket = db.state.catalog.typeNamed('V')?.buckets[0];
  assert.ok(bucket !== undefined);
  const first = db.state.positions.reserve(bucket, 3);
  const writer = db.engine.bulk();
  for (let i = 0; i < 3; i++) {
    writer.addRow(db.typeId('V'), bucket, first + i, row({ k: 100 + i }));
  }
  const tx = begin(db);
  tx.update(db.rids[0] as Rid, row({ k: 0, n: 1 }));
  await Promise.all([tx.commit(), db.state.commitBulk(writer, () => {})]);
  using view = db.state.view();
  assert.equal(view.recordCount(bucket), 5);
  const refused = db.state.commitBulk(db.engine.bulk(), () => {
    throw new DatabaseError('DuplicatedKey', 'taken');
  });
  await assert.rejects(refused, { code: 'DuplicatedKey' });
  const after = begin(db);
  after.update(db.rids[0] as Rid, row({ k: 0, n: 2 }));
  await after.commit();
});
