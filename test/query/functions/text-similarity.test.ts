import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  jaroWinklerSimilarity,
  levenshteinDistance,
} from '#query/functions/namespaced/text-similarity.ts';

// Goal: what is computed many characters at a time is what the definition says. Method: the table of Wagner and Fischer, and Jaro's
// pairs looked for one by one, over random texts that end on, before and behind blocks of 32 characters.

function tableDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(
        Math.min(
          (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
          (row[j] as number) + 1,
          (next[j - 1] as number) + 1,
        ),
      );
    row = next;
  }
  return row[b.length] as number;
}

function pairedSimilarity(a: string, b: string): number {
  if (a === b) return 1;
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1);
  const takenPlaces = new Set<number>();
  const matchedOfA: string[] = [];
  for (let i = 0; i < a.length; i += 1)
    for (let j = Math.max(0, i - reach); j <= Math.min(b.length - 1, i + reach); j += 1)
      if (!takenPlaces.has(j) && a[i] === b[j]) {
        takenPlaces.add(j);
        matchedOfA.push(a[i] as string);
        break;
      }
  const count = matchedOfA.length;
  if (count === 0) return 0;
  const matchedOfB = [...takenPlaces].sort((x, y) => x - y).map((j) => b[j]);
  const moved = matchedOfA.filter((unit, at) => unit !== matchedOfB[at]).length / 2;
  const jaro = (count / a.length + count / b.length + (count - moved) / count) / 3;
  let prefix = 0;
  while (prefix < 4 && prefix < a.length && a[prefix] === b[prefix]) prefix += 1;
  return jaro + prefix * 0.1 * (1 - jaro);
}

/** A generator of its own, so that each run sees the same texts. */
function below(max: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * max);
}
let seed = 20_261_129;

test('distances and similarities are those of the definition', () => {
  const lengths = [0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 100];
  for (let round = 0; round < 3_000; round += 1) {
    const unitCount = 1 + below(6);
    const first = below(4) === 0 ? 0xfffa : 97;
    const text = (): string =>
      Array.from({ length: lengths[below(lengths.length)] as number }, () =>
        String.fromCharCode(first + below(unitCount)),
      ).join('');
    const [a, b] = [text(), text()];
    const both = JSON.stringify([a, b]);
    assert.equal(levenshteinDistance(a, b), tableDistance(a, b), both);
    assert.equal(jaroWinklerSimilarity(a, b), pairedSimilarity(a, b), both);
  }
});
