import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bytesOf,
  concatenated,
  decoded,
  lengthOf,
  quoted,
  written,
} from '#mcp/protocol/long-json.ts';

// Goal: a long text of an answer is the same whether it stays in pieces or not, and others have their turn between them.

const characters = 'a\u00e9\u20ac\u{1f600}"\\\n';

test('a long text in pieces is the JSON of the whole', async () => {
  let pauseCount = 0;
  const slices = {
    isSpent: true,
    pause: async () => {
      pauseCount += 1;
    },
  };
  for (const shift of [0, 1, 2, 3]) {
    const whole = 'x'.repeat(shift) + characters.repeat(20_000);
    pauseCount = 0;
    const pieces = await decoded(Buffer.from(whole), slices);
    assert.ok(typeof pieces !== 'string' && pauseCount >= 3, `${pauseCount} pauses`);
    const text = concatenated('{"records":', pieces, '}');
    assert.equal(lengthOf(text), whole.length + '{"records":}'.length);
    assert.deepEqual(written`{"records":${pieces}}`, text);
    assert.equal(written`${'one'} and ${'two'}`, 'one and two');
    const parts: Uint8Array[] = [];
    for await (const part of bytesOf(quoted(text), slices)) parts.push(part);
    assert.equal(JSON.parse(Buffer.concat(parts).toString()), `{"records":${whole}}`);
  }
});

test('a short text is one piece', async () => {
  const slices = { isSpent: true, pause: () => Promise.reject(new Error('no pause')) };
  assert.equal(await decoded(Buffer.from(characters), slices), characters);
  assert.equal(concatenated('a', 'b'), 'ab');
});
