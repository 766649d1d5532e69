import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decimal } from '#core/value/decimal.ts';
import { equalIgnoringCase, foldAscii } from '#core/text/case-folding.ts';
import { shortestFloat32 } from '#core/value/float32.ts';
import { parseDoubleLiteral, parseIntegerLiteral, parseNumber } from '#core/value/number-text.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { defaultTemporalFormats as formats } from '#core/temporal/format.ts';
import { DateTime, Duration, LocalDate, makeDuration } from '#core/temporal/temporal.ts';
import { textOf } from '#core/text/text-form.ts';
import { EmbeddedDocument, Float, type Value } from '#core/value/value.ts';

test('the text form of every kind of value', () => {
  const cases: readonly (readonly [Value, string])[] = [
    ['a', 'a'],
    [null, 'null'],
    [true, 'true'],
    [5, '5'],
    [9_223_372_036_854_775_807n, '9223372036854775807'],
    [1.5, '1.5'],
    [new Float(4), '4.0'],
    [new Float(-0), '-0.0'],
    [new Float(1e21), '1e+21'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, 'NegInfinity'],
    [new Decimal(1050n, 2), '10.50'],
    [new LocalDate(0), '1970-01-01'],
    [new DateTime(1_500), '1970-01-01 00:00:01.500'],
    [new Duration(90), '90'],
    [makeDuration(-1, -500_000_000), '-1.5'],
    [makeDuration(0, -500_000_000), '-0.5'],
    [new Link(makeRid(12, 3)), '#12:3'],
    [new Uint8Array([104, 105]), 'hi'],
    [[1, 'a', null, new Float(2)], '[1,"a",null,2.0]'],
    [new Map<string, Value>([['a', [new LocalDate(0)]]]), '{"a":["1970-01-01"]}'],
    [new EmbeddedDocument('T', new Map([['x', 1]])), '{"@type":"T","x":1}'],
    [[new Uint8Array([255]), new Duration(1), Number.NaN], '[[-1],1,"NaN"]'],
  ];
  for (const [value, text] of cases) assert.equal(textOf(value, formats), text);
});

test('integer literals are int64, decimal with leading zeros', () => {
  assert.equal(parseIntegerLiteral('010'), 10);
  assert.equal(parseIntegerLiteral('-9223372036854775808'), -(2n ** 63n));
  assert.throws(() => parseIntegerLiteral('9223372036854775808'), {
    message: 'Invalid integer: 9223372036854775808',
  });
  assert.throws(() => parseIntegerLiteral('0x1F'), { message: 'Invalid integer: 0x1F' });
  assert.throws(() => parseIntegerLiteral('1'.repeat(20_000)), /20000 characters/);
});

test('literals with a fraction or an exponent are doubles within the limits', () => {
  assert.deepEqual(parseDoubleLiteral('1e3'), new Float(1000));
  assert.equal(parseDoubleLiteral('.5'), 0.5);
  for (const text of ['1e400', '1e-7000', '1e1000000000', `1.${'0'.repeat(10_001)}`, '1e', '.'])
    assert.throws(() => parseDoubleLiteral(text), /Invalid number/, text.slice(0, 20));
});

test('numeric text becomes an integer where it can', () => {
  assert.equal(parseNumber('12'), 12);
  assert.deepEqual(parseNumber('12.0'), new Float(12));
  assert.equal(parseNumber('x'), undefined);
});

test('a float32 reads as its shortest text', () => {
  assert.equal(shortestFloat32(Math.fround(0.1)), 0.1);
  assert.equal(shortestFloat32(Math.fround(16_777_217)), 16_777_216);
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (x) => {
      assert.equal(Math.fround(shortestFloat32(x)), x);
    }),
  );
});

test('letter case does not depend on the host', () => {
  assert.ok(equalIgnoringCase('STRASSE', 'strasse'));
  assert.ok(!equalIgnoringCase('a', 'b'));
  assert.equal(foldAscii('TITLE É'), 'title É');
});
