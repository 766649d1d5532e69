import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { entryKind } from '#cluster/replication/entry-codec.ts';

// The page that says of everything that changes data how it travels: its tests are there, and no kind of entry is missing.

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'server/cluster/replication/WRITES.md'), 'utf8');

test('every row names a test that is there', () => {
  const rows = page.split('\n').filter((line) => /^\| (?!what|-)/.test(line));
  assert.ok(rows.length > 20, String(rows.length));
  const without = rows.filter((row) => {
    const file = /\| `(test\/[\w./-]+\.ts)` \|$/.exec(row)?.[1];
    return file === undefined || !existsSync(join(root, file));
  });
  assert.deepEqual(without, []);
});

test('every kind of entry stands on it', () => {
  const absent = Object.keys(entryKind).filter((kind) => !page.includes(`\`${kind}\``));
  assert.deepEqual(absent, []);
});
