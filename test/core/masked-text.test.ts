import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskSecrets, maskSecretsInPlace } from '#core/text/masked-text.ts';

const cases: readonly [text: string, masked: string, inPlace: string][] = [
  ['SELECT 1', 'SELECT 1', 'SELECT 1'],
  ["SET PASSWORD 'a\\'b' x", 'SET PASSWORD *** x', 'SET PASSWORD ****** x'],
  ['{"password": "abc"}', '{"password": ***}', '{"password": *****}'],
  ["identified  by 'abc'", 'identified  by ***', 'identified  by *****'],
  ["WITH encryptionKey = 'open", 'WITH encryptionKey = ***', 'WITH encryptionKey = *****'],
  ['import http://a:b@c/d', 'import http://***@c/d', 'import http://***@c/d'],
];

test('what stands behind words of secrets and before the @ of addresses is hidden', () => {
  for (const [text, masked, inPlace] of cases) {
    assert.equal(maskSecrets(text), masked);
    assert.equal(maskSecretsInPlace(text), inPlace);
    assert.equal(maskSecretsInPlace(text).length, text.length);
  }
});

test('doubled quotes end no literal; a word for secrets that is data itself hides nothing', () => {
  assert.equal(maskSecrets("SET PASSWORD 'x'' y' z"), 'SET PASSWORD *** z');
  for (const text of ["WHERE name = 'token' AND b = 'c'", 'SELECT passwords FROM U', 'a@b.c'])
    assert.equal(maskSecrets(text), text);
});

test('masking takes time in proportion to the text', () => {
  for (const piece of ["password = '", 'http://a:b', '\\', 'password ', 'x://', 'identified '])
    maskSecrets(piece.repeat(50_000));
});
