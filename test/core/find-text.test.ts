import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLastText, findText } from '#core/text/find-text.ts';
import { seeded } from '#test/raft/support/random.ts';

test('a text in another one is found where the engine finds it, however long both are', () => {
  const random = seeded(1977);
  const word = (length: number) =>
    Array.from({ length }, () => 'ab'[random(8) === 0 ? 1 : 0]).join('');
  for (let round = 0; round < 60; round++) {
    const sought = word(28 + random(round % 3 === 0 ? 4_000 : 20));
    const around = [word(30_000 + random(5_000)), word(40_000), word(random(300))];
    const text = around.join(random(2) === 0 ? sought : sought.slice(1));
    for (const from of [-5, 0, 1, random(text.length), text.length, text.length + 9]) {
      assert.equal(findText(text, sought, from), text.indexOf(sought, from));
      assert.equal(findLastText(text, sought, from), text.lastIndexOf(sought, from));
    }
  }
});

test('a pattern that nearly fits at each position costs what both are long', () => {
  const half = 'a'.repeat(1_000_000);
  const text = half.repeat(8);
  const sought = `${half}b${half}`;
  // The engine would compare some 10^13 characters here.
  assert.equal(findText(text, sought), -1);
  assert.equal(findLastText(text, sought, text.length), -1);
  assert.equal(findText(text + sought, sought), text.length);
});
