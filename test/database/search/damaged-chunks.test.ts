import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase } from '../support/open-test-database.ts';

// A byte of a chunk of postings is changed in the closed file, as a bad disk would. Records hold the words in capitals, so that only
// the index has them as they are looked for.

/** What a build lays, and what commits do. */
for (const kind of ['chunk', 'segment'] as const)
  test(`a damaged ${kind} of postings is refused for its words, told by CHECK DATABASE and mended by REBUILD INDEX`, () =>
    checkDamage(kind));

async function checkDamage(kind: 'chunk' | 'segment'): Promise<void> {
  const database = await openTestDatabase();
  const found = (query: string) =>
    database.print("SELECT n FROM A WHERE search_index('A[x]', :query) ORDER BY n", { query });
  const check = async () => (await database.run('CHECK DATABASE'))[0]?.['totalErrors'];
  try {
    await database.run('CREATE DOCUMENT TYPE A');
    await database.run('CREATE PROPERTY A.x STRING');
    const put = 'INSERT INTO A SET n = :n, x = :x';
    // As one commit, so that all of it lies in one segment.
    const putAll = (from: number, textOf: (n: number) => string) => {
      const row = (n: number) =>
        new Map<string, Value>([
          ['n', from + n],
          ['x', textOf(n)],
        ]);
      const all = Array.from({ length: 3_000 }, (_, n) => row(n));
      return database.run('INSERT INTO A CONTENT :all', { all });
    };
    const create = 'CREATE INDEX ON A (x) FULL_TEXT';
    if (kind === 'segment') await database.run(create);
    await putAll(0, (n) => `M${n} UNMISTAKABLE Z${n}`);
    if (kind === 'chunk') await database.run(create);
    assert.equal(await found('m7'), '{n: 7}');
    let damages = 0;
    await database.reopen(() => {
      const path = join(database.directory, 'test', 'data.mdb');
      const file = readFileSync(path);
      for (let at = file.indexOf('unmist'); at >= 0; at = file.indexOf('unmist', at + 1)) {
        // A key has the index or the segment before the word; LMDB itself would be led astray by it.
        if (file[at - 1] === 2 && file[at - 2] === 1) continue;
        file[at] = (file[at] ?? 0) ^ 0x20;
        damages += 1;
      }
      writeFileSync(path, file);
    });
    assert.ok(damages > 0);
    await assert.rejects(found('unmistakable'), {
      code: 'CorruptedRecord',
      message: /a chunk of entries of index \d+, from '.*' on/,
    });
    assert.equal(await found('m7'), '{n: 7}');
    // What was not in the chunk goes on; changes do not look at it.
    await database.run(put, { n: 3_000, x: 'M1 UNMISTAKABLE' });
    assert.equal(await found('+m1'), '{n: 1}\n{n: 3000}');
    // So many that the checkpoint would take the damaged segment into theirs.
    await putAll(4_000, (n) => `B${n} C${n}`);
    await database.database.engine.checkpoint();
    assert.equal(await found('+m1'), '{n: 1}\n{n: 3000}');
    assert.equal(await found('+b5'), '{n: 4005}');
    await assert.rejects(found('unmistakable'), { code: 'CorruptedRecord' });
    assert.notEqual(await check(), 0);
    await assert.rejects(database.run('COMPACT INDEX `A[x]`'), { code: 'CorruptedRecord' });
    await database.run('REBUILD INDEX `A[x]`');
    assert.equal((await found('unmistakable')).split('\n').length, 3_001);
    assert.equal(await check(), 0);
  } finally {
    await database.close();
  }
}
