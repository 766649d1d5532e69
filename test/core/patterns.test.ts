import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileLike } from '#core/text/like-pattern.ts';
import { compileRegularExpression, prepareEngine } from '#core/text/regular-expression.ts';
import { seededRandom } from '#test/fuzz/random-bytes.ts';

const like = (text: string, pattern: string) =>
  compileLike(pattern, { ignoreCase: false }).matches(text);
const ilike = (text: string, pattern: string) =>
  compileLike(pattern, { ignoreCase: true }).matches(text);

test('LIKE: % any run, _ and ? one character, backslash escapes', () => {
  const matching: readonly (readonly [string, string])[] = [
    ['Ada', 'Ada'],
    ['Ada', 'A_a'],
    ['Ada', 'A?a'],
    ['Ada', 'A%'],
    ['Ada', '%a'],
    ['Ada', '%d%'],
    ['Ada', '%'],
    ['Ada', '___'],
    ['a\nb', 'a%b'],
    ['a\nb', 'a_b'],
    ['100%', '100\\%'],
    ['a_b', 'a\\_b'],
    ['a?b', 'a\\?b'],
    ['a\\b', 'a\\\\b'],
    ['a\\nb', 'a\\nb'],
    ['', ''],
    ['💚x', '_x'],
    ['x💚', 'x_'],
    ['abcabc', '%ab%bc'],
    ['aXbYc', 'a_b%c'],
  ];
  for (const [text, pattern] of matching) assert.ok(like(text, pattern), `${text} LIKE ${pattern}`);
  const others: readonly (readonly [string, string])[] = [
    ['Ada', 'ada'],
    ['Ada', 'Ad'],
    ['Ada', '____'],
    ['Ada', 'b%'],
    ['100x', '100\\%'],
    ['axb', 'a\\_b'],
    ['', '%'],
    ['x', ''],
    ['ab', 'abc%'],
    ['aba', 'ab%ba'],
    ['💚x', '__x'],
  ];
  for (const [text, pattern] of others) assert.ok(!like(text, pattern), `${text} LIKE ${pattern}`);
});

test('ILIKE ignores case', () => {
  assert.ok(ilike('ADA lovelace', 'ada L%'));
  assert.ok(ilike('ÉCOLE', 'école'));
  assert.ok(!ilike('Ada', 'b%'));
});

test('LIKE agrees with a slow and obvious matcher', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '💚'), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '💚'), maxLength: 6 });
  fc.assert(
    fc.property(text, pattern, (candidate, wanted) => {
      const source = [...wanted].map((c) => (c === '%' ? '[^]*' : c === '_' ? '[^]' : c)).join('');
      const expected =
        candidate === '' ? wanted === '' : new RegExp(`^${source}$`, 'u').test(candidate);
      assert.equal(like(candidate, wanted), expected, `'${candidate}' LIKE '${wanted}'`);
    }),
    { numRuns: 5_000 },
  );
});

test('a pattern knows the text that its matches start with', () => {
  const form = (pattern: string) => {
    const { prefix, form: kind } = compileLike(pattern, { ignoreCase: false });
    return [prefix, kind];
  };
  assert.deepEqual(form('abc%'), ['abc', 'prefix']);
  assert.deepEqual(form('abc'), ['abc', 'exact']);
  assert.deepEqual(form('a_c%'), ['a', 'other']);
  assert.deepEqual(form('%abc'), ['', 'other']);
  assert.deepEqual(form('a\\%b%'), ['a%b', 'prefix']);
});

test('hostile LIKE patterns end quickly', () => {
  assert.ok(!like('a'.repeat(200_000), `${'%a'.repeat(1_000)}%b`));
  assert.ok(!like(`${'a'.repeat(100_000)}c`, `%${'a_'.repeat(500)}b`));
  assert.throws(() => like('a', 'x'.repeat(65_537)), /longer than 65536/);
});

const clock = { now: () => 0, monotonicMs: () => 0 };
const matches = (text: string, pattern: string) =>
  compileRegularExpression(pattern).matchesWhole(text, { remainingMs: 1_000 }, clock);

test('a regular expression must match the whole text', () => {
  assert.ok(matches('abc', 'a.c'));
  assert.ok(!matches('abcd', 'a.c'));
  assert.ok(matches('ABC', '(?i)abc'));
  assert.ok(matches('a\nc', '(?s)a.c'));
  assert.ok(!matches('a\nc', 'a.c'));
  assert.ok(matches('ab', 'a|ab'));
  assert.ok(matches('2024-05-01', '\\d{4}-\\d{2}-\\d{2}'));
});

test('catastrophic regular expressions take linear time', () => {
  assert.ok(!matches(`${'a'.repeat(100_000)}!`, '(a+)+'));
  assert.ok(!matches('x'.repeat(50_000), '(x+x+)+y'));
});

test('wrong and oversized regular expressions are refused', () => {
  assert.throws(() => matches('a', '('), /invalid regular expression/);
  const refused = /^DatabaseError: not supported: (.*) in a regular expression, since/;
  for (const [pattern, construct] of [
    ['a(?=b)', 'look-around'],
    ['a(?!b)', 'look-around'],
    ['(?<=a)b', 'look-around'],
    ['(?<!a)b', 'look-around'],
    ['(?>a)b', 'an atomic group'],
    ['(a)\\1', 'a back reference'],
    ['(?<x>a)\\k<x>', 'a back reference'],
    ['a++b', 'a possessive quantifier'],
    ['a{2}+b', 'a possessive quantifier'],
  ] as const)
    assert.throws(
      () => matches('a', pattern),
      (error) => refused.exec(String(error))?.[1] === construct,
      pattern,
    );
  // The same signs where they are only characters.
  for (const pattern of ['\\(?=(', '[(?=](', '\\\\1(', '[*]+('])
    assert.throws(() => matches('a', pattern), /invalid regular expression/, pattern);
  assert.throws(() => matches('a', 'a'.repeat(65_537)), /longer than 65536/);
});

test('long matches use up the time of their statement', () => {
  let now = 0;
  const slow = { now: () => 0, monotonicMs: () => (now += 300) };
  const budget = { remainingMs: 500 };
  const expression = compileRegularExpression('[a-z]*x');
  const text = 'a'.repeat(10_000);
  expression.matchesWhole(text, budget, slow);
  assert.throws(() => expression.matchesWhole(text, budget, slow), { code: 'Timeout' });
  assert.throws(() => expression.matchesWhole(text, budget, slow), /command.regexTimeout/);
  assert.equal(expression.matchesWhole('ax', budget, slow), true, 'short matches are free');
});

/** Every look ends a turn. */
const impatient = { isSpent: () => true };

function matchInTurns(text: string, pattern: string) {
  const expression = compileRegularExpression(pattern);
  const work = expression.matchesInTurns(text, { remainingMs: 1_000 }, clock, impatient);
  for (let turnCount = 1; ; turnCount += 1) {
    const { done, value } = work.next();
    if (done === true) return { matched: value, turnCount };
  }
}

test('a match in turns is the match at once, for any text and pattern', () => {
  const random = seededRandom(7);
  const of = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const atoms = [
    'a',
    'b',
    '.',
    '[^b]',
    '\\b',
    '\\B',
    '^',
    '$',
    '\\n',
    '😀',
    '(?i:A)',
    '(?s:.)',
    '(?m:^a)',
  ];
  const counts = ['', '', '*', '+?', '?', '{2,5}'];
  const pattern = (depth: number): string =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
      const part = depth > 0 && random() < 0.4 ? `(?:${pattern(depth - 1)})` : of(atoms);
      return part + of(counts);
    }).join(random() < 0.3 ? '|' : '');
  let matchCount = 0;
  for (let round = 0; round < 1_500; round += 1) {
    const signs = of([['a'], ['a', 'b'], ['a', 'b', '\n', '😀', '\ud83d', 'é', ' ']]);
    const tried = of(['', '.*', '(?s:.*)', '[a-z]*']) + pattern(3);
    const text = Array.from({ length: Math.floor(random() * of([8, 2_500])) }, () =>
      of(signs),
    ).join('');
    const expected = matches(text, tried);
    if (expected) matchCount += 1;
    assert.equal(
      matchInTurns(text, tried).matched,
      expected,
      `${tried} on ${JSON.stringify(text)}`,
    );
  }
  assert.ok(matchCount > 300 && matchCount < 1_200, `${matchCount} matched`);
});

test('a long match takes turns, also one with more states than are kept', () => {
  assert.deepEqual(matchInTurns(`${'a'.repeat(100_000)}!`, '(a+)+$'), {
    matched: false,
    turnCount: 98,
  });
  const random = seededRandom(3);
  const text = Array.from({ length: 15_000 }, () => (random() < 0.5 ? 'a' : 'b')).join('');
  const last = text.at(-61) === 'a';
  const { matched, turnCount } = matchInTurns(text, '(a|b)*a(a|b){60}');
  assert.equal(matched, last);
  assert.equal(turnCount, 15);
});

test('turns of a match use up the time of their statement', () => {
  let now = 0;
  const slow = { now: () => 0, monotonicMs: () => (now += 300) };
  const expression = compileRegularExpression('[a-z]*x');
  const work = expression.matchesInTurns(
    'a'.repeat(100_000),
    { remainingMs: 500 },
    slow,
    impatient,
  );
  work.next();
  assert.throws(() => work.next(), { code: 'Timeout' });
});

test('the engine is loaded, and compiles and matches for the first time, in steps', () => {
  assert.equal([...prepareEngine()].length, 3);
});
