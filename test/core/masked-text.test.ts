import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskSecrets } from '#core/masked-text.ts';

test('literals behind words for secrets, and users in addresses, are hidden', () => {
  const masked: readonly [string, string][] = [
    ["CREATE USER jay SET PASSWORD 'x'' y'", 'CREATE USER jay SET PASSWORD ***'],
    ['{"password" : "s3\\"cret", "a": 1}', '{"password" : ***, "a": 1}'],
    ["BACKUP DATABASE WITH encryptionKey = 'abc'", 'BACKUP DATABASE WITH encryptionKey = ***'],
    ["LET token = 'abc", 'LET token = ***'],
    ['import database d http://jay:pw@host/x', 'import database d http://***@host/x'],
  ];
  for (const [text, shown] of masked) assert.equal(maskSecrets(text), shown);
  for (const text of ["SELECT FROM P WHERE name = 'token'", 'SELECT passwords FROM U', 'a@b.c'])
    assert.equal(maskSecrets(text), text);
});

test('masking takes time in proportion to the text', () => {
  for (const piece of ["password = '", 'http://a:b', '\\', 'password ', 'x://'])
    maskSecrets(piece.repeat(100_000));
});
