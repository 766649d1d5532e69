import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coerceProperties } from '#catalog/coercion.ts';
import { validateRecord } from '#catalog/validation.ts';
import { Decimal } from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/value/record.ts';
import { makeRid, type TypeId } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { LocalDate } from '#core/temporal/temporal.ts';
import { EmbeddedDocument, Float, type Value } from '#core/value/value.ts';
import { catalogAfter, property, type } from './catalog-builder.ts';

const catalog = catalogAfter([
  type('vertex', 'Place'),
  type('vertex', 'City', { supertypes: ['Place'] }),
  type('document', 'Address'),
  property('Address.zip', 'INTEGER', [{ name: 'mandatory', value: true }]),
  type('vertex', 'P'),
  property('P.text', 'STRING', [
    { name: 'min', value: 2 },
    { name: 'max', value: 4 },
  ]),
  property('P.small', 'BYTE'),
  property('P.age', 'INTEGER', [
    { name: 'min', value: 1 },
    { name: 'max', value: 99.5 },
  ]),
  property('P.big', 'LONG'),
  property('P.ratio', 'DOUBLE'),
  property('P.born', 'DATE', [
    { name: 'min', value: '2000-01-01' },
    { name: 'max', value: '2020-01-01' },
  ]),
  property('P.code', 'STRING', [{ name: 'regexp', value: '[A-Z]+' }]),
  property('P.key', 'STRING', [
    { name: 'readonly', value: true },
    { name: 'notnull', value: true },
  ]),
  property('P.must', 'STRING', [{ name: 'mandatory', value: true }]),
  property('P.tags', 'LIST', [{ name: 'max', value: 2 }], 'STRING'),
  property('P.home', 'LINK', [], 'Place'),
  property('P.where', 'EMBEDDED', [], 'Address'),
  property('P.raw', 'BINARY', [{ name: 'min', value: 2 }]),
  property('P.sizes', 'MAP', [{ name: 'min', value: 1 }], 'LONG'),
]);
const context = { catalog, formats: defaultTemporalFormats };
const p = catalog.typeNamed('P')?.id as TypeId;
const bucket = (name: string) => catalog.typeNamed(name)?.buckets[0] ?? -1;

function coerce(name: string, value: Value): Value {
  return coerceProperties(p, new Map([[name, value]]), context).get(name) ?? null;
}

function failure(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof DatabaseError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'no error';
}

/** The refusal of a record that has these properties beside the mandatory one. */
function refused(properties: Record<string, Value>, before?: Record<string, Value>): string {
  const all = new Map(Object.entries({ must: 'x', ...properties }));
  const stored = before && new Map(Object.entries({ must: 'x', ...before }));
  return failure(() => validateRecord(p, coerceProperties(p, all, context), stored, context));
}

test('declared properties are converted, others keep their type', () => {
  assert.equal(coerce('text', 12), '12');
  assert.equal(coerce('age', '12'), 12);
  assert.equal(coerce('age', 12.9), 12);
  assert.deepEqual(coerce('ratio', 4), new Float(4));
  assert.deepEqual(coerce('born', '2001-02-03'), new LocalDate(11356));
  assert.deepEqual(coerce('born', '2001-02-03T10:00:00'), new LocalDate(11356));
  assert.deepEqual(coerce('tags', 5), ['5']);
  assert.deepEqual(coerce('home', '#3:7'), new Link(makeRid(3, 7)));
  assert.deepEqual(coerce('raw', [1, -1]), new Uint8Array([1, 255]));
  assert.deepEqual(coerce('sizes', new Map([['a', '3']])), new Map([['a', 3]]));
  assert.equal(coerce('free', '12'), '12');
  assert.equal(coerce('text', null), null);
});

test('properties that need no conversion come back as the same map', () => {
  const properties = new Map<string, Value>([
    ['text', 'abc'],
    ['age', 5],
    ['ratio', new Float(4)],
    ['free', new Decimal(5n, 1)],
    ['list', [1, 'a', new Map([['k', 1]])]],
  ]);
  assert.equal(coerceProperties(p, properties, context), properties);
});

test('a value that cannot be converted is named with its class, type and property', () => {
  assert.equal(
    failure(() => coerce('age', 'abc')),
    "IllegalArgument: Cannot convert type 'String' to 'INTEGER' found in property 'age'",
  );
  assert.equal(
    failure(() => coerce('small', 300)),
    "IllegalArgument: Cannot convert type 'Integer' to 'BYTE' found in property 'small': value 300 out of range",
  );
  assert.match(
    failure(() => coerce('born', 'soon')),
    /to 'DATE' found in property 'born'/,
  );
  assert.match(
    failure(() => coerce('home', 'soon')),
    /'String' to 'LINK' found in property 'home'/,
  );
  assert.match(
    failure(() => coerce('where', new Map())),
    /'Map' to 'EMBEDDED'/,
  );
  assert.match(
    failure(() => coerce('sizes', new Map([['a', 'x']]))),
    /'LONG' found in property 'sizes'/,
  );
});

test('maps with an @type become embedded documents of that type, converted by it', () => {
  const address = (zip: Value) =>
    new Map<string, Value>([
      ['@type', 'Address'],
      ['@rid', '#1:1'],
      ['zip', zip],
    ]);
  const expected = new EmbeddedDocument('Address', new Map([['zip', 10115]]));
  assert.deepEqual(coerce('where', address('10115')), expected);
  assert.deepEqual(coerce('free', [address('10115')]), [expected]);
  assert.match(
    failure(() => coerce('free', new Map([['@type', 'Adress']]))),
    /IllegalArgument: Type with name 'Adress'/,
  );
  assert.match(
    failure(() => coerce('free', new Map([['@type', 'City']]))),
    /is a vertex type/,
  );
  assert.match(
    failure(() => coerceProperties(p, new Map([['@rid', '#1:1']]), context)),
    /'@rid' is a system attribute/,
  );
});

test('every constraint refuses with the message of sql.md 13.6', () => {
  const v = 'Validation: The property ';
  assert.equal(refused({}), 'no error');
  assert.match(
    failure(() => validateRecord(p, new Map([['a', 1]]), undefined, context)),
    /^Validation: The property 'P.must' is mandatory, but not found on record: /,
  );
  assert.equal(refused({ must: null }), 'no error');
  assert.match(
    refused({ key: null }),
    /^Validation: The property 'P.key' cannot be null, record: /,
  );
  assert.equal(
    refused({ code: 'Ab' }),
    `${v}'P.code' does not match the regular expression '[A-Z]+'. Field value is: Ab`,
  );
  assert.equal(refused({ age: 0 }), `${v}'P.age' value 0 is less than 1`);
  assert.equal(refused({ age: 100 }), `${v}'P.age' value 100 is greater than 99.5`);
  assert.equal(refused({ text: 'x' }), `${v}'P.text' contains fewer characters than 2 requested`);
  assert.equal(
    refused({ text: 'abcde' }),
    `${v}'P.text' contains more characters than 4 requested`,
  );
  assert.equal(refused({ text: '😀😀😀😀' }), 'no error');
  assert.equal(refused({ raw: [1] }), `${v}'P.raw' contains fewer bytes than 2 requested`);
  assert.equal(
    refused({ tags: ['a', 'b', 'c'] }),
    `${v}'P.tags' contains more items than 2 requested`,
  );
  assert.equal(
    refused({ sizes: new Map() }),
    `${v}'P.sizes' contains fewer items than 1 requested`,
  );
  assert.equal(
    refused({ born: '1999-12-31' }),
    `${v}'P.born' contains the date 1999-12-31 which precedes the first acceptable date (2000-01-01)`,
  );
  assert.equal(
    refused({ born: '2020-01-02' }),
    `${v}'P.born' contains the date 2020-01-02 which is after the last acceptable date (2020-01-01)`,
  );
});

test('OF restricts elements and targets', () => {
  assert.equal(
    refused({ tags: [new Map([['a', 1]])] }),
    `Validation: The property 'P.tags' has been declared as LIST of 'STRING' but contains a value of type 'map': {"a":1}`,
  );
  assert.equal(refused({ home: new Link(makeRid(bucket('City'), 0)) }), 'no error');
  assert.match(
    refused({ home: new Link(makeRid(bucket('P'), 0)) }),
    /declared as LINK of 'Place' but contains a record of type 'P': #/,
  );
  const address = new Map<string, Value>([['@type', 'Address']]);
  assert.match(refused({ where: address }), /The property 'Address.zip' is mandatory/);
});

test('a read-only property keeps its stored value', () => {
  assert.equal(refused({ key: 'a' }, { key: 'a' }), 'no error');
  assert.equal(
    refused({ key: 'b' }, { key: 'a' }),
    "Validation: The property 'P.key' is immutable and cannot be altered. Field value is: b",
  );
  assert.match(refused({}, { key: 'a' }), /is immutable/);
  assert.match(refused({ key: 'a' }, {}), /is immutable/);
});
