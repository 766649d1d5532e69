import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskSecrets, maskSecretsInPlace } from '#core/masked-text.ts';

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
