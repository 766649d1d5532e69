import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { type IndexId, makeRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { openTestState, type TestState } from './support/open-state.ts';

function row(properties: Record<string, Value>): Map<string, Value> {
  return new Map(Object.entries(properties));
}

async function withRecords(
  records: readonly Record<string, Value>[],
  options: Parameters<typeof openTestState>[0] = {},
): Promise<TestState & { readonly rids: readonly Rid[] }> {
  const db = await openTestState(options);
  await db.alter(type('vertex', 'P', { bucketCount: 2 }), property('P.n', 'LONG'));
  using tx = db.state.begin('READ_COMMITTED');
  const rids = records.map((r) => tx.insertVertex(db.typeId('P'), row(r)).rid);
  await tx.commit();
  return { ...db, rids };
}

/** Every index against a scan: same keys for the same records. */
function requireAgreement(view: ReadView, name: string): number {
  const definition = view.catalog.indexNamed(name);
  assert.ok(definition);
  assert.equal(definition.state, 'READY');
  const expected: string[] = [];
  const [component = ''] = definition.components.map((c) => c.property);
  for (const id of view.catalog.withSubtypes(definition.type)) {
    for (const bucket of view.catalog.typeWithId(id).buckets) {
      const scan = view.scan(bucket, 'ascending');
      for (let r = scan.next(); r !== undefined; r = scan.next()) {
        const value = r.get(component) ?? null;
        if (value !== null) expected.push(`${String(value)} ${r.rid}`);
      }
    }
  }
  const found: string[] = [];
  const cursor = view.index(definition.id).range({ prefix: [] }, 'ascending');
  while (cursor.next()) found.push(`${String(cursor.keyValues()[0])} ${cursor.rid}`);
  assert.deepEqual(found.toSorted(), expected.toSorted());
  assert.equal(view.snapshot.entryCount(definition.id), found.length);
  return found.length;
}

test('an index is built from what is there, in several rounds', async () => {
  const records = Array.from({ length: 500 }, (_, i) => ({ n: (i * 7) % 100 }));
  await using db = await withRecords([...records, { n: null }, {}], { indexBuildRound: 64 });
  const [result] = await db.alter(index('P', ['n']));
  assert.deepEqual(Object.fromEntries(result ?? []), {
    operation: 'create index',
    name: 'P[n]',
    type: 'LSM_TREE',
    created: true,
    totalIndexed: 502,
  });
  using view = db.state.view();
  assert.equal(requireAgreement(view, 'P[n]'), 500);
});

test('an index that is being built stays right under concurrent writes', async () => {
  // Short rounds let writers in between the reading of a record and the writing of its entries most often.
  for (const indexBuildRound of [5, 50]) await buildsBesideWriters(indexBuildRound);
});

async function buildsBesideWriters(indexBuildRound: number): Promise<void> {
  const records = Array.from({ length: 300 }, (_, i) => ({ n: i }));
  await using db = await withRecords(records, { indexBuildRound });
  let isBuilding = true;
  let commits = 0;
  const write = async (seed: number) => {
    for (let i = seed; isBuilding; i += 7) {
      const tx = db.state.begin('READ_COMMITTED');
      try {
        // Before and behind the place where the build is.
        const rid = db.rids[(i * 101) % db.rids.length] as Rid;
        const kind = i % 4;
        if (kind === 0) tx.delete(rid);
        else if (kind === 1) tx.insertVertex(db.typeId('P'), row({ n: i }));
        else if (tx.record(rid) !== undefined) {
          tx.update(rid, row(kind === 2 ? { n: i % 50 } : { n: i % 50, other: i }));
        }
        await tx.commit();
        commits += 1;
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.code !== 'ConcurrentModification')
          throw error;
        await error.blockedBy;
      } finally {
        tx.rollback();
      }
    }
  };
  const writers = [write(1), write(2), write(3)];
  await db.alter(index('P', ['n']));
  isBuilding = false;
  await Promise.all(writers);
  assert.ok(commits > 10, 'commits go on between the rounds');
  using view = db.state.view();
  requireAgreement(view, 'P[n]');
}

test('an index that is built in many rounds takes no more pages than one that is built in one', async () => {
  const records = Array.from({ length: 8_000 }, (_, i) => ({ n: (i * 7_919) % 8_000 }));
  const grown: number[] = [];
  for (const indexBuildRound of [10_000, 500]) {
    await using db = await withRecords(records, { indexBuildRound });
    await db.engine.checkpoint();
    const before = db.engine.sizeBytes();
    await db.alter(index('P', ['n']));
    await db.engine.checkpoint();
    grown.push(db.engine.sizeBytes() - before);
  }
  const [atOnce = 0, inRounds = 0] = grown;
  assert.ok(atOnce > 0 && inRounds < atOnce * 1.5, `${inRounds} beside ${atOnce} bytes`);
});

test('a unique index on repeated values fails and leaves nothing', async () => {
  const records = Array.from({ length: 100 }, (_, i) => ({ n: i === 90 ? 5 : i }));
  for (const indexBuildRound of [1_000, 10]) {
    await using db = await withRecords(records, { indexBuildRound });
    await assert.rejects(db.alter(index('P', ['n'], { unique: true })), {
      code: 'DuplicatedKey',
      message: /^Duplicated key \[5\] found on index 'P\[n\]' already assigned to record #/,
    });
    assert.deepEqual(db.state.catalog.indexes(), []);
    using tx = db.state.begin('READ_COMMITTED');
    tx.delete(db.rids[90] as Rid);
    await tx.commit();
    await db.alter(index('P', ['n'], { unique: true }));
    using view = db.state.view();
    assert.equal(requireAgreement(view, 'P[n]'), 99);
  }
});

test('NULL_STRATEGY ERROR refuses records without a value', async () => {
  await using db = await withRecords([{ n: 1 }, {}]);
  await assert.rejects(db.alter(index('P', ['n'], { nullStrategy: 'ERROR' })), {
    code: 'Validation',
  });
  assert.deepEqual(db.state.catalog.indexes(), []);
});

test('a build that a stop interrupted is undone at the next start', async () => {
  const db = await withRecords([{ n: 1 }, { n: 2 }]);
  // The process ends while entries are written: the schema says BUILDING.
  Object.assign(db.engine, { addNewEntries: () => new Promise(() => {}) });
  void db.alter(index('P', ['n']));
  while (db.state.catalog.indexes()[0]?.state !== 'BUILDING') {
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setImmediate(resolve));
  await db.engine.close();
  await using again = await openTestState({ directory: db.directory });
  assert.deepEqual(again.state.catalog.indexes(), []);
  await again.alter(index('P', ['n']));
  using view = again.state.view();
  assert.equal(requireAgreement(view, 'P[n]'), 2);
});

test('a property is refused when a record holds an incompatible value', async () => {
  await using db = await withRecords([{ a: 1, b: 'text', c: null }, { a: 2 }]);
  await db.alter(property('P.a', 'DOUBLE'), property('P.c', 'DATE'));
  await assert.rejects(db.alter(property('P.b', 'LONG')), {
    code: 'Schema',
    message:
      /^Cannot create property 'P.b' of type LONG: record #\d+:0 holds a value of another type$/,
  });
  assert.equal(db.state.catalog.property(db.typeId('P'), 'b'), undefined);
});

test('DROP TYPE UNSAFE takes vertices, their edges and their indexes', async () => {
  await using db = await withRecords([{ n: 1 }, { n: 2 }]);
  await db.alter(type('vertex', 'Q'), type('edge', 'E'), index('P', ['n']));
  const { rid: q, edge } = await (async () => {
    using tx = db.state.begin('READ_COMMITTED');
    const other = tx.insertVertex(db.typeId('Q'), new Map());
    const e = tx.insertEdge(db.typeId('E'), db.rids[0] as Rid, other.rid, new Map());
    await tx.commit();
    return { rid: other.rid, edge: e.rid };
  })();
  const drop = { kind: 'drop-type', name: 'P', ifExists: false, unsafe: false } as const;
  await assert.rejects(db.alter(drop), { code: 'CommandExecution' });
  await db.alter({ ...drop, unsafe: true });
  using view = db.state.view();
  assert.equal(view.record(db.rids[0] as Rid), undefined);
  assert.equal(view.record(edge), undefined);
  assert.equal(view.degree(q, 'in', db.typeId('E')), 0);
  assert.equal(view.catalog.typeNamed('P'), undefined);
  assert.deepEqual(view.catalog.indexes(), []);
  await db.alter(type('vertex', 'P'));
  using tx = db.state.begin('READ_COMMITTED');
  const again = tx.insertVertex(db.typeId('P'), new Map());
  assert.ok(!db.rids.includes(again.rid), 'record ids are not given again');
});

test('documents of a dropped type leave the indexes of its supertypes', async () => {
  await using db = await openTestState();
  await db.alter(
    type('document', 'S'),
    type('document', 'D', { supertypes: ['S'] }),
    property('S.n', 'LONG'),
    index('S', ['n'], { unique: true }),
  );
  using tx = db.state.begin('READ_COMMITTED');
  for (const n of [1, 2, 3]) tx.insertDocument(db.typeId('D'), row({ n }));
  await tx.commit();
  await db.alter({ kind: 'drop-type', name: 'D', ifExists: false, unsafe: false });
  using after = db.state.begin('READ_COMMITTED');
  after.insertDocument(db.typeId('S'), row({ n: 2 }));
  await after.commit();
  using view = db.state.view();
  assert.equal(requireAgreement(view, 'S[n]'), 1);
});

test('what a transaction did to documents goes with their type, whatever it goes back to, and the rest stays its own', async () => {
  await using db = await openTestState();
  await db.alter(
    type('document', 'S'),
    type('document', 'D', { supertypes: ['S'], bucketCount: 2 }),
    property('S.n', 'LONG'),
    index('S', ['n'], { unique: true }),
  );
  const [s, d] = [db.typeId('S'), db.typeId('D')];
  const stored = await (async () => {
    using tx = db.state.begin('READ_COMMITTED');
    const rids = [1, 2, 3].map((n) => tx.insertDocument(d, row({ n })).rid);
    await tx.commit();
    return rids;
  })();
  using tx = db.state.begin('READ_COMMITTED');
  tx.beginStatement();
  const own = tx.insertDocument(s, row({ n: 10 }));
  tx.insertDocument(d, row({ n: 11 }));
  tx.update(stored[0] as Rid, row({ n: 12 }));
  const place = tx.savepoint();
  tx.update(stored[0] as Rid, row({ n: 13 }));
  tx.delete(stored[1] as Rid);
  tx.insertDocument(s, row({ n: 14 }));
  await tx.alter({ kind: 'drop-type', name: 'D', ifExists: false, unsafe: false });
  assert.equal(tx.record(stored[0] as Rid), undefined);
  assert.deepEqual(numbersIn(tx, 'S'), [10, 14]);
  assert.equal(tx.index(tx.catalog.indexNamed('S[n]')?.id as IndexId).entryCount, 2);
  place.undo();
  assert.deepEqual(numbersIn(tx, 'S'), [10]);
  // Others may have the keys now.
  using other = db.state.begin('READ_COMMITTED');
  for (const n of [11, 12, 13, 2]) other.insertDocument(s, row({ n }));
  await other.commit();
  const { changes } = await tx.commit();
  assert.deepEqual(
    changes.map(({ record }) => record.rid),
    [own.rid],
  );
  using view = db.state.view();
  assert.equal(requireAgreement(view, 'S[n]'), 5);
});

function numbersIn(view: ReadView, name: string): unknown[] {
  const numbers: unknown[] = [];
  for (const bucket of view.catalog.typeNamed(name)?.buckets ?? []) {
    const scan = view.scan(bucket, 'ascending');
    for (let r = scan.next(); r !== undefined; r = scan.next()) numbers.push(r.get('n'));
  }
  return numbers;
}

test('a type whose records are being deleted goes, also when who asked for it gives up', async () => {
  await using db = await withRecords(Array.from({ length: 900 }, (_, n) => ({ n })));
  const drop = { kind: 'drop-type', name: 'P', ifExists: false, unsafe: true } as const;
  const early = db.state.alter(drop, () => Promise.reject(new Error('given up')));
  await assert.rejects(early, /given up/);
  {
    using view = db.state.view();
    assert.equal(
      db.state.catalog.typeNamed('P')?.buckets.reduce((sum, b) => sum + view.recordCount(b), 0),
      900,
      'nothing has begun',
    );
  }
  await db.alter(drop);
  assert.equal(db.state.catalog.typeNamed('P'), undefined);
});

test('an open transaction goes on when the schema change does not concern it', async () => {
  await using db = await withRecords([{ n: 1 }]);
  using tx = db.state.begin('REPEATABLE_READ');
  tx.insertVertex(db.typeId('P'), row({ n: 2 }));
  await db.alter(type('document', 'Other'), index('P', ['n']));
  await tx.commit();
  using view = db.state.view();
  assert.equal(requireAgreement(view, 'P[n]'), 2);
});

test('an open transaction is refused when its types were changed', async () => {
  for (const change of [
    property('P.m', 'LONG'),
    index('P', ['n'], { unique: true }),
    { kind: 'drop-type', name: 'P', ifExists: false, unsafe: true } as const,
  ]) {
    await using db = await withRecords([]);
    using tx = db.state.begin('READ_COMMITTED');
    tx.insertVertex(db.typeId('P'), row({ n: 2, m: 'x' }));
    await db.alter(change);
    await assert.rejects(tx.commit(), { code: 'ConcurrentModification', message: /schema/ });
  }
});

test('a transaction sees and uses the schema it changed itself', async () => {
  for (const isolation of ['READ_COMMITTED', 'REPEATABLE_READ'] as const) {
    await using db = await withRecords([{ n: 1 }]);
    using tx = db.state.begin(isolation);
    const { rid } = tx.insertVertex(db.typeId('P'), row({ n: 2 }));
    await tx.alter(type('document', 'D'));
    await tx.alter(index('P', ['n']));
    const d = tx.catalog.typeNamed('D');
    assert.ok(d);
    tx.insertDocument(d.id, new Map());
    const byN = tx.index(tx.catalog.indexNamed('P[n]')?.id as never);
    const cursor = byN.lookup([2]);
    assert.equal(cursor.next(), true);
    assert.equal(cursor.rid, rid);
    await tx.commit();
    using view = db.state.view();
    assert.equal(requireAgreement(view, 'P[n]'), 2);
  }
});

test('what a transaction wrote before its own schema change is checked by the new schema', async () => {
  await using db = await withRecords([{ n: 1 }]);
  {
    using tx = db.state.begin('READ_COMMITTED');
    const { rid } = tx.insertVertex(db.typeId('P'), row({ n: 2, m: '7' }));
    await tx.alter(property('P.m', 'LONG'));
    await tx.alter(index('P', ['n'], { unique: true }));
    assert.equal(tx.record(rid)?.get('m'), 7);
    assert.throws(() => tx.insertVertex(db.typeId('P'), row({ n: 2 })), { code: 'DuplicatedKey' });
    await tx.commit();
    using view = db.state.view();
    assert.equal(view.record(rid)?.get('m'), 7);
    assert.equal(requireAgreement(view, 'P[n]'), 2);
  }
  using tx = db.state.begin('READ_COMMITTED');
  tx.insertVertex(db.typeId('P'), row({ k: 'text' }));
  await assert.rejects(tx.alter(property('P.k', 'LONG')), { code: 'IllegalArgument' });
});

test('a schema change between two statements of a transaction does not let old writes through', async () => {
  await using db = await withRecords([]);
  using tx = db.state.begin('READ_COMMITTED');
  tx.beginStatement();
  tx.insertVertex(db.typeId('P'), row({ m: 'text' }));
  await db.alter(property('P.m', 'LONG'));
  tx.beginStatement();
  tx.insertVertex(db.typeId('P'), row({ m: 1 }));
  await assert.rejects(tx.commit(), { code: 'ConcurrentModification' });
});

test('schema changes take turns and their results survive a restart', async () => {
  const db = await openTestState();
  const names = Array.from({ length: 20 }, (_, i) => `T${i}`);
  await Promise.all(names.map((name) => db.alter(type('vertex', name))));
  await assert.rejects(db.alter(type('vertex', 'T3')), { message: 'Type T3 already exists' });
  await db.close();
  await using again = await openTestState({ directory: db.directory });
  assert.deepEqual(
    again.state.catalog.types().map((t) => t.name),
    names,
  );
  assert.equal(again.state.catalog.version, 20);
});

test('defaults apply to absent properties only', async () => {
  await using db = await openTestState({
    evaluateDefault: (source) => (source === 'nothing' ? null : source.toUpperCase()),
  });
  await db.alter(
    type('document', 'D'),
    property('D.a', 'STRING', [{ name: 'default', value: 'new' }]),
    property('D.b', 'STRING', [{ name: 'default', value: 'nothing' }]),
  );
  using tx = db.state.begin('READ_COMMITTED');
  const insert = (p: Record<string, Value>) => tx.insertDocument(db.typeId('D'), row(p));
  assert.equal(insert({}).get('a'), 'NEW');
  assert.equal(insert({ a: null }).get('a'), null);
  assert.equal(insert({}).get('b'), undefined);
});

test('positions are never given twice, also not after a crash', async () => {
  // One record in each bucket: the lease of a bucket begins with its first commit.
  const db = await withRecords([{ n: 1 }, { n: 2 }]);
  const lost = db.state.begin('READ_COMMITTED');
  const seen = lost.insertVertex(db.typeId('P'), new Map()).rid;
  const deleted = db.state.begin('READ_COMMITTED');
  deleted.delete(db.rids[0] as Rid);
  await deleted.commit();
  await db.engine.close();
  await using again = await openTestState({ directory: db.directory });
  using tx = again.state.begin('READ_COMMITTED');
  const fresh = [1, 2, 3, 4].map(() => tx.insertVertex(again.typeId('P'), new Map()).rid);
  assert.ok(!fresh.includes(seen));
  assert.ok(!fresh.includes(db.rids[0] as Rid));
  assert.ok(fresh.every((rid) => rid > makeRid(1, 0)));
});
