import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { joinedText } from '#query/evaluate/turns/value-size.ts';
import { context as contextOf } from './fixtures.ts';

// Goal: joined texts are refused exactly where their bytes in UTF-8 are above the limit, and no text is counted again that has only grown.

const mebibyte = 2 ** 20;

function contextWith(valueBytesMax: number) {
  const context = contextOf();
  return { ...context, limits: { ...context.limits, valueBytesMax } };
}

const pieces = fc.array(
  fc.record({
    unit: fc.constantFrom('a', 'é', '漢', '😀'),
    count: fc.constantFrom(1, 100, mebibyte / 2, mebibyte + 1),
    isBefore: fc.boolean(),
    isDoubled: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
);

test('joined texts are refused by their bytes', () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: -2, max: 2 }), (drawn, slack) => {
      const steps = (
        text: string,
        { unit, count, isBefore, isDoubled }: (typeof drawn)[number],
      ) => {
        const piece = unit.repeat(count);
        const [left, right] = isBefore ? [piece, text] : [text, piece];
        return isDoubled ? [text, text] : [left, right];
      };
      let whole = 'x';
      for (const piece of drawn) whole = steps(whole, piece).join('');
      const bytes = Buffer.byteLength(whole);
      const context = contextWith(bytes + slack);
      const made = () => {
        let text = 'x';
        for (const piece of drawn) {
          const [left = '', right = ''] = steps(text, piece);
          text = joinedText(left, right, context);
        }
        return text;
      };
      if (slack >= 0) assert.equal(made(), whole);
      else
        assert.throws(
          made,
          (error) => error instanceof DatabaseError && /queryMaxValueSize/.test(error.message),
        );
    }),
    { numRuns: 60 },
  );
});

test('a text that grows is not counted from its beginning', () => {
  const context = contextWith(64 * mebibyte);
  let counted = 0;
  const count = Buffer.byteLength;
  const spied = mock.method(Buffer, 'byteLength', (text: string) => {
    counted += text.length;
    return count(text);
  });
  try {
    let text = 'x';
    while (text.length < 64 * mebibyte) text = joinedText(text, text, context);
    assert.equal(text.length, 64 * mebibyte);
    assert.throws(() => joinedText(text, 'y', context), /queryMaxValueSize/);
    assert.ok(counted < 4 * mebibyte, `${counted} characters`);
  } finally {
    spied.mock.restore();
  }
});
