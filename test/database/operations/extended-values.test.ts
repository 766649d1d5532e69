// Values of every kind in a database: written, indexed, reopened, exported and imported, backed up and restored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CypherDuration, LocalDateTime, LocalTime } from '#core/temporal/instants.ts';
import { atZone, parseZone } from '#core/temporal/zones.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { makePoint } from '#core/value/point.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import type { Database } from '#database/database.ts';
import { arbitraryZonedDateTime } from '../../core/arbitrary-extended.ts';
import { kinds } from '../../storage/kinds.ts';
import { openTestDatabase, root } from '../support/open-test-database.ts';

const asker = { principal: root, signal: new AbortController().signal };

/** Of every kind that stands in a record; a record itself is a link there. */
const values: readonly Value[] = Object.entries(kinds).flatMap(([kind, arbitrary]) => {
  const some: fc.Arbitrary<Value> = arbitrary;
  return kind === 'record' ? [] : fc.sample(some, { numRuns: 8, seed: 5 });
});

/** What `T.v` holds, by `T.k`. */
function held(database: Database): ReadonlyMap<number, Value> {
  using view = database.state.view();
  const found = new Map<number, Value>();
  const type = view.catalog.typeNamed('T');
  for (const bucket of type?.buckets ?? []) {
    const cursor = view.scan(bucket, 'ascending');
    for (let record = cursor.next(); record !== undefined; record = cursor.next())
      found.set(Number(record.get('k')), record.get('v') ?? null);
  }
  return found;
}

/** @param isImported records have other ids there: these links lead nowhere */
function assertHolds(database: Database, isImported = false): void {
  const found = held(database);
  assert.equal(found.size, values.length);
  values.forEach((value, k) => {
    if (isImported && (kindOf(value) === 'link' || kindOf(value) === 'path')) return;
    const [one, [two, map]] = found.get(k) as [Value, [Value, ReadonlyMap<string, Value>]];
    assert(valuesEqual(one, value) && valuesEqual(two, value), `the value ${k}`);
    assert(valuesEqual(map.get('__proto__') ?? null, value), `the value ${k} in a map`);
  });
}

test('they come back from disk, from exports and from backups', async () => {
  const database = await openTestDatabase();
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    await database.run('CREATE PROPERTY T.k LONG');
    for (const [k, v] of values.entries())
      await database.run('INSERT INTO T SET k = :k, v = :v', {
        k,
        v: [v, [v, new Map([['__proto__', v]])]],
      });
    assertHolds(database.database);
    await database.reopen();
    assertHolds(database.database);
    await database.run('EXPORT DATABASE file://all.out');
    const [backup] = await database.run('BACKUP DATABASE');
    const archive = `${database.directory}/.backups/test/${String(backup?.['backupFile'])}`;
    await database.operations.restore('copy', { url: `file://${archive}` }, asker);
    assertHolds(database.databases.open('copy') as Database);
    const url = `${database.directory}/.exports/all.out`;
    await database.operations.importNew('other', { url, settings: undefined }, asker);
    assertHolds(database.databases.open('other') as Database, true);
    const [checked] = await database.run('CHECK DATABASE');
    assert.equal(checked?.['errors'] ?? 0, 0);
  } finally {
    await database.close();
  }
});

test('an index finds and orders them', async () => {
  const database = await openTestDatabase();
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    await database.run('CREATE PROPERTY T.list LIST');
    await database.run('CREATE INDEX ON T (list BY ITEM) UNIQUE');
    const moments = fc.sample(arbitraryZonedDateTime, { numRuns: 30, seed: 3 });
    const distinct = moments.filter(
      (a, at) => !moments.slice(0, at).some((b) => valuesEqual(a, b)),
    );
    for (const [k, v] of distinct.entries())
      await database.run('INSERT INTO T SET k = :k, v = :v, list = [:v]', { k, v });
    for (const [k, v] of distinct.entries()) {
      const found = await database.print('SELECT k FROM T WHERE list CONTAINS :v', { v });
      assert.equal(found, `{k: ${k}}`);
    }
    const again = { v: distinct[0] ?? null };
    await assert.rejects(database.run('INSERT INTO T SET list = [:v]', again), {
      code: 'DuplicatedKey',
    });
    const sorted = await database.run('SELECT k FROM T ORDER BY v');
    const wanted = [...distinct.keys()].sort((a, b) =>
      compareValues(distinct[a] as Value, distinct[b] as Value),
    );
    assert.deepEqual(
      sorted.map((row) => row['k']),
      wanted,
    );
  } finally {
    await database.close();
  }
});

test('a property of a type of SQL takes the moment of a datetime', async () => {
  const database = await openTestDatabase();
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    await database.run('CREATE PROPERTY T.at DATETIME');
    await database.run('CREATE PROPERTY T.day DATE');
    const zoned = atZone(0, 3_600_000_000_000, parseZone('+02:00'));
    await database.run('INSERT INTO T SET at = :v, day = :v', { v: zoned });
    assert.equal(
      await database.print('SELECT at, day FROM T'),
      '{at: datetime 1969-12-31 23:00:00, day: date 1970-01-01}',
    );
    await assert.rejects(
      database.run('INSERT INTO T SET at = :v', { v: new LocalDateTime(365_241_780_471, 0) }),
      { code: 'IllegalArgument' },
    );
    await assert.rejects(database.run('INSERT INTO T SET at = :v', { v: new LocalTime(0) }));
    const types: readonly Value[] = [new CypherDuration(1, 2, 3, 4), makePoint(4326, 1, 2, 0)];
    for (const v of types) await database.run('INSERT INTO T SET other = :v', { v });
    assert.equal(
      await database.print(
        'SELECT other.type() AS t, other.asString() AS s FROM T WHERE other IS DEFINED',
      ),
      '{t: "DURATION", s: "P1M2DT3.000000004S"}\n{t: "POINT", s: "point({longitude: 1.0, latitude: 2.0, crs: \'wgs-84\'})"}',
    );
  } finally {
    await database.close();
  }
});
