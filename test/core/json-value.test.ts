import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decimal, decimalToNumber } from '#core/value/decimal.ts';
import { parseJson, parseJsonBytes } from '#core/value/json-value.ts';
import { Float, type Value } from '#core/value/value.ts';

test('numbers keep their type and their digits', () => {
  const cases: readonly (readonly [string, Value])[] = [
    ['0', 0],
    ['-0', 0],
    ['4', 4],
    ['4.0', new Float(4)],
    ['4e0', new Float(4)],
    ['-0.0', new Float(-0)],
    ['1.5', 1.5],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9223372036854775808', new Decimal(2n ** 63n, 0)],
    ['1e308', new Float(1e308)],
    ['0.10000000000000001', 0.1],
    ['0.12345678901234567890', new Decimal(12_345_678_901_234_567_890n, 20)],
    ['-1234567890123456.789', new Decimal(-1_234_567_890_123_456_789n, 3)],
    ['0.000000000000000000001', 1e-21],
    ['1.00000000000000000e2', new Float(100)],
    ['100000000000000000000.0', new Float(1e20)],
  ];
  for (const [text, value] of cases) assert.deepEqual(parseJson(text), value, text);
});

test('numbers outside the limits are refused', () => {
  for (const text of [
    '1e400',
    '-1e400',
    '1e-7000',
    '1e1000000000',
    '9'.repeat(400),
    `0.${'1'.repeat(10_001)}`,
  ])
    assert.throws(
      () => parseJson(text),
      /outside the range|service\.queryMaxNumber/,
      text.slice(0, 20),
    );
});

test('objects are maps in the order of the text; hostile names are data', () => {
  const value = parseJson('{"b":1,"10":2,"2":3,"__proto__":{"x":1},"constructor":null,"b":4}');
  assert.deepEqual(
    [...(value as Map<string, Value>)].map(([key]) => key),
    ['b', '10', '2', '__proto__', 'constructor'],
  );
  assert.equal((value as Map<string, Value>).get('b'), 4);
  assert.equal(({} as { x?: number }).x, undefined);
});

test('text: escapes, pairs, NUL, any character', () => {
  assert.equal(parseJson('"a\\n\\u0041\\ud83d\\ude00\\/\\"\\u0000é"'), 'a\nA😀/"\u0000é');
  for (const text of [
    '"\\ud800"',
    '"\\udc00x"',
    '"\ud800"',
    '"\\u12"',
    '"\\x41"',
    '"a\nb"',
    '"a',
    '"\\',
  ])
    assert.throws(() => parseJson(text), /invalid JSON/, text);
});

test('what is not JSON is refused with its place', () => {
  const wrong = [
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    "'a'",
    '01',
    '+1',
    '.5',
    '1.',
    'NaN',
    'tru',
    '1 2',
    '[1 2]',
  ];
  wrong.push('{"a" 1}', '\ufeff', '//x', 'undefined', '[', '{"a"', '-', '1e', '\u00a01');
  for (const text of wrong) assert.throws(() => parseJson(text), { code: 'IllegalArgument' }, text);
  assert.throws(() => parseJson('{"a":1,\n "b": x}'), /line 2, column 7/);
});

test('nesting is bounded', () => {
  assert.ok(parseJson(`${'['.repeat(512)}${']'.repeat(512)}`));
  assert.throws(() => parseJson(`${'['.repeat(513)}${']'.repeat(513)}`), /deeper than 512/);
  assert.throws(() => parseJson('['.repeat(1_000_000)), /deeper than 512/);
});

test('invalid UTF-8 is refused, a byte order mark is not', () => {
  assert.throws(() => parseJsonBytes(new Uint8Array([0x22, 0xff, 0x22])), /not valid UTF-8/);
  assert.throws(
    () => parseJsonBytes(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])),
    /not valid UTF-8/,
  );
  assert.equal(parseJsonBytes(new Uint8Array([0xef, 0xbb, 0xbf, 0x31])), 1);
});

function plain(value: Value): unknown {
  if (value instanceof Map)
    return Object.fromEntries([...(value as Map<string, Value>)].map(([k, v]) => [k, plain(v)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Float
    ? value.number
    : value instanceof Decimal
      ? decimalToNumber(value)
      : value;
}

test('it reads what JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(
        plain(parseJson(text)),
        plain(parseJson(JSON.stringify(JSON.parse(text), null, 2))),
      );
      assert.equal(JSON.stringify(plain(parseJson(text))), JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('numbers are as long as the settings allow', () => {
  const limits = { depthMax: 10, numbers: { digitsMax: 40, exponentMax: 310 } };
  assert.ok(parseJson(`[0.${'1'.repeat(39)}, ${'1'.repeat(40)}, 0e310, 0e-310]`, limits));
  for (const text of [`0.${'1'.repeat(40)}`, '1'.repeat(41)])
    assert.throws(() => parseJson(text, limits), /service\.queryMaxNumberDigits/);
  for (const text of ['0e311', '0E-311'])
    assert.throws(() => parseJson(text, limits), /service\.queryMaxNumberExponent/);
});
