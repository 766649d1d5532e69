import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { analyzerNames } from '#catalog/search-index.ts';
import { analyzerOf } from '#index/text/analyzer.ts';
import { TermFrequencies } from '#index/text/term-frequencies.ts';

test('terms are counted as in a map, text after text', () => {
  const frequencies = new TermFrequencies();
  const term = fc.oneof(fc.constantFrom('a', 'b', 'ab', 'ä', '𝄞'), fc.string({ maxLength: 3 }));
  fc.assert(
    fc.property(
      fc.array(term, { maxLength: 200 }),
      fc.constantFrom(1, 1, 1, 200),
      (some, times) => {
        const all = Array.from({ length: times }, (_, i) =>
          some.map((text) => (times === 1 ? text : `${text}${i}`)),
        ).flat();
        const wanted = new Map<string, number>();
        for (const text of all) wanted.set(text, (wanted.get(text) ?? 0) + 1);
        frequencies.count(all);
        assert.deepEqual(frequencies.terms, [...wanted.keys()]);
        assert.deepEqual(frequencies.counts, [...wanted.values()]);
      },
    ),
    { numRuns: 100 },
  );
});

test('a text of ASCII has the terms that it has beside another script', () => {
  const ascii = fc.string({
    unit: fc.integer({ min: 0, max: 127 }).map((unit) => String.fromCharCode(unit)),
    maxLength: 60,
  });
  const termsOf = (name: (typeof analyzerNames)[number], text: string): string[] => {
    const found: string[] = [];
    analyzerOf(name).terms(text, found);
    return found;
  };
  fc.assert(
    fc.property(
      fc.constantFrom(...analyzerNames.filter((name) => name !== 'keyword')),
      fc.oneof(
        ascii,
        ascii.map((text) => text.replaceAll(/\W/g, 'x').repeat(20)),
      ),
      (name, text) => {
        assert.deepEqual(
          [...termsOf(name, text), ...termsOf(name, 'ж')],
          termsOf(name, `${text} ж`),
        );
      },
    ),
    { numRuns: 300 },
  );
});
