import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rid } from '#core/value/rid.ts';
import { EntryMemory } from '#database/bulk/entry-memory.ts';

const mebibyte = 1024 * 1024;

/** Lengths around those at which memory grows, an entry that ends with a segment, and entries longer than a segment. */
const lengths = [
  1,
  64 * 1024,
  3 * mebibyte,
  5 * mebibyte,
  7,
  8 * mebibyte - 12,
  8 * mebibyte - 11,
  0,
  20 * mebibyte,
  16 * mebibyte - 12,
  8 * mebibyte - 29,
  5,
  9,
];

test('entries of any length keep their order, their keys and their records', () => {
  const memory = new EntryMemory();
  const ends: number[] = [];
  const entries = lengths.map((length, index) => {
    ends.push(memory.end);
    const key = Buffer.alloc(length, 65 + index);
    const entry = memory.add(key, 0, length);
    memory.setRid(entry, (index * 10) as Rid);
    return entry;
  });
  const walked: number[] = [];
  for (let entry = memory.entryAt(0); entry < memory.end; entry = memory.after(entry))
    walked.push(entry);
  assert.deepEqual(walked, entries);
  assert.deepEqual(
    ends.map((end) => memory.entryAt(end)),
    entries,
  );
  for (const [index, entry] of entries.entries()) {
    const length = lengths[index] ?? 0;
    const key = Buffer.alloc(length, 65 + index);
    assert.equal(memory.ridOf(entry), index * 10);
    assert.ok(memory.isKey(entry, key, 0, length));
    assert.equal(Buffer.compare(memory.keyOf(entry), key), 0);
    key.fill(64, Math.max(0, length - 1));
    assert.equal(memory.isKey(entry, key, 0, length), length === 0);
  }
});

test('an entry stays where it is when millions follow', () => {
  const memory = new EntryMemory();
  const key = Buffer.alloc(1000, 65);
  const first = memory.add(key, 0, key.length);
  for (let count = 0; count < 9000; count += 1) memory.add(key, 0, key.length);
  const { buffer } = memory.keyOf(first);
  for (let count = 0; count < 30_000; count += 1) memory.add(key, 0, key.length);
  assert.equal(memory.keyOf(first).buffer, buffer);
});

test('an import whose first id is longer than a segment begins with it', () => {
  const memory = new EntryMemory();
  const key = Buffer.alloc(9 * mebibyte, 65);
  const entry = memory.add(key, 0, key.length);
  assert.equal(memory.entryAt(0), entry);
  assert.equal(memory.after(entry), memory.end);
  const next = memory.add(key, 0, 3);
  assert.equal(memory.after(entry), next);
  assert.equal(memory.textOf(next), 'AAA');
});
