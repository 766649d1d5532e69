import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeInteger, decodeString } from '#language/cypher/literals.ts';

// Goal: literals of megabytes mean what short ones mean. Method: the same escapes in a short text and in one that is read by a buffer.

const escapes = ['n', 't', 'r', 'b', 'f', '\\', "'", '"', '`', '/'].map((letter) => `\\${letter}`);
const piece = fc.oneof(
  fc.constantFrom(
    ...escapes,
    '\\u00e9',
    '\\uD83D\\ude00',
    '\\U0001F600',
    '\\u0041',
    'a',
    'é',
    '😀',
  ),
  fc.constantFrom('\\q', '\\u12', '\\u12g4', '\\U00110000', '\\ud800', '\\', '\\u00\u0010'),
);
/** Faults show the characters behind an escape. */
const gap = '.'.repeat(8);
const padding = 'x'.repeat(5_000);

test('a long text means what a short one does', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const short = decodeString(`'${pieces.join('')}${gap}'`);
      const long = decodeString(`'${pieces.join('')}${gap}${padding}'`);
      assert.deepEqual(
        long,
        'value' in short ? { value: short.value + padding } : short,
        pieces.join(''),
      );
    }),
  );
});

test('whole numbers of few digits are read as the others', () => {
  const read = (source: string, isNegative = false) => decodeInteger(source, isNegative);
  const numbers = ['0', '7', '10', '999999999999999', '1000000000000000', '9007199254740993'];
  for (const source of numbers)
    for (const isNegative of [false, true]) {
      const exact = BigInt(source) * (isNegative ? -1n : 1n);
      const value = Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
      assert.deepEqual(read(source, isNegative), { value: value === 0 ? 0 : value });
    }
  assert.deepEqual(read('1_000'), { value: 1000 });
  assert.deepEqual(read('0x1F'), { value: 31 });
});
