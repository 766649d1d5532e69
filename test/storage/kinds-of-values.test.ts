// Every kind of value through every operation on values: a new kind or operation fails to compile until it stands here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeValue, encodeValue } from '#catalog/value-document.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { compareForCypher } from '#core/value/cypher-order.ts';
import { valueKey, valuesEqual } from '#core/value/equality.ts';
import { parseJson } from '#core/value/json-value.ts';
import { compareForSort } from '#core/value/sort-order.ts';
import { isList, isMap, kindOf, type Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import { storedValue, valueJson } from '#database/operations/export/record-json.ts';
import { JsonWriter, NameCache } from '#http/answer/json-writer.ts';
import { valueInPieces } from '#http/answer/json-pieces.ts';
import { cypherEquals } from '#query/evaluate/comparison/cypher-comparison.ts';
import { viewOf } from '#storage/format/bytes.ts';
import { ByteWriter } from '#storage/format/byte-writer.ts';
import { OrderedKeyWriter } from '#storage/format/ordered-key.ts';
import { ValueReader, writeValue } from '#storage/format/value-codec.ts';
import { kinds } from './kinds.ts';
import { arbitraryZonedDateTime } from '../core/arbitrary-extended.ts';

function stored(value: Value): Value {
  const out = new ByteWriter(64);
  writeValue(out, value);
  const bytes = out.take();
  const reader = new ValueReader({ bytes, view: viewOf(bytes) }, 0);
  const back = reader.value();
  assert.equal(reader.position, bytes.length, 'all of it is read');
  return back;
}

function keyOf(value: Value): Buffer {
  const writer = new OrderedKeyWriter();
  writer.component(value);
  return Buffer.from(writer.take());
}

function jsonOf(value: Value): string {
  const writer = new JsonWriter(defaultTemporalFormats, 1024, new NameCache());
  writer.value(value);
  return writer.take(0).toString();
}

function jsonInPieces(value: Value): string {
  const writer = new JsonWriter(defaultTemporalFormats, 1024, new NameCache());
  for (const _ of valueInPieces(writer, value));
  return writer.take(0).toString();
}

/** -1, 0 or 1; never -0. */
const sign = (order: number) => Math.sign(order) + 0;
/** As a Map tells keys apart. */
const isSameKey = (a: Value, b: Value) => new Set([valueKey(a)]).has(valueKey(b));
/** A NaN is equal to nothing in the language. */
const isNaNValue = (value: Value) => typeof value === 'number' && Number.isNaN(value);
/** A record comes back as a link to it. */
const isSame = (value: Value, back: Value) =>
  valuesEqual(value, back) && (kindOf(value) === 'record' || kindOf(value) === kindOf(back));

/** What each operation promises of a value and of another one of the same kind. */
const operations = {
  equality: (a, b) => {
    assert(valuesEqual(a, a));
    assert.equal(valuesEqual(a, b), valuesEqual(b, a));
  },
  'equality of cypher': (a, b) => {
    const [item] = isList(a) ? a : [a];
    if (item !== null && !isNaNValue(item ?? 0)) assert.equal(cypherEquals(a, a), true);
    else if (!isList(a)) assert.notEqual(cypherEquals(a, a), true);
    assert.equal(cypherEquals(a, b), cypherEquals(b, a));
  },
  'hash key': (a, b) => assert.equal(isSameKey(a, b), valuesEqual(a, b)),
  order: (a, b) => {
    assert.equal(compareValues(a, b) === 0, valuesEqual(a, b));
    assert.equal(sign(compareValues(a, b)), sign(-compareValues(b, a)));
  },
  'order of SQL': (a, b) => assert.equal(sign(compareForSort(a, b)), sign(-compareForSort(b, a))),
  'order of cypher': (a, b) => {
    assert.equal(compareForCypher(a, b) === 0, valuesEqual(a, b));
    assert.equal(sign(compareForCypher(a, b)), sign(-compareForCypher(b, a)));
  },
  'stored form': (a) => assert(isSame(a, stored(a))),
  'index key': (a, b) => {
    const order = Buffer.compare(keyOf(a), keyOf(b));
    assert.equal(order, sign(compareValues(a, b)), 'keys order as values');
  },
  text: (a) => assert.equal(typeof textOf(a, defaultTemporalFormats), 'string'),
  'JSON of answers': (a) => {
    JSON.parse(jsonOf(a));
    assert.equal(jsonInPieces(a), jsonOf(a));
  },
  export: (a) =>
    assert(
      isSame(
        a,
        storedValue(parseJson(valueJson(a)), () => {}),
      ),
    ),
  'schema document': (a) => {
    if (kindOf(a) === 'record') return; // a schema names none
    assert(isSame(a, decodeValue(JSON.parse(JSON.stringify(encodeValue(a))))));
  },
} satisfies Record<string, (a: Value, b: Value) => void>;

for (const [name, check] of Object.entries(operations)) {
  test(`every kind of value: ${name}`, () => {
    for (const [kind, arbitrary] of Object.entries(kinds)) {
      const one: fc.Arbitrary<Value> = arbitrary;
      fc.assert(
        fc.property(one, one, (a, b) => {
          assert.equal(kindOf(a), kind);
          check(a, b);
          if (kind !== 'record') check([a], [b]);
        }),
        { numRuns: 40 },
      );
    }
  });
}

test('kinds stand in one order, and their index keys in the same', () => {
  const any: fc.Arbitrary<Value> = fc.oneof(...Object.values(kinds));
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      const [x, y, z] = [a, b, c].sort(compareValues) as [Value, Value, Value];
      assert(compareValues(x, z) <= 0);
      assert(Buffer.compare(keyOf(x), keyOf(y)) <= 0);
      assert(Buffer.compare(keyOf(y), keyOf(z)) <= 0);
      const [p, q, r] = [a, b, c].sort(compareForCypher) as [Value, Value, Value];
      assert(compareForCypher(p, r) <= 0 && compareForCypher(q, r) <= 0);
    }),
    { numRuns: 400 },
  );
});

test('lists nested 200 deep are keys', () => {
  let value: Value = kindsAtDepth();
  for (let depth = 0; depth < 200; depth += 1) value = [value];
  assert(valuesEqual(value, stored(value)));
  assert(isList(value) && !isMap(value));
  assert.equal(Buffer.compare(keyOf(value), keyOf(stored(value))), 0);
  assert.equal(valueKey(value), valueKey(stored(value)));
});

function kindsAtDepth(): Value {
  return fc.sample(arbitraryZonedDateTime, { numRuns: 1, seed: 7 })[0] ?? null;
}
