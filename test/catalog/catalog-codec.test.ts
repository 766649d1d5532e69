import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeCatalog, encodeCatalog } from '#catalog/catalog-codec.ts';
import { decodeValue, encodeValue } from '#catalog/value-document.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { emptyCatalog } from '#catalog/catalog-value.ts';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid, type TypeId } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { double, EmbeddedDocument, Float, integer, type Value } from '#core/value/value.ts';
import { catalogAfter, index, property, type } from './catalog-builder.ts';

// Goal: what is written to the schema document comes back, whatever the names are.

const names = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', '"', '\\', 'a b', '😀'),
  fc
    .string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' })
    .filter((name) => !name.startsWith('@')),
);

const scalars: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom<Value>(null, true, new Float(-0), new Float(4), Number.NaN),
  fc.string(),
  fc.double().map((n) => double(n)),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(integer),
  fc.uint8Array(),
  fc.tuple(fc.bigInt(), fc.nat(20)).map(([n, scale]) => new Decimal(n, scale)),
  fc.integer().map((day) => new LocalDate(day)),
  fc.tuple(fc.integer(), fc.nat(999_999)).map(([ms, n]) => new DateTime(ms, n, 'nanos')),
  fc.tuple(fc.integer(), fc.nat(999_999_999)).map(([s, n]) => new Duration(s, n)),
  fc.nat(60_000).map((n) => new Link(makeRid(n, n))),
);

const values = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map((pairs) => new Map(pairs)),
    fc.tuple(names, tie('value')).map(([n, v]) => new EmbeddedDocument(n, new Map([[n, v]]))),
  ),
})).value;

test('every value survives the schema document', () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = JSON.stringify(encodeValue(value));
      assert.deepEqual(decodeValue(JSON.parse(text)), value);
    }),
    { numRuns: 200 },
  );
});

/** A trigger, a function and a view whose names and texts hold the name. */
function definitionsNamed(name: string, at: number): readonly SchemaChange[] {
  const view = `view ${name}`;
  return [
    {
      kind: 'create-trigger',
      name,
      ifNotExists: false,
      timing: 'BEFORE',
      event: 'READ',
      type: name,
      language: 'SQL',
      action: `SELECT ${name}`,
    },
    {
      kind: 'define-function',
      // Names of functions that differ in letter case only are one.
      library: `library ${at}`,
      name,
      parameters: [name],
      language: 'sql',
      body: name,
    },
    {
      kind: 'create-view',
      name: view,
      ifNotExists: false,
      query: name,
      refreshMode: 'PERIODIC',
      refreshIntervalMs: 1000,
      isSimple: true,
      sourceTypes: [name],
      readsAnyType: false,
      bucketCount: undefined,
    },
  ];
}

test('a catalog survives its document, hostile names included', () => {
  fc.assert(
    fc.property(fc.uniqueArray(names, { minLength: 1, maxLength: 5 }), scalars, (all, value) => {
      const changes = all.flatMap((name, at): SchemaChange[] => [
        type('vertex', name, { bucketCount: 2, custom: new Map([[name, value]]) }),
        property([name, name], 'LONG', [{ name: 'min', value: 1 }]),
        index(name, [name], { unique: true }),
        ...definitionsNamed(name, at),
      ]);
      const catalog = catalogAfter(changes);
      const decoded = decodeCatalog(encodeCatalog(catalog));
      assert.deepEqual(decoded.parts, catalog.parts);
      assert.deepEqual(encodeCatalog(decoded), encodeCatalog(catalog));
      for (const name of all) {
        const id = decoded.typeNamed(name)?.id as TypeId;
        assert.equal(decoded.property(id, name)?.type, 'LONG');
        assert.equal(decoded.indexesOn(id).length, 1);
        assert.equal(decoded.definitions.hooks(id)?.beforeRead.length, 1);
        assert.equal(decoded.definitions.view(`view ${name}`)?.query, name);
      }
    }),
    { numRuns: 50 },
  );
});

test('the document of an empty catalog is fixed', () => {
  assert.equal(
    Buffer.from(encodeCatalog(emptyCatalog())).toString(),
    '{"format":1,"version":0,"nextTypeId":1,"nextBucketId":1,"nextIndexId":1,"propertyNames":[],"buckets":[],"types":[],"indexes":[]}',
  );
});

test('bytes that are no schema document are refused', () => {
  for (const text of ['', '{', '[]', '{"format":2,"types":[]}', '{"types":[]}']) {
    assert.throws(() => decodeCatalog(Buffer.from(text)), { code: 'CorruptedRecord' });
  }
});

test('subtypes inherit properties and indexes, their own declaration wins', () => {
  const catalog = catalogAfter([
    type('vertex', 'Sub0'),
    property('Sub0.n', 'LONG', [{ name: 'max', value: 5 }]),
    type('vertex', 'Base'),
    property('Base.n', 'LONG'),
    property('Base.m', 'STRING'),
    index('Base', ['m'], { unique: true }),
    { kind: 'alter-type', name: 'Sub0', items: [{ kind: 'supertype', add: ['Base'], remove: [] }] },
    type('vertex', 'Sub1', { supertypes: ['Sub0'] }),
  ]);
  const id = (name: string) => catalog.typeNamed(name)?.id as TypeId;
  assert.equal(catalog.property(id('Sub1'), 'n')?.max, 5);
  assert.equal(catalog.property(id('Sub1'), 'm')?.declaredBy, id('Base'));
  assert.deepEqual(catalog.withSubtypes(id('Base')), [id('Sub0'), id('Base'), id('Sub1')]);
  assert.deepEqual(
    catalog.indexesOn(id('Sub1')).map((i) => i.name),
    ['Base[m]'],
  );
  assert.equal(catalog.isSubtype(id('Sub1'), id('Base')), true);
  assert.equal(catalog.isSubtype(id('Base'), id('Sub1')), false);
});
