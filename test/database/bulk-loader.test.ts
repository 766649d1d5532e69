import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Link } from '#core/value/record.ts';
import { requireRid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// The bulk path against what the same inserts would have done one by one.

async function withGraph(run: (test: TestDatabase) => Promise<void>): Promise<void> {
  const database = await openTestDatabase();
  try {
    for (const statement of [
      'CREATE VERTEX TYPE Being',
      'CREATE PROPERTY Being.id LONG',
      'CREATE INDEX ON Being (id) UNIQUE',
      'CREATE VERTEX TYPE Person EXTENDS Being',
      'CREATE VERTEX TYPE Robot EXTENDS Being',
      'CREATE PROPERTY Robot.model STRING (mandatory true, default "T1")',
      'CREATE PROPERTY Person.score DOUBLE',
      'CREATE EDGE TYPE Knows',
    ]) {
      await database.run(statement);
    }
    await run(database);
  } finally {
    await database.close();
  }
}

const people = (from: number, count: number): { values: Value[]; ids: number[] } => {
  const values: Value[] = [];
  const ids: number[] = [];
  for (let id = from; id < from + count; id += 1) {
    values.push(id, `person ${id}`, id / 2);
    ids.push(id);
  }
  return { values, ids };
};
const columns = ['id', 'name', 'score'];

test('loaded vertices and edges are found by index, by scan and by both ends, also after a restart', () =>
  withGraph(async (opened) => {
    const loader = opened.database.bulkLoader();
    const { values, ids } = people(0, 1_000);
    await loader.addRecords({ type: 'Person', columns, values, rowCount: 1_000, ids });
    const from = ids.flatMap((id) => [id, id]);
    const to = ids.flatMap((id) => [(id + 1) % 1_000, 0]);
    await loader.addEdges({
      type: 'Knows',
      columns: ['since'],
      values: from,
      rowCount: 2_000,
      from,
      to,
    });
    const report = await loader.finish();
    assert.deepEqual([report.recordCount, report.edgeCount], [1_000, 2_000]);
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(await opened.run('SELECT name, score FROM Person WHERE id = 700'), [
        { name: 'person 700', score: 350 },
      ]);
      assert.deepEqual(await opened.run('SELECT count(*) AS n, sum(id) AS s FROM Being'), [
        { n: 1_000, s: 499_500 },
      ]);
      assert.deepEqual(
        await opened.run('SELECT outE().size() AS o, inE().size() AS i FROM Person WHERE id = 0'),
        [{ o: 2, i: 1_001 }],
      );
      assert.deepEqual(await opened.run('SELECT out().id AS ids FROM Person WHERE id = 5'), [
        { ids: [6, 0] },
      ]);
      await opened.reopen();
    }
    await opened.run('INSERT INTO Person SET id = 1000');
    await assert.rejects(opened.run('INSERT INTO Robot SET id = 3'), { code: 'DuplicatedKey' });
    await opened.run('DELETE FROM Person WHERE id = 0');
    assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Knows'), [{ n: 2_000 - 1_002 }]);
  }));

test('many small chunks give the same as one', () =>
  withGraph(async (opened) => {
    const loader = opened.database.bulkLoader({ chunkBytesMax: 10_000 });
    for (let from = 0; from < 1_000; from += 50) {
      const { values, ids } = people(from, 50);
      await loader.addRecords({ type: 'Person', columns, values, rowCount: 50, ids });
      const hub = ids.map(() => 0);
      await loader.addEdges({
        type: 'Knows',
        columns: [],
        values: [],
        rowCount: 50,
        from: hub,
        to: ids,
      });
    }
    const look = await opened.stream('SELECT 1 AS one');
    const before = look.summary().index;
    look.close();
    const { index } = await loader.finish();
    assert.ok(index > 10 && index === before + 1, 'chunks are commits of their own');
    assert.deepEqual(await opened.run('SELECT out().size() AS n FROM Person WHERE id = 0'), [
      { n: 1_000 },
    ]);
    assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Person WHERE in().size() = 1'), [
      { n: 1_000 },
    ]);
  }));

test('rows are converted, checked and completed as by an insert', () =>
  withGraph(async (opened) => {
    const load = async (
      type: string,
      names: readonly string[],
      values: readonly (Value | undefined)[],
    ) => {
      const loader = opened.database.bulkLoader();
      await loader.addRecords({
        type,
        columns: names,
        values,
        rowCount: values.length / names.length,
      });
      await loader.finish();
    };
    await load('Robot', ['id', 'model'], ['7', undefined, 8, 'X']);
    assert.deepEqual(await opened.run('SELECT id, model FROM Robot ORDER BY id'), [
      { id: 7, model: 'T1' },
      { id: 8, model: 'X' },
    ]);
    await assert.rejects(load('Person', ['id'], ['seven']), { code: 'IllegalArgument' });
    await assert.rejects(load('Person', ['id'], [7]), { code: 'DuplicatedKey' });
    await assert.rejects(load('Person', ['id'], [20, 21, 20]), { code: 'DuplicatedKey' });
    await assert.rejects(load('Nobody', ['id'], [1]), { code: 'Schema' });
    await assert.rejects(load('Knows', ['id'], [1]), { code: 'IllegalArgument' });
    assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Being'), [{ n: 2 }]);
  }));

test('one unique key in two types that inherit its index is refused', () =>
  withGraph(async (opened) => {
    const loader = opened.database.bulkLoader();
    await loader.addRecords({ type: 'Person', columns: ['id'], values: [1], rowCount: 1 });
    await assert.rejects(
      loader.addRecords({ type: 'Robot', columns: ['id', 'model'], values: [1, 'a'], rowCount: 1 }),
      { code: 'DuplicatedKey' },
    );
  }));

test('edges may name stored vertices; a missing one is refused', () =>
  withGraph(async (opened) => {
    const [stored] = await opened.run('INSERT INTO Person SET id = 1');
    const link = new Link(requireRid(String(stored?.['@rid'])));
    const loader = opened.database.bulkLoader();
    await loader.addRecords({
      type: 'Person',
      columns: ['id'],
      values: [2],
      rowCount: 1,
      ids: ['two'],
    });
    await loader.addEdges({
      type: 'Knows',
      columns: [],
      values: [],
      rowCount: 1,
      from: [link],
      to: ['two'],
    });
    await loader.finish();
    assert.deepEqual(await opened.run('SELECT @out.id AS a, @in.id AS b FROM Knows'), [
      { a: 1, b: 2 },
    ]);
    const other = opened.database.bulkLoader();
    const edge = { type: 'Knows', columns: [], values: [], rowCount: 1, from: [link] };
    await assert.rejects(other.addEdges({ ...edge, to: ['three'] }), { code: 'RecordNotFound' });
    await assert.rejects(other.addEdges({ ...edge, to: [new Link(requireRid('#1:77'))] }), {
      code: 'RecordNotFound',
    });
  }));

test('a vertex that is deleted while its edges are loaded keeps the chunk out', () =>
  withGraph(async (opened) => {
    const [stored] = await opened.run('INSERT INTO Person SET id = 1');
    const link = new Link(requireRid(String(stored?.['@rid'])));
    const loader = opened.database.bulkLoader();
    await loader.addEdges({
      type: 'Knows',
      columns: [],
      values: [],
      rowCount: 1,
      from: [link],
      to: [link],
    });
    await opened.run('DELETE FROM Person WHERE id = 1');
    await assert.rejects(loader.finish(), { code: 'RecordNotFound' });
    assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Knows'), [{ n: 0 }]);
  }));

test('a type that is changed while it is loaded ends the load', () =>
  withGraph(async (opened) => {
    const loader = opened.database.bulkLoader();
    await loader.addRecords({ type: 'Person', columns: ['id'], values: [1], rowCount: 1 });
    await opened.run('CREATE PROPERTY Person.name STRING (mandatory true)');
    await assert.rejects(loader.finish(), { code: 'ConcurrentModification' });
    assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Person'), [{ n: 0 }]);
  }));

test('loaded edges of a lightweight type may have no properties', () =>
  withGraph(async (opened) => {
    await opened.run('CREATE EDGE TYPE Light LIGHTWEIGHT');
    const load = async (names: readonly string[], values: Value[]): Promise<void> => {
      const loader = opened.database.bulkLoader();
      const { values: people0, ids } = people(0, 2);
      await loader.addRecords({ type: 'Person', columns, values: people0, rowCount: 2, ids });
      await loader.addEdges({
        type: 'Light',
        columns: names,
        values,
        rowCount: 1,
        from: [0],
        to: [1],
      });
      await loader.finish();
    };
    await assert.rejects(load(['w'], [5]), /declared LIGHTWEIGHT/);
    await load([], []);
    assert.deepEqual(await opened.run("SELECT id, out('Light').id AS o FROM Person ORDER BY id"), [
      { id: 0, o: [1] },
      { id: 1, o: [] },
    ]);
    assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Light'), [{ n: 0 }]);
  }));

test('a loaded edge of a UNIDIRECTIONAL type goes with its target', () =>
  withGraph(async (opened) => {
    await opened.run('CREATE EDGE TYPE Follows UNIDIRECTIONAL');
    const loader = opened.database.bulkLoader();
    const { values, ids } = people(0, 2);
    await loader.addRecords({ type: 'Person', columns, values, rowCount: 2, ids });
    await loader.addEdges({
      type: 'Follows',
      columns: [],
      values: [],
      rowCount: 1,
      from: [0],
      to: [1],
    });
    await loader.finish();
    const moves = "SELECT out('Follows').id AS o, in('Follows').id AS i FROM Person ORDER BY id";
    assert.deepEqual(await opened.run(moves), [
      { o: [1], i: [] },
      { o: [], i: [] },
    ]);
    const [check] = await opened.run('CHECK DATABASE');
    assert.deepEqual(check?.['warnings'], []);
    await opened.run('DELETE FROM Person WHERE id = 1');
    assert.deepEqual(await opened.run('SELECT FROM Follows'), []);
  }));
