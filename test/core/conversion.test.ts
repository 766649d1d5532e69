import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertValue, notConvertible, outOfRange, severalLinks } from '#core/value/conversion.ts';
import type { Conversion, SchemaTypeName } from '#core/value/conversion.ts';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { defaultTemporalFormats as formats } from '#core/temporal/format.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { EmbeddedDocument, Float, type Value } from '#core/value/value.ts';

const link = new Link(makeRid(1, 2));

/** Rows of sql.md 2.1: type, value, what becomes of it. */
const cases: readonly (readonly [SchemaTypeName, Value, Conversion])[] = [
  ['BOOLEAN', true, true],
  ['BOOLEAN', 'TRUE', true],
  ['BOOLEAN', 'false', false],
  ['BOOLEAN', 'yes', notConvertible],
  ['BOOLEAN', 0, false],
  ['BOOLEAN', 0.5, false],
  ['BOOLEAN', -1.5, true],
  ['INTEGER', 5, 5],
  ['INTEGER', 5.9, 5],
  ['INTEGER', -5.9, -5],
  ['INTEGER', new Float(4), 4],
  ['INTEGER', new Decimal(-199n, 2), -1],
  ['INTEGER', '42', 42],
  ['INTEGER', '', 0],
  ['INTEGER', 'x', notConvertible],
  ['INTEGER', 2 ** 31, outOfRange],
  ['INTEGER', '99999999999999999999', outOfRange],
  ['INTEGER', Number.NaN, outOfRange],
  ['INTEGER', true, notConvertible],
  ['INTEGER', new DateTime(5), notConvertible],
  ['SHORT', 32_767, 32_767],
  ['SHORT', 32_768, outOfRange],
  ['SHORT', -32_768, -32_768],
  ['BYTE', 127, 127],
  ['BYTE', 128, outOfRange],
  ['BYTE', -129, outOfRange],
  ['LONG', 2 ** 40, 2 ** 40],
  ['LONG', 9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
  ['LONG', new Float(1e19), outOfRange],
  ['LONG', '9223372036854775807', 9_223_372_036_854_775_807n],
  ['LONG', new DateTime(1234), 1234],
  ['LONG', new LocalDate(1), 86_400_000],
  ['FLOAT', 0.1, 0.1],
  ['FLOAT', 1.23456789012, 1.2345679],
  ['FLOAT', 3, new Float(3)],
  ['FLOAT', '2.5', 2.5],
  ['FLOAT', '', new Float(0)],
  ['FLOAT', 1e300, outOfRange],
  ['DOUBLE', 3, new Float(3)],
  ['DOUBLE', '1e3', new Float(1000)],
  ['DOUBLE', new Decimal(15n, 1), 1.5],
  ['DOUBLE', 'abc', notConvertible],
  ['DECIMAL', '1.50', new Decimal(150n, 2)],
  ['DECIMAL', 7, new Decimal(7n, 0)],
  ['DECIMAL', 0.1, new Decimal(1n, 1)],
  ['DECIMAL', 'x', notConvertible],
  ['DATETIME', 5, new DateTime(5)],
  ['DATETIME', '2024-05-01 00:00:01', new DateTime(Date.parse('2024-05-01T00:00:01Z'))],
  ['DATETIME', new LocalDate(1), new DateTime(86_400_000)],
  ['DATETIME', new DateTime(5, 77, 'nanos'), new DateTime(5)],
  ['DATETIME', 'soon', notConvertible],
  ['DATETIME_SECOND', 1_999, new DateTime(1_000, 0, 'second')],
  ['DATETIME_MICROS', new DateTime(1, 1_234, 'nanos'), new DateTime(1, 1_000, 'micros')],
  ['DATETIME_NANOS', '1970-01-01 00:00:00.000000007', new DateTime(0, 7, 'nanos')],
  ['DATE', 3, new LocalDate(3)],
  ['DATE', '1970-01-02', new LocalDate(1)],
  ['DATE', new DateTime(86_400_001), new LocalDate(1)],
  ['DATE', 'x', notConvertible],
  ['STRING', 5, '5'],
  ['STRING', new Float(4), '4.0'],
  ['STRING', true, 'true'],
  ['STRING', link, '#1:2'],
  ['STRING', new LocalDate(0), '1970-01-01'],
  ['STRING', new Duration(90), '90'],
  ['BINARY', [1, -1, 127], new Uint8Array([1, 255, 127])],
  ['BINARY', [128], outOfRange],
  ['BINARY', 'text', notConvertible],
  ['LIST', [1], [1]],
  ['LIST', 'a', ['a']],
  ['MAP', new Map([['a', 1]]), new Map([['a', 1]])],
  ['MAP', 5, notConvertible],
  ['LINK', link, link],
  ['LINK', '#1:2', link],
  ['LINK', ['#1:2'], link],
  ['LINK', [], null],
  ['LINK', [link, link], severalLinks],
  ['LINK', 'Ada', notConvertible],
  ['LINK', '1:2', notConvertible],
  [
    'EMBEDDED',
    new Map<string, Value>([
      ['@type', 'A'],
      ['x', 1],
    ]),
    new EmbeddedDocument('A', new Map([['x', 1]])),
  ],
  ['EMBEDDED', new Map([['x', 1]]), notConvertible],
  ['ARRAY_OF_SHORTS', [1, 40_000], outOfRange],
  ['ARRAY_OF_INTEGERS', [1, 2.9], [1, 2]],
  ['ARRAY_OF_LONGS', [2 ** 40], [2 ** 40]],
  ['ARRAY_OF_FLOATS', [0.1, 2], [0.1, new Float(2)]],
  ['ARRAY_OF_FLOATS', [1, null], notConvertible],
  ['ARRAY_OF_FLOATS', ['1'], notConvertible],
  ['ARRAY_OF_DOUBLES', 5, notConvertible],
];

test('values become what the schema type holds', () => {
  for (const [type, value, expected] of cases)
    assert.deepEqual(convertValue(value, type, formats), expected, `${type} from ${String(value)}`);
});

test('null stays null for every type', () => {
  for (const [type] of cases) assert.equal(convertValue(null, type, formats), null);
});
