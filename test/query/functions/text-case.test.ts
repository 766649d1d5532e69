import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Value } from '#core/value/value.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { sampleContext } from './sample-context.ts';

// Goal: functions that go through texts unit by unit give what Unicode says of characters. Method: regular expressions and the
// engine's own methods as models; texts of all kinds of characters, halves of pairs too, and long ones, which are made in parts.

const context = sampleContext();

function call(name: string, ...args: Value[]): Value {
  const definition = functionRegistry.scalar(name);
  assert.ok(definition, name);
  return definition.evaluate(args, context);
}

const odd =
  'aB cZ9 _-\t\u00a0\n.$&/\\(é ÀßŉİıΣσςſǅﬁẞ\u0301\u{10400}\u{10428}😀\u{1d7d8}жЖ中٣Ⅷⅷª\u200b\u2028\ufeff';
const character = fc.oneof(
  { arbitrary: fc.constantFrom(...odd), weight: 4 },
  fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  fc.integer({ min: 0x10000, max: 0x1ffff }).map((code) => String.fromCodePoint(code)),
);
const short = fc.array(character, { maxLength: 30 }).map((characters) => characters.join(''));
const long = fc
  .tuple(
    fc.array(character, { minLength: 1, maxLength: 9 }),
    fc.integer({ min: 7_000, max: 8_000 }),
  )
  .map(([characters, count]) => characters.join('').repeat(count));
const texts = fc.oneof({ arbitrary: short, weight: 30 }, long);

function wordsOf(text: string): readonly string[] {
  const spaced = text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2');
  return spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
}

function firstChanged(text: string, change: (character: string) => string): string {
  return text.replace(/^./su, change);
}

const upper = (text: string) => text.toUpperCase();
const lower = (text: string) => text.toLowerCase();
const capitalized = (text: string) => firstChanged(text, upper);

const models: Readonly<Record<string, (text: string) => string>> = {
  'text.capitalizeAll': (text) => text.replace(/\S+/g, capitalized),
  'text.decapitalizeAll': (text) => text.replace(/\S+/g, (word) => firstChanged(word, lower)),
  '.capitalize': (text) => text.toLowerCase().replace(/\S+/g, capitalized),
  'text.snakeCase': (text) => wordsOf(text).join('_').toLowerCase(),
  'text.camelCase': (text) =>
    firstChanged(
      wordsOf(text)
        .map((word) => capitalized(word.toLowerCase()))
        .join(''),
      lower,
    ),
  'text.upperCamelCase': (text) =>
    wordsOf(text)
      .map((word) => capitalized(word.toLowerCase()))
      .join(''),
  'text.slug': (text) => {
    const plain = text.normalize('NFD').replace(/\p{M}+/gu, '');
    return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).join('-').toLowerCase();
  },
  '.normalize': (text) => text.normalize('NFD').replace(/\p{M}+/gu, ''),
  'text.hexValue': (text) =>
    Array.from({ length: text.length }, (_, at) =>
      text.charCodeAt(at).toString(16).padStart(4, '0'),
    ).join(''),
};

function firstDifference(...given: readonly string[]): string {
  return given
    .map((text) => [...text.slice(0, 20)].map((c) => c.codePointAt(0)?.toString(16)))
    .join(' | ');
}

for (const [name, model] of Object.entries(models))
  test(`${name}() agrees with its regular expression`, () => {
    fc.assert(
      fc.property(texts, (text) => {
        // Not assert.equal, whose message of two long texts takes minutes.
        const [given, expected] = [call(name, text) as string, model(text)];
        assert.ok(given === expected, firstDifference(text, given, expected));
      }),
      { numRuns: 150 },
    );
  });

test('replace() and split() agree with those of the engine, for every text sought', () => {
  const pieces = fc.array(character, { maxLength: 3 }).map((characters) => characters.join(''));
  fc.assert(
    fc.property(texts, pieces, pieces, fc.nat(20), (text, piece, by, at) => {
      for (const sought of [piece, text.slice(at, at + 1), text.slice(at, at + 2)]) {
        const replaced =
          sought === '' ? text.replace(/(?:)/gu, () => by) : text.replaceAll(sought, () => by);
        assert.ok(call('.replace', text, sought, by) === replaced, JSON.stringify([sought, by]));
        if (sought === '' || text.length > 1_000) continue;
        const parts = text.split(sought);
        while (parts.length > 1 && parts.at(-1) === '') parts.pop();
        const all = text.includes(sought) && parts.join('') === '' ? [] : parts;
        assert.deepEqual(call('.split', text, sought), all);
      }
    }),
    { numRuns: 150 },
  );
});

test('a text that a function would make too large is refused before it is made', () => {
  const { limits } = context;
  const narrow = sampleContext({ limits: { ...limits, valueBytesMax: 100_000 } });
  const text = 'a '.repeat(30_000);
  const refused = (name: string, ...args: Value[]) =>
    assert.throws(
      () => functionRegistry.scalar(name)?.evaluate([text, ...args], narrow),
      /queryMaxValueSize/,
    );
  refused('.replace', ' ', 'bbb');
  refused('text.replace', '', 'b');
  refused('text.slug', 'bbb');
  refused('text.hexValue');
});
