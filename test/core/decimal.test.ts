import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  Decimal,
  addDecimals,
  compareDecimals,
  decimalOfDouble,
  decimalText,
  decimalToNumber,
  divideDecimals,
  multiplyDecimals,
  parseDecimal,
  remainderOfDecimals,
  setDecimalScale,
  subtractDecimals,
} from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';

function decimal(text: string): Decimal {
  const parsed = parseDecimal(text);
  assert.ok(parsed, `'${text}' is a decimal`);
  return parsed;
}

const arbitraryDecimal = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat({ max: 20 }))
  .map(([unscaled, scale]) => new Decimal(unscaled, scale));

test('a decimal keeps its scale through text', () => {
  for (const text of ['0', '10.50', '-0.05', '12345678901234567890.12', '-1', '0.00'])
    assert.equal(decimalText(decimal(text)), text);
  fc.assert(
    fc.property(arbitraryDecimal, (d) => {
      assert.deepEqual(decimal(decimalText(d)), d);
    }),
  );
});

test('exponents are read, and what is no number is not', () => {
  assert.equal(decimalText(decimal('1.5e3')), '1500');
  assert.equal(decimalText(decimal('15e-3')), '0.015');
  assert.equal(decimalText(decimal('+.5')), '0.5');
  for (const text of ['', '.', '-', 'e5', '1e', 'abc', '1,5', ' 1', '0x10', '1e99999', '1e6145'])
    assert.equal(parseDecimal(text), undefined, text);
  assert.equal(parseDecimal('9'.repeat(10_001)), undefined);
  assert.ok(parseDecimal('9'.repeat(10_000)));
});

test('division rounds half up at the scale of the dividend', () => {
  const cases = [
    ['10.00', '3', '3.33'],
    ['20.00', '3', '6.67'],
    ['1', '2', '1'],
    ['-1', '2', '-1'],
    ['5', '2', '3'],
    ['1.0', '8', '0.1'],
    ['7.5', '0.5', '15.0'],
    ['1', '3', '0'],
  ] as const;
  for (const [a, b, quotient] of cases)
    assert.equal(decimalText(divideDecimals(decimal(a), decimal(b))), quotient, `${a} / ${b}`);
});

test('division and remainder by zero are errors', () => {
  assert.throws(() => divideDecimals(decimal('1'), decimal('0.0')), { message: '/ by zero' });
  assert.throws(() => remainderOfDecimals(decimal('1'), decimal('0')), { message: '% by zero' });
});

test('addition, subtraction, multiplication and remainder are exact', () => {
  assert.equal(decimalText(addDecimals(decimal('0.1'), decimal('0.25'))), '0.35');
  assert.equal(decimalText(subtractDecimals(decimal('1.00'), decimal('0.1'))), '0.90');
  assert.equal(decimalText(multiplyDecimals(decimal('1.5'), decimal('1.50'))), '2.250');
  assert.equal(decimalText(remainderOfDecimals(decimal('-7.5'), decimal('2'))), '-1.5');
  fc.assert(
    fc.property(arbitraryDecimal, arbitraryDecimal, (a, b) => {
      assert.equal(compareDecimals(subtractDecimals(addDecimals(a, b), b), a), 0);
      assert.equal(compareDecimals(a, b), -compareDecimals(b, a) + 0);
    }),
  );
});

test('a product of more than 10,000 digits is an overflow', () => {
  let square = decimal('9'.repeat(4_000));
  square = multiplyDecimals(square, decimal('9'.repeat(4_000)));
  assert.throws(
    () => multiplyDecimals(square, square),
    (error) => error instanceof DatabaseError && error.code === 'Arithmetic',
  );
});

test('doubles become decimals by their shortest text, and back', () => {
  assert.equal(decimalText(decimalOfDouble(0.1) as Decimal), '0.1');
  assert.equal(decimalOfDouble(Number.NaN), undefined);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => {
      assert.equal(decimalToNumber(decimalOfDouble(n) as Decimal), n + 0);
    }),
  );
});

test('the scale can be changed, rounding half up', () => {
  assert.equal(decimalText(setDecimalScale(decimal('1.005'), 2)), '1.01');
  assert.equal(decimalText(setDecimalScale(decimal('-1.005'), 2)), '-1.01');
  assert.equal(decimalText(setDecimalScale(decimal('1'), 2)), '1.00');
});
