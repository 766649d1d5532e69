import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { typeCheckFor } from '#query/operators/scan/type-check.ts';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

// What knows of types beside scans and counts, after a node has other labels: rights, events, triggers, views, links, searches,
// TRUNCATE, EXPORT, backups, scripts, and two sessions at once. labels.test.ts has the rest.

const asker = { principal: root, signal: new AbortController().signal };

async function opened(
  work: (
    db: TestDatabase,
    cypher: (text: string, session?: string) => Promise<unknown[]>,
  ) => Promise<void>,
  options: Parameters<typeof openTestDatabase>[0] = {},
): Promise<void> {
  const db = await openTestDatabase(options);
  const cypher = async (text: string, sessionId?: string): Promise<unknown[]> => [
    ...(await db.run(text, {}, sessionId === undefined ? {} : { sessionId }, 'cypher')),
  ];
  try {
    await work(db, cypher);
  } finally {
    await db.close();
  }
}

async function requireSound(db: TestDatabase): Promise<void> {
  const [report] = await db.run('CHECK DATABASE');
  assert.deepEqual(report?.['warnings'] ?? [], [], JSON.stringify(report));
}

test('LINK OF a type takes a node that has become one, and not one that is no more', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE P');
    await db.run('CREATE VERTEX TYPE Q');
    await db.run('CREATE DOCUMENT TYPE H');
    await db.run('CREATE PROPERTY H.p LIST OF P');
    await db.run('CREATE PROPERTY H.q LIST OF Q');
    await cypher('CREATE (:P {k: 1}), (:P {k: 2})');
    await cypher('MATCH (n:P {k: 1}) SET n:Q REMOVE n:P');
    await db.run('INSERT INTO H SET q = (SELECT @rid FROM Q).@rid');
    await assert.rejects(db.run('INSERT INTO H SET p = (SELECT @rid FROM Q).@rid'), {
      message: /contains a record of type 'Q'/,
    });
    const session = db.database.begin(root, 'REPEATABLE_READ');
    await cypher('MATCH (n:P {k: 2}) SET n:Q', session);
    const both =
      'INSERT INTO H SET p = (SELECT @rid FROM Q WHERE k = 2).@rid, q = (SELECT @rid FROM Q).@rid';
    await db.run(both, {}, { sessionId: session });
    await db.database.commit(root, session);
    await requireSound(db);
  }));

test('triggers on UPDATE fire for the type that a node had and for the one that it becomes', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE P');
    await db.run('CREATE VERTEX TYPE Q');
    await db.run('CREATE DOCUMENT TYPE Log');
    const logs = (what: string) =>
      `EXECUTE SQL "INSERT INTO Log SET what = '${what}', t = $record.@type, k = $record.k"`;
    for (const type of ['P', 'Q'])
      for (const timing of ['BEFORE', 'AFTER'])
        await db.run(
          `CREATE TRIGGER t${timing}${type} ${timing} UPDATE ON ${type} ${logs(`${timing} ${type}`)}`,
        );
    await db.run(`CREATE TRIGGER made AFTER CREATE ON Q ${logs('made')}`);
    await db.run(`CREATE TRIGGER gone AFTER DELETE ON P ${logs('gone')}`);
    await cypher('CREATE (:P {k: 1})');
    await cypher('MATCH (n:P) SET n:Q');
    assert.deepEqual(await db.run('SELECT what, t, k FROM Log'), [
      { what: 'BEFORE P', t: 'P~Q', k: 1 },
      { what: 'AFTER P', t: 'P~Q', k: 1 },
    ]);
    await db.run('DELETE FROM Log');
    await cypher('MATCH (n:P) REMOVE n:P');
    assert.deepEqual(await db.run('SELECT what, t, k FROM Log'), [
      { what: 'BEFORE Q', t: 'Q', k: 1 },
      { what: 'AFTER Q', t: 'Q', k: 1 },
    ]);
    await db.run('DELETE FROM Log');
    // What has the labels already is not changed.
    await cypher('MATCH (n:Q) SET n:Q');
    assert.deepEqual(await db.run('SELECT FROM Log'), []);
  }));

test('a trigger BEFORE UPDATE vetoes a label change, or changes what is written', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE P');
    await db.run('CREATE VERTEX TYPE Q');
    await db.run(
      'CREATE TRIGGER v BEFORE UPDATE ON P EXECUTE JAVASCRIPT "if (record.k === 1) return false; record.seen = true"',
    );
    await cypher('CREATE (:P {k: 1}), (:P {k: 2})');
    assert.deepEqual(
      await cypher('MATCH (n:P) SET n:Q RETURN n.k AS k, labels(n) AS l ORDER BY k'),
      [
        { k: 1, l: ['P'] },
        { k: 2, l: ['P', 'Q'] },
      ],
    );
    assert.deepEqual(await cypher('MATCH (n:Q) RETURN n.k AS k, n.seen AS s'), [{ k: 2, s: true }]);
    await db.run(
      'CREATE TRIGGER fails AFTER UPDATE ON P EXECUTE JAVASCRIPT "throw new Error(\'no\')"',
    );
    await db.run('DROP TRIGGER v');
    await assert.rejects(cypher('MATCH (n:P {k: 1}) SET n:R'), /no/);
    assert.deepEqual(await cypher('MATCH (n:P {k: 1}) RETURN labels(n) AS l'), [{ l: ['P'] }]);
    await requireSound(db);
  }));

test('an incremental view follows labels', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE P');
    await db.run('CREATE VERTEX TYPE Q');
    await cypher('CREATE (:P {k: 1}), (:P {k: 2}), (:Q {k: 3})');
    await db.run('CREATE MATERIALIZED VIEW ps AS SELECT k FROM P REFRESH INCREMENTAL');
    await db.run('CREATE MATERIALIZED VIEW qs AS SELECT k FROM Q REFRESH INCREMENTAL');
    const rows = async (name: string) =>
      (await db.run(`SELECT k FROM ${name} ORDER BY k`)).map(({ k }) => k);
    const settled = async (name: string, wanted: readonly number[]) => {
      for (let turn = 0; turn < 200; turn += 1) {
        if ((await rows(name)).join() === wanted.join()) return;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.deepEqual(await rows(name), wanted, name);
    };
    await settled('ps', [1, 2]);
    await settled('qs', [3]);
    await cypher('MATCH (n:P {k: 1}) SET n:Q');
    await settled('qs', [1, 3]);
    await settled('ps', [1, 2]);
    await cypher('MATCH (n {k: 1}) REMOVE n:P');
    await settled('ps', [2]);
    await cypher('MATCH (n:Q {k: 1}) SET n.k = 10');
    await settled('qs', [3, 10]);
    await cypher('MATCH (n:Q {k: 10}) DELETE n');
    await settled('qs', [3]);
    await settled('ps', [2]);
  }));

test('searches find a node by the labels that it has', () =>
  opened(async (db, cypher) => {
    for (const type of ['P', 'Q']) await db.run(`CREATE VERTEX TYPE ${type}`);
    await db.run('CREATE PROPERTY Q.text STRING');
    await db.run('CREATE INDEX ON Q (text) FULL_TEXT');
    await db.run('CREATE PROPERTY Q.place STRING');
    await db.run('CREATE INDEX ON Q (place) GEOSPATIAL');
    await db.run('CREATE PROPERTY Q.v ARRAY_OF_FLOATS');
    await db.run(
      'CREATE INDEX ON Q (v) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN"}',
    );
    await db.run('CREATE PROPERTY Q.i ARRAY_OF_INTEGERS');
    await db.run('CREATE PROPERTY Q.w ARRAY_OF_FLOATS');
    await db.run('CREATE INDEX ON Q (i, w) LSM_SPARSE_VECTOR');
    for (const k of [1, 2])
      await db.run(
        `CREATE VERTEX ${k === 1 ? 'P' : 'Q'} SET k = ${k}, text = 'green apple', place = 'POINT (1 1)', v = [1.0, 1.0], i = [5], w = [1.0]`,
      );
    const searches = [
      "SELECT k FROM Q WHERE SEARCH_INDEX('Q[text]', 'apple') = true",
      "SELECT k FROM Q WHERE geo.intersects(place, geo.geomFromText('POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))')) = true",
      "SELECT k FROM (SELECT expand(vector.neighbors('Q[v]', [1.0, 1.0], 10)))",
      "SELECT k FROM (SELECT expand(vector.sparseNeighbors('Q[i,w]', [5], [1.0], 10)))",
    ];
    const found = async (wanted: readonly number[], session?: string) => {
      for (const search of searches) {
        const rows = await db.run(search, {}, session === undefined ? {} : { sessionId: session });
        assert.deepEqual(rows.map(({ k }) => Number(k)).sort(), wanted, search);
      }
    };
    await found([2]);
    await cypher('MATCH (n:P) SET n:Q');
    await found([1, 2]);
    await cypher('MATCH (n:P) REMOVE n:P');
    await found([1, 2]);
    const session = db.database.begin(root, 'REPEATABLE_READ');
    await cypher('MATCH (n:Q {k: 1}) SET n:P REMOVE n:Q', session);
    await found([2], session);
    await found([1, 2]);
    await db.database.commit(root, session);
    await found([2]);
    await db.reopen();
    await found([2]);
    await cypher('MATCH (n:P) SET n:Q');
    await db.run('REBUILD INDEX *');
    await found([1, 2]);
    await requireSound(db);
  }));

test('a search of one label leaves out nodes of others, which lie beside them', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE Base');
    await db.run('CREATE PROPERTY Base.v ARRAY_OF_FLOATS');
    await db.run('CREATE PROPERTY Base.i ARRAY_OF_INTEGERS');
    await db.run('CREATE PROPERTY Base.w ARRAY_OF_FLOATS');
    await db.run(
      'CREATE INDEX ON Base (v) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN"}',
    );
    await db.run('CREATE INDEX ON Base (i, w) LSM_SPARSE_VECTOR');
    await db.run('CREATE VERTEX TYPE P EXTENDS Base');
    await db.run('CREATE VERTEX TYPE Q EXTENDS Base');
    for (const k of [1, 2, 3])
      await db.run(`CREATE VERTEX P SET k = ${k}, v = [1.0, ${k}.0], i = [5], w = [1.0]`);
    await cypher('MATCH (n:P {k: 2}) SET n:Q REMOVE n:P');
    for (const type of ['P', 'Q'])
      for (const search of [
        `SELECT k, @type AS t FROM (SELECT expand(vector.neighbors('${type}[v]', [1.0, 1.0], 10)))`,
        `SELECT k, @type AS t FROM (SELECT expand(vector.sparseNeighbors('${type}[i,w]', [5], [1.0], 10)))`,
      ]) {
        const rows = await db.run(search);
        assert.deepEqual(
          rows.map(({ k }) => Number(k)).sort(),
          type === 'P' ? [1, 3] : [2],
          search,
        );
      }
  }));

test('TRUNCATE of a type, or of a bucket, takes the nodes that are of it now', () =>
  opened(async (db, cypher) => {
    for (const type of ['P', 'Q']) await db.run(`CREATE VERTEX TYPE ${type}`);
    await db.run('CREATE PROPERTY P.k LONG');
    await db.run('CREATE INDEX ON P (k) UNIQUE');
    await cypher('CREATE (:P {k: 1}), (:P {k: 2}), (:P {k: 3}), (:Q {k: 4})');
    await cypher('MATCH (n:P {k: 1}) SET n:Q REMOVE n:P');
    await cypher('MATCH (n:P {k: 2}) SET n:Q');
    await db.run('TRUNCATE TYPE Q UNSAFE');
    assert.deepEqual(await cypher('MATCH (n) RETURN n.k AS k, labels(n) AS l ORDER BY k'), [
      { k: 2, l: ['P', 'Q'] },
      { k: 3, l: ['P'] },
    ]);
    await requireSound(db);
    await db.run('TRUNCATE TYPE P UNSAFE');
    assert.deepEqual(await cypher('MATCH (n) RETURN n.k AS k'), [{ k: 2 }]);
    await requireSound(db);
    await cypher('MATCH (n) REMOVE n:Q');
    const [{ buckets } = { buckets: [] }] = (await db.run(
      "SELECT buckets FROM schema:types WHERE name = 'P'",
    )) as { buckets: string[] }[];
    for (const bucket of buckets) await db.run(`TRUNCATE BUCKET \`${bucket}\` UNSAFE`);
    assert.deepEqual(await cypher('MATCH (n) RETURN n.k AS k'), []);
    await requireSound(db);
  }));

test('an export, in each form, and a backup hold the labels, and no windows', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE P');
    await cypher("CREATE (:P {k: 1})-[:K]->(:P {k: 2}), (:P {k: 3, at: localtime('12:00')})");
    await cypher('MATCH (n:P {k: 1}) SET n:Q:`a~b`');
    await cypher('MATCH (n:P {k: 2}) SET n:Q REMOVE n:P');
    await cypher('MATCH (n:P {k: 3}) REMOVE n:P');
    const labels =
      'MATCH (n) OPTIONAL MATCH (n)-->(m) RETURN n.k AS k, labels(n) AS l, m.k AS m ORDER BY k';
    const wanted = await cypher(labels);
    assert.deepEqual(wanted, [
      { k: 1, l: ['P', 'Q', 'a~b'], m: 2 },
      { k: 2, l: ['Q'], m: null },
      { k: 3, l: [], m: null },
    ]);
    const same = async (name: string) =>
      assert.deepEqual(await runCypherOn(db, name, labels), wanted, name);
    const [row] = await db.run('EXPORT DATABASE file://all.jsonl.tgz');
    await db.databases.create('imported');
    await db.runOn('imported', `IMPORT DATABASE '${exportPath(db, row)}'`);
    await same('imported');
    const windows = (await db.runOn('imported', 'SELECT name FROM schema:buckets')).map(
      ({ name }) => String(name),
    );
    assert.deepEqual(
      windows.filter((name) => name.includes('@')),
      [],
    );
    const [backup] = await db.run('BACKUP DATABASE');
    const file = join(db.directory, '.backups', 'test', String(backup?.['backupFile']));
    await db.operations.restore('restored', { url: `file://${file}` }, asker);
    await same('restored');
    await db.runOn('restored', 'CHECK DATABASE');
  }));

function exportPath(db: TestDatabase, row: Readonly<Record<string, unknown>> | undefined): string {
  const text = JSON.stringify(row);
  const places = [
    join(db.directory, 'exports', 'all.jsonl.tgz'),
    join(db.directory, '.exports', 'all.jsonl.tgz'),
    join(db.directory, 'exports', 'test', 'all.jsonl.tgz'),
  ];
  const found = places.find((path) => existsSync(path));
  assert(found, text);
  assert(readFileSync(found).length > 0);
  return `file://${found}`;
}

async function runCypherOn(db: TestDatabase, name: string, text: string): Promise<unknown[]> {
  const result = await db.databases
    .open(name)
    .run(
      { language: 'cypher', text, parameters: new Map() },
      { ...asker, mustBeIdempotent: false },
    );
  const rows: unknown[] = [];
  for (
    let batch = await result.nextBatch();
    batch !== undefined;
    batch = await result.nextBatch()
  ) {
    const { shape } = result;
    assert(shape.kind === 'columns');
    const width = shape.names.length;
    for (let at = 0; at < batch.rowCount; at += 1)
      rows.push(
        Object.fromEntries(shape.names.map((column, i) => [column, batch.values[at * width + i]])),
      );
  }
  result.close();
  return rows;
}

test('subscribers are told of a label change as of an update, by the type that it is then', () =>
  opened(async (db, cypher) => {
    await db.run('CREATE VERTEX TYPE P');
    await db.run('CREATE VERTEX TYPE Q');
    const told: string[] = [];
    const leave = db.database.changes.subscribe({
      wants: () => true,
      lost: () => assert.fail('nothing is lost'),
      changed: ({ kind, record }) =>
        void told.push(`${kind} ${record.typeName} ${String(record.get('k'))}`),
      pass: async () => {},
      ended: () => {},
    });
    await cypher('CREATE (:P {k: 1})');
    await cypher('MATCH (n:P) SET n:Q');
    await cypher('MATCH (n:Q) REMOVE n:P');
    await cypher('MATCH (n:Q) DELETE n');
    const session = db.database.begin(root, 'REPEATABLE_READ');
    await cypher('CREATE (n:P {k: 2}) SET n:Q', session);
    await db.database.rollback(root, session);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    leave();
    assert.deepEqual(told, ['create P 1', 'update P~Q 1', 'update Q 1', 'delete Q 1']);
  }));

const clerk: Principal = { name: 'clerk', isRoot: false, via: 'password' };
const byType: Authorizer = {
  require(who, _database, { effects, types }) {
    if (who.isRoot || effects.has('schema')) return;
    if (types === undefined || types.includes('Secret'))
      throw new DatabaseError('Forbidden', `${[...effects].join()} ${types?.join() ?? 'anything'}`);
  },
  canAccess: () => true,
  canRead: (who, _database, type) => who.isRoot || (type !== undefined && type !== 'Secret'),
};

test('a reader of one type does not see a node that is no longer of it', () =>
  opened(
    async (db, cypher) => {
      for (const type of ['P', 'Secret']) await db.run(`CREATE VERTEX TYPE ${type}`);
      await db.run('CREATE EDGE TYPE K');
      await cypher('CREATE (:P {k: 1})-[:K]->(:P {k: 2}), (:Secret {k: 3})');
      await cypher('MATCH (n:P {k: 2}) SET n:Secret REMOVE n:P');
      await cypher('MATCH (n:Secret {k: 3}) SET n:P REMOVE n:Secret');
      const [{ r } = { r: '' }] = (await db.run('SELECT @rid.asString() AS r FROM Secret')) as {
        r: string;
      }[];
      const [{ o } = { o: '' }] = (await db.run(
        'SELECT @rid.asString() AS o FROM P WHERE k = 3',
      )) as { o: string }[];
      const ask = (text: string, language = 'sql') =>
        db.run(text, {}, { principal: clerk }, language);
      assert.deepEqual(await ask('SELECT k FROM P ORDER BY k'), [{ k: 1 }, { k: 3 }]);
      assert.deepEqual(await ask(`SELECT k FROM ${o}`), [{ k: 3 }]);
      for (const text of [
        `SELECT k FROM ${r}`,
        "SELECT out('K').k AS k FROM P WHERE k = 1",
        `SELECT k FROM [${r}]`,
        `UPDATE ${r} SET k = 5`,
        `DELETE FROM ${r}`,
      ]) {
        const rows = await ask(text).catch((error: unknown) => {
          assert(
            error instanceof DatabaseError && error.code === 'Forbidden',
            `${text}: ${String(error)}`,
          );
          return [];
        });
        assert(!JSON.stringify(rows).includes('2'), `${text}: ${JSON.stringify(rows)}`);
      }
      assert.deepEqual(await db.run('SELECT k FROM Secret'), [{ k: 2 }]);
      await assert.rejects(ask('MATCH (n:P {k: 1}) SET n:Secret REMOVE n:P', 'cypher'), {
        code: 'Forbidden',
      });
      assert.deepEqual(await cypher('MATCH (n:P {k: 1}) RETURN labels(n) AS l'), [{ l: ['P'] }]);
    },
    { authorizer: byType },
  ));

test('two sessions at once: one label made by both, and one node changed by both', () =>
  opened(async (db, cypher) => {
    await cypher('CREATE (:P {k: 1}), (:P {k: 2})');
    const one = db.database.begin(root, 'REPEATABLE_READ');
    const two = db.database.begin(root, 'REPEATABLE_READ');
    await Promise.all([
      cypher('MATCH (n:P {k: 1}) SET n:New', one),
      cypher('MATCH (n:P {k: 2}) SET n:New', two),
    ]);
    await Promise.all([db.database.commit(root, one), db.database.commit(root, two)]);
    assert.deepEqual(await cypher('MATCH (n:New) RETURN count(*) AS n'), [{ n: 2 }]);
    const three = db.database.begin(root, 'REPEATABLE_READ');
    const four = db.database.begin(root, 'REPEATABLE_READ');
    await cypher('MATCH (n:P {k: 1}) SET n:X', three);
    await cypher('MATCH (n:P {k: 1}) SET n:Y REMOVE n:P', four);
    await db.database.commit(root, three);
    await assert.rejects(db.database.commit(root, four), { code: 'ConcurrentModification' });
    assert.deepEqual(await cypher('MATCH (n {k: 1}) RETURN labels(n) AS l'), [
      { l: ['New', 'P', 'X'] },
    ]);
    await requireSound(db);
  }));

test('counts of steps by label, over buckets whose rows are all of it and over mixed ones', () =>
  opened(async (db, cypher) => {
    for (const type of ['P', 'Q']) await db.run(`CREATE VERTEX TYPE ${type}`);
    await db.run('CREATE EDGE TYPE K');
    const count = 600;
    const edges = Array.from({ length: 4_000 }, (_, at) => [
      (at * 7_919) % count,
      (at * 104_729 + (at >> 5)) % count,
    ]);
    const loader = db.database.bulkLoader();
    const ids = Array.from({ length: count }, (_, k) => k);
    await loader.addRecords({ type: 'P', columns: ['k'], values: ids, rowCount: count, ids });
    await loader.addEdges({
      type: 'K',
      columns: [],
      values: [],
      rowCount: edges.length,
      from: edges.map(([from]) => Number(from)),
      to: edges.map(([, to]) => Number(to)),
    });
    await loader.finish();
    const isP = (k: number | undefined) => k !== undefined && (!hasMoved || k % 3 !== 0);
    let hasMoved = false;
    const requireCounts = async () => {
      const degree = new Map<number, number>();
      for (const [from, to] of edges)
        if (isP(to)) degree.set(Number(from), (degree.get(Number(from)) ?? 0) + 1);
      const paths = edges
        .filter(([from, to]) => isP(from) && isP(to))
        .reduce((sum, [, to]) => sum + (degree.get(Number(to)) ?? 0), 0);
      // A node with a loop walks the same edge twice, which SQL counts and Cypher does not.
      const loops = edges.filter(([from, to]) => from === to && isP(from)).length;
      const sql =
        'MATCH {type: P, as: a}-K->{type: P, as: b}-K->{type: P, as: c} RETURN count(*) AS n';
      assert.deepEqual(await db.run(sql), [{ n: paths }]);
      assert.deepEqual(await cypher('MATCH (:P)-[:K]->(:P)-[:K]->(:P) RETURN count(*) AS n'), [
        { n: paths - loops },
      ]);
      const hop =
        'MATCH {type: P, as: a}-K->{type: P, as: b, where: (k < 300)} RETURN count(*) AS n';
      const steps = edges.filter(([from, to]) => isP(from) && isP(to) && Number(to) < 300).length;
      assert.deepEqual(await db.run(hop), [{ n: steps }]);
    };
    const [bucket] = db.database.state.catalog.typeNamed('P')?.buckets ?? [];
    assert(bucket !== undefined);
    const takesAll = () => {
      const { catalog } = db.database.state;
      const type = catalog.typeNamed('P');
      assert(type);
      const types = catalog.types().filter(({ id }) => catalog.isSubtype(id, type.id));
      return typeCheckFor(
        types.map(({ id }) => id),
        catalog,
      )?.takesAll(bucket);
    };
    await requireCounts();
    await cypher('MATCH (n:P {k: 1}) SET n:Extra');
    assert.equal(takesAll(), true, 'what has more labels is one of P as well');
    await requireCounts();
    await cypher('MATCH (n:P) WHERE n.k % 3 = 0 SET n:Q REMOVE n:P');
    hasMoved = true;
    assert.equal(takesAll(), false);
    await requireCounts();
    await requireSound(db);
  }));

test('labels in scripts are refused by name', () =>
  opened(async (db, cypher) => {
    await cypher('CREATE (:P {k: 1})');
    await db.run('CREATE DOCUMENT TYPE Note');
    await db.run(
      `CREATE TRIGGER labels AFTER CREATE ON Note EXECUTE JAVASCRIPT "database.command('cypher', 'MATCH (n:P) SET n:Fresh')"`,
    );
    await assert.rejects(db.run('INSERT INTO Note SET x = 1'), {
      message: /not supported: language 'cypher' in a script/,
    });
    assert.deepEqual(await cypher('MATCH (n) RETURN labels(n) AS l'), [{ l: ['P'] }]);
    await requireSound(db);
  }));
