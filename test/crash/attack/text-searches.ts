import type { Attack, Row } from './scenario.ts';

// The texts of `texts.ts`, and what searches for their words find beside a scan.

const wordCount = 300;
/** Properties with a full-text index. */
export const indexed = ['body', 'note'] as const;

/** What a text is made of; undefined: there is none. */
export interface Doc {
  readonly v: number;
  readonly w: number;
}
/** Searches for words that many texts have, for rare ones and for some that one has. */
export async function searchViolations(
  attack: Attack,
  database: string,
  name: (typeof indexed)[number],
  rows: readonly Row[],
): Promise<string[]> {
  const byWord = new Map<string, Row[]>();
  for (const row of rows)
    for (const word of wordsOf(row[name])) {
      const texts = byWord.get(word);
      if (texts === undefined) byWord.set(word, [row]);
      else texts.push(row);
    }
  const uniques = [...byWord.keys()].filter((word) => word.startsWith('u'));
  const words = ['all'];
  for (let n = 0; n < 40; n += 1) {
    words.push(`w${n}`, `w${attack.below(wordCount)}`, attack.pick(uniques) ?? 'all');
  }
  const violations: string[] = [];
  const found = await Promise.all(
    words.map((word) =>
      attack.rows(database, `SELECT id FROM Doc WHERE search_index('Doc[${name}]', '${word}')`),
    ),
  );
  words.forEach((word, n) => {
    const wanted = idsText(byWord.get(word) ?? []);
    const told = idsText(found[n] ?? []);
    if (wanted !== told)
      violations.push(`Doc[${name}] finds ${word} in ${told}, a scan in ${wanted}`);
  });
  const prefixed = await attack.rows(
    database,
    `SELECT id FROM Doc WHERE search_index('Doc[${name}]', 'u*')`,
  );
  if (idsText(prefixed) !== idsText(rows.filter((row) => wordsOf(row[name]).size > 0)))
    violations.push(`Doc[${name}] finds u* in ${prefixed.length} texts, a scan in ${rows.length}`);
  return violations.slice(0, 5);
}

export function idsText(rows: readonly Row[]): string {
  return rows
    .map((row) => Number(row['id']))
    .sort((a, b) => a - b)
    .join();
}

export function wordsOf(text: unknown): ReadonlySet<string> {
  return new Set(String(text).split(' '));
}

export function uniqueWord(id: number, version: number): string {
  return `u${id}x${version}`;
}

export function rowOf(id: number, { v, w }: Doc) {
  return { id, v, w, body: textOf(id, v), note: textOf(w, w) };
}

/** Some dozens of words, of which the first ones are frequent; one text in a hundred is long. */
export function textOf(id: number, version: number): string {
  let state = Math.imul(id + 1, 0x9e3779b1) ^ Math.imul(version, 0x85ebca6b);
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const words = [uniqueWord(id, version), 'all'];
  const length = next() < 0.01 ? 2000 : 5 + Math.floor(next() * 25);
  for (let n = 0; n < length; n += 1) words.push(`w${Math.floor(next() ** 3 * wordCount)}`);
  return words.join(' ');
}
