import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decimal } from '#core/value/decimal.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { double, EmbeddedDocument, type Value, type ValueMap } from '#core/value/value.ts';
import type { Database } from '#database/database.ts';
import { mapWithLinks } from '#database/operations/export/record-json.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';
import { printValue } from '../support/plain-values.ts';

const asker = { principal: root, signal: new AbortController().signal };

/** One record to be: `links` are places of other records in the list. */
interface Planned {
  readonly type: string;
  readonly properties: ValueMap;
  readonly link: number | undefined;
}

interface PlannedGraph {
  readonly records: readonly Planned[];
  readonly edges: readonly {
    readonly from: number;
    readonly to: number;
    readonly properties: ValueMap;
  }[];
}

const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((s) => s.isWellFormed());
const name = fc.oneof(
  fc.constantFrom('a', 'b', '$map', '$date', '__proto__', 'constructor', 'x y', 'é', 'k"q', 'b\\s'),
  fc.stringMatching(/^[a-z]{1,4}$/),
);

const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  fc.double().map(double),
  fc.constantFrom(
    double(4),
    double(-0),
    double(1e20),
    double(1e21),
    double(NaN),
    double(-Infinity),
  ),
  text,
  fc
    .tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.nat(30))
    .map(([u, s]) => new Decimal(u, s)),
  fc.uint8Array({ maxLength: 9 }).map((bytes) => new Uint8Array(bytes)),
  fc.integer({ min: -200_000, max: 200_000 }).map((day) => new LocalDate(day)),
  fc
    .tuple(
      fc.integer({ min: -1e13, max: 1e13 }),
      fc.nat(999_999),
      fc.constantFrom('second', 'millis', 'micros', 'nanos'),
    )
    .map(([ms, nanos, precision]) =>
      precision === 'nanos'
        ? new DateTime(ms, nanos, 'nanos')
        : new DateTime(ms, 0, precision as 'millis'),
    ),
  fc.tuple(fc.integer(), fc.nat(999_999_999)).map(([s, n]) => new Duration(s, n)),
);

const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((pairs): Value => new Map(pairs)),
    fc
      .array(fc.tuple(name, tie('value')), { maxLength: 2 })
      .map((pairs): Value => new EmbeddedDocument('Part', new Map(pairs))),
  ),
})).value;

const properties = fc
  .array(fc.tuple(name, value), { maxLength: 4 })
  .map((pairs): ValueMap => new Map(pairs));

const graph: fc.Arbitrary<PlannedGraph> = fc.record({
  records: fc.array(
    fc.record({
      type: fc.constantFrom('Doc', 'Vertex', 'Vertex'),
      properties,
      link: fc.option(fc.nat(9), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  edges: fc.array(fc.record({ from: fc.nat(20), to: fc.nat(20), properties }), { maxLength: 6 }),
});

async function build(database: Database, { records, edges }: PlannedGraph): Promise<void> {
  const transaction = database.state.begin('READ_COMMITTED');
  const { catalog } = transaction;
  const typeOf = (typeName: string) =>
    catalog.typeNamed(typeName)?.id as NonNullable<ReturnType<typeof catalog.typeNamed>>['id'];
  const made: StoredRecord[] = records.map(({ type, properties: given }, key) => {
    const all = new Map([...given, ['key', key]]) as ValueMap;
    return type === 'Doc'
      ? transaction.insertDocument(typeOf('Doc'), all)
      : transaction.insertVertex(typeOf('Vertex'), all);
  });
  const vertices = made.filter(({ kind }) => kind === 'vertex');
  records.forEach(({ link, properties: given }, key) => {
    const target = link === undefined ? undefined : made[link % made.length];
    const own = made[key];
    if (target === undefined || own === undefined) return;
    const links = new Map<string, Value>([
      ...given,
      ['key', key],
      ['to', new Link(target.rid)],
      ['deep', [new Map([['l', new Link(target.rid)]])]],
    ]);
    transaction.update(own.rid, links);
  });
  edges.forEach(({ from, to, properties: given }, key) => {
    if (vertices.length === 0) return;
    const ends = [vertices[from % vertices.length], vertices[to % vertices.length]] as [
      StoredRecord,
      StoredRecord,
    ];
    transaction.insertEdge(
      typeOf('Edge'),
      ends[0].rid,
      ends[1].rid,
      new Map([...given, ['key', key]]),
    );
  });
  await transaction.commit();
}

/** Everything that is stored, with the keys of records in place of their ids. */
function described(database: Database): string[] {
  using view = database.state.view();
  const keyOf = (rid: Rid): string => {
    const record = view.record(rid);
    return record === undefined ? 'gone' : `${record.typeName}/${String(record.get('key'))}`;
  };
  const lines: string[] = [];
  for (const type of view.catalog.types()) {
    for (const bucket of type.buckets) {
      const cursor = view.scan(bucket, 'ascending');
      for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
        const held = new Map<string, Value>();
        for (const property of record.propertyNames())
          held.set(property, record.get(property) ?? null);
        // Names of keys stand for links, so that equal graphs print equally.
        const renamed = mapWithLinks(
          held,
          (link) => ({ toString: () => keyOf(link.rid) }) as unknown as Link,
        );
        const shown = [...renamed].map(([n, v]) => `${n}=${shownValue(v)}`).sort();
        const ends = record.kind === 'edge' ? ` ${keyOf(record.out)}->${keyOf(record.in)}` : '';
        lines.push(`${type.name}${ends} ${shown.join(', ')}`);
      }
    }
  }
  return lines.sort();
}

function shownValue(v: Value): string {
  if (Array.isArray(v)) return `[${(v as readonly Value[]).map(shownValue).join(',')}]`;
  if (v instanceof Map)
    return `{${[...(v as ValueMap)].map(([n, i]) => `${n}:${shownValue(i)}`).join(',')}}`;
  if (v instanceof EmbeddedDocument) return `${v.typeName}${shownValue(v.properties)}`;
  if (typeof v === 'object' && v !== null && !('valueKind' in v) && !(v instanceof Uint8Array))
    return String(v);
  return `${v instanceof DateTime ? v.precision : ''}${v instanceof DateTime ? v.nanosOfMs : ''}${printValue(v)}`;
}

async function prepare(test: TestDatabase): Promise<void> {
  for (const statement of [
    'CREATE DOCUMENT TYPE Part',
    'CREATE DOCUMENT TYPE Doc',
    'CREATE VERTEX TYPE Vertex',
    'CREATE EDGE TYPE Edge',
    'CREATE PROPERTY Vertex.key LONG',
    'CREATE INDEX ON Vertex (key) UNIQUE',
  ])
    await test.run(statement);
}

async function roundTrip(
  planned: PlannedGraph,
  format: string,
  same: (line: string) => string = (line) => line,
): Promise<void> {
  const test = await openTestDatabase();
  try {
    await prepare(test);
    await build(test.database, planned);
    await test.run(`EXPORT DATABASE file://all.out WITH format = '${format}'`);
    const url = join(test.directory, '.exports', 'all.out');
    await test.operations.importNew('copy', { url, settings: undefined }, asker);
    const copy = described(test.databases.open('copy') as Database)
      .map(same)
      .sort();
    assert.deepEqual(copy, described(test.database));
  } finally {
    await test.close();
  }
}

test('the own format carries every value, link, edge and self loop', async () => {
  await fc.assert(
    fc.asyncProperty(graph, (planned) => roundTrip(planned, 'jsonl')),
    { numRuns: 5 },
  );
});

test('GraphSON carries every value of vertices and edges', async () => {
  const ofVertices = graph.map(({ records, edges }) => ({
    records: records.map((record) => ({ ...record, type: 'Vertex', link: undefined })),
    edges,
  }));
  await fc.assert(
    fc.asyncProperty(ofVertices, (planned) =>
      roundTrip(planned, 'graphson', (line) =>
        line.replace(/(, |(?<= ))_id="#\d+:\d+"(, )?/, '$1'),
      ),
    ),
    { numRuns: 3 },
  );
});
