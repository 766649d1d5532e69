import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import fc from 'fast-check';
import { analyzerOf } from '#index/text/analyzer.ts';
import { DistancesFrom } from '#index/text/edit-distance.ts';
import { best, type Matches } from '#index/text/matches.ts';
import { matchesPattern } from '#index/text/pattern.ts';
import { toEnd } from '#core/pausing-work.ts';
import { searchText } from '#index/text/text-search.ts';
import { memoryTextIndex } from './memory-text-index.ts';

// Full-text search against slow and obvious models: SQLite's FTS5 for what is found, a direct computation for scores.

const words = 'ash bay cod dew elm fig gum hay ivy jay kelp lime moss nut oak pine'.split(' ');
const meter = { isSpent: () => false };

/** Texts whose words are as unevenly spread as those of a language. */
function textsFrom(random: () => number, count: number): string[] {
  return Array.from({ length: count }, () =>
    Array.from(
      { length: 1 + Math.floor(random() * 12) },
      () => words[Math.floor(random() * random() * words.length)],
    ).join(' '),
  );
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

const word = fc.constantFrom(...words);
const query: fc.Memo<string> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(
        { weight: 4, arbitrary: word },
        { weight: 1, arbitrary: word.map((text) => `${text.slice(0, 1)}*`) },
      )
    : fc.oneof(
        word,
        fc
          .tuple(query(depth - 1), fc.constantFrom('AND', 'OR', 'NOT'), query(depth - 1))
          .map(([a, operator, b]) => `(${a}) ${operator} (${b})`),
        fc
          .tuple(word, fc.constantFrom('AND', 'OR'), word, fc.constantFrom('AND', 'OR'), word)
          .map((parts) => parts.join(' ')),
      ),
);

test('boolean queries find what SQLite finds', () => {
  const texts = textsFrom(seeded(7), 400);
  const sqlite = new DatabaseSync(':memory:');
  sqlite.exec('CREATE VIRTUAL TABLE t USING fts5(x)');
  const insert = sqlite.prepare('INSERT INTO t(rowid, x) VALUES (?, ?)');
  for (const [i, text] of texts.entries()) insert.run(i + 1, text);
  const select = sqlite.prepare('SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid');
  const index = memoryTextIndex(['x'], {});
  for (const [i, text] of texts.entries()) index.put(i + 1, { x: text });
  const numRuns = Number(process.env['SEARCH_QUERIES'] ?? 300);
  fc.assert(
    fc.property(query(3), (text) => {
      const wanted = select.all(text).map((row) => Number(row['rowid']));
      const found = toEnd(searchText(index.reader, text, meter));
      assert.deepEqual(Array.from(found.rids.subarray(0, found.count)), wanted, text);
    }),
    { numRuns },
  );
});

test('BM25 equals a direct computation', () => {
  const texts = textsFrom(seeded(11), 300);
  for (const [k1, b] of [
    [1.2, 0.75],
    [2, 0],
    [0, 1],
  ] as const) {
    const index = memoryTextIndex(['x'], { bm25_k1: k1, bm25_b: b });
    for (const [i, text] of texts.entries()) index.put(i + 1, { x: text });
    const split = texts.map((text) => text.split(' '));
    const average = split.reduce((sum, terms) => sum + terms.length, 0) / texts.length;
    const scoreOf = (terms: readonly string[], term: string): number => {
      const n = split.filter((other) => other.includes(term)).length;
      const f = terms.filter((other) => other === term).length;
      const idf = Math.log(1 + (texts.length - n + 0.5) / (n + 0.5));
      return f === 0 ? 0 : (idf * f * (k1 + 1)) / (f + k1 * (1 - b + (b * terms.length) / average));
    };
    for (const [x, y] of [
      ['ash', 'pine'],
      ['bay', 'oak'],
      ['cod', 'zebra'],
    ] as const) {
      const required = [`+${x}^2 +${y}`, `${x}^2 AND ${y}`];
      for (const query of [`${x}^2 OR ${y}`, ...required]) {
        const found = toEnd(searchText(index.reader, query, meter));
        const isWanted = (terms: readonly string[]) =>
          query.includes('OR')
            ? terms.includes(x) || terms.includes(y)
            : terms.includes(x) && terms.includes(y);
        const wanted = split.flatMap((terms, i) => (isWanted(terms) ? [i + 1] : []));
        assert.deepEqual(Array.from(found.rids.subarray(0, found.count)), wanted, query);
        for (let i = 0; i < found.count; i += 1) {
          const terms = split[(found.rids[i] as number) - 1] as string[];
          const score = 2 * scoreOf(terms, x) + scoreOf(terms, y);
          assert.ok(Math.abs((found.scores[i] as number) - score) < 1e-9, query);
        }
      }
    }
  }
});

test('the best are those of a sort, ties by record id', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5 })),
      fc.integer({ min: 0, max: 12 }),
      (scores, limit) => {
        const matches: Matches = {
          count: scores.length,
          rids: Float64Array.from(scores, (_, i) => i),
          scores: Float64Array.from(scores),
        };
        const wanted = scores
          .map((score, i) => ({ score, i }))
          .sort((a, b) => b.score - a.score || a.i - b.i)
          .slice(0, limit)
          .map(({ i }) => i);
        assert.deepEqual(Array.from(best(matches, limit)), wanted);
      },
    ),
  );
});

test('edit distances are those of the whole table', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 });
  const long = fc.constantFrom('abc'.repeat(30), `${'abc'.repeat(30)}ab`, `b${'abc'.repeat(29)}`);
  // In order, as an index has them, or in none: rows of one term are used for the next.
  const terms = fc.array(fc.oneof({ arbitrary: text, weight: 9 }, long), { maxLength: 12 });
  const word = fc.oneof({ arbitrary: text, weight: 9 }, long);
  fc.assert(
    fc.property(
      word,
      terms,
      fc.integer({ min: 0, max: 2 }),
      fc.boolean(),
      (a, all, max, inOrder) => {
        const from = new DistancesFrom(a, max);
        for (const b of inOrder ? all.toSorted() : all)
          assert.equal(from.to(b), Math.min(max + 1, wholeDistance(a, b)), b);
      },
    ),
    { numRuns: 1_000 },
  );
});

function wholeDistance(a: string, b: string): number {
  const cost = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  const at = (i: number, j: number): number => cost[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i += 1)
    for (let j = 1; j <= b.length; j += 1) {
      let least = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, at(i - 2, j - 2) + 1);
      (cost[i] as number[])[j] = least;
    }
  return at(a.length, b.length);
}

test('patterns match as regular expressions do', () => {
  const part = fc.constantFrom<string | { any: 'one' | 'run' }>(
    'a',
    'b',
    { any: 'one' },
    { any: 'run' },
  );
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 6 }),
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 7 }),
      (parts, term) => {
        const source = parts
          .map((one) => (typeof one === 'string' ? one : one.any === 'one' ? '.' : '.*'))
          .join('');
        assert.equal(matchesPattern(parts, term), new RegExp(`^${source}$`, 'u').test(term));
      },
    ),
  );
});

test('analyzers cut texts of every script into words', () => {
  const terms = (name: Parameters<typeof analyzerOf>[0], text: string): string => {
    const found: string[] = [];
    analyzerOf(name).terms(text, found);
    return found.join('|');
  };
  assert.equal(
    terms('standard', "Don't foo_bar 3.14 Äpfel 東京"),
    'don|t|foo|bar|3|14|äpfel|東|京',
  );
  assert.equal(terms('simple', 'a1b C'), 'a|b|c');
  assert.equal(terms('whitespace', ' A-b  C '), 'A-b|C');
  assert.equal(terms('keyword', 'New York'), 'New York');
  assert.equal(terms('stop', 'The Fox'), 'fox');
  assert.equal(terms('english', 'the running dogs'), 'run|dog');
  assert.equal(terms('german', 'die Häuser'), 'haus');
  assert.equal(
    terms('standard', 'x'.repeat(600)),
    [255, 255, 90].map((n) => 'x'.repeat(n)).join('|'),
  );
  assert.equal(terms('standard', '\ud800 \udfff שלום'), 'שלום');
});
