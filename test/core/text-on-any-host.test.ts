import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { foldCase } from '#core/text/case-folding.ts';

// Text sorts and folds the same whatever the host's language is, and wherever it keeps data of its own.

const program = `
  import { foldCase } from '#core/text/case-folding.ts';
  import { compileLike } from '#core/text/like-pattern.ts';
  import { compareValues } from '#core/value/value-order.ts';
  const words = ['z', 'Z', 'ä', 'Ä', 'a', 'I', 'İ', 'ı', 'i', 'ß', 'ẞ', 'ss', 'Σ', 'ς', 'σ', 'ǆ', 'ǅ', 'Ǆ', 'я', 'Я', 'ё',
    '中', '文', '\\uffee', '😀', '', ' ', '10', '9', 'ö', 'o\\u0308', 'ch', 'h', 'll', 'l', 'ñ', 'n', 'å', 'aa'];
  const sorted = [...words].sort(compareValues);
  const folded = words.map(foldCase);
  const cases = words.map((word) => [word.toUpperCase(), word.toLowerCase()]);
  const like = words.map((word) => compileLike('I%', { ignoreCase: true }).matches(word));
  console.log(JSON.stringify({ sorted, folded, cases, like }));
`;

/** @returns what the program prints on a host of that language */
function output(language: string | undefined, flags: readonly string[]): string {
  const languages =
    language === undefined ? {} : { LANG: language, LC_ALL: language, LC_COLLATE: language };
  const { LANG: _, LC_ALL: __, ...environment } = process.env;
  return execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', program], {
    env: { ...environment, ...languages },
    encoding: 'utf8',
  });
}

test('order and letter case do not depend on LANG, LC_ALL and --icu-data-dir', () => {
  const plain = output(undefined, []);
  const { sorted, like } = JSON.parse(plain) as { sorted: string[]; like: boolean[] };
  const byCodePoint = [...sorted].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(sorted, byCodePoint);
  assert.equal(like.filter(Boolean).length, 3, 'I, İ and i; the dotless one is another letter');
  assert.equal(output('tr_TR.UTF-8', []), plain);
  assert.equal(output('sv_SE.UTF-8', ['--icu-data-dir=/nonexistent']), plain);
});

test('folding parts of a text gives parts of the folded text', () => {
  for (const text of ['ΟΔΟΣ ΟΔΟΣΑ', 'ΣΑΣ', 'Straße', 'İstanbul', 'ǅ', 'ΑΣ.ΣΑ', '😀ΣẞΣ']) {
    const characters = Array.from(text);
    for (let at = 0; at <= characters.length; at += 1) {
      const [start, rest] = [characters.slice(0, at).join(''), characters.slice(at).join('')];
      assert.equal(foldCase(start) + foldCase(rest), foldCase(text), `${text} at ${at}`);
    }
  }
});
