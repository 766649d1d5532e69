import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { deriver, entriesOf, plain, words } from './chunked-fixture.ts';
import { Log, openEngine, person, put, temporaryDirectory } from './engine-fixture.ts';

// A byte of a key of a chunk is changed in the closed file, so that LMDB's searches and walks are led astray. A compaction takes several
// slices, each of which begins with a search: it says that the index is damaged, or the index has all that it had.

const wordCount = 600;
/** Long, so that each has a chunk of its own. */
const wordOf = (n: number): string => `k${String(n).padStart(4, '0')}${'y'.repeat(900)}`;

/** Bits of a key: of the index, the kind of entry, the word. */
const damages = [
  { place: 3, bit: 1 },
  { place: 7, bit: 1 },
  { place: 8, bit: 0x40 },
];

test('a compaction of several slices tells a damaged key of a chunk, wherever it leads', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory, { deriver });
  const log = new Log(engine);
  for (let from = 0; from < wordCount; from += 100)
    await log.commit(
      ...Array.from({ length: 100 }, (_, n) =>
        put(engine, person(from + n), { text: wordOf(from + n) }),
      ),
    );
  await engine.compactEntries(words.id);
  await engine.close();
  const file = readFileSync(join(directory, 'data.mdb'));
  let told = 0;
  let count = 0;
  for (const n of [0, 256, wordCount - 1]) {
    const key = Buffer.concat([Buffer.of(0, 0, 0, words.id, 2), Buffer.from(wordOf(n))]);
    for (let at = file.indexOf(key); at >= 0; at = file.indexOf(key, at + 1))
      for (const { place, bit } of damages) {
        const copy = temporaryDirectory(context);
        cpSync(directory, copy, { recursive: true });
        const damaged = Buffer.from(file);
        damaged[at + place] = (damaged[at + place] as number) ^ bit;
        writeFileSync(join(copy, 'data.mdb'), damaged);
        count += 1;
        if (await isTold(copy, `byte ${place} ^ ${bit} of word ${n} at ${at}`)) told += 1;
        rmSync(copy, { recursive: true });
      }
  }
  context.diagnostic(`${told} of ${count} told`);
  assert.ok(told > count / 2);
});

/** Otherwise everything is there. */
async function isTold(directory: string, what: string): Promise<boolean> {
  const engine = openEngine(directory, { deriver });
  try {
    await engine.compactEntries(words.id);
    using snapshot = engine.snapshot();
    const found = entriesOf(snapshot, words.id);
    assert.deepEqual(found.length, wordCount, what);
    assert.deepEqual(found, entriesOf(snapshot, plain.id), what);
    return false;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'CorruptedRecord') throw error;
    return true;
  } finally {
    await engine.close();
  }
}
