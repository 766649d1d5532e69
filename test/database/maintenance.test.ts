import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Access, Authorizer, Principal } from '#core/principal.ts';
import { DatabaseError } from '#core/errors.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

let opened: TestDatabase | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

const ada: Principal = { name: 'ada', isRoot: false, via: 'password' };

/** Remembers what was asked for. */
class Asked implements Authorizer {
  readonly asked: string[] = [];
  require(_who: Principal, _database: string, { effects, types }: Access): void {
    for (const effect of effects) this.asked.push(`${effect} ${types?.join(',') ?? '*'}`);
  }
  canAccess(): boolean {
    return true;
  }
  canRead(): boolean {
    return true;
  }
  take(): readonly string[] {
    return this.asked.splice(0).sort();
  }
}

test('each maintenance statement asks for the rights of sql.md 16.8', async () => {
  const authorizer = new Asked();
  opened = await openTestDatabase({ authorizer });
  const { run } = opened;
  for (const text of [
    'CREATE DOCUMENT TYPE S',
    'CREATE PROPERTY S.id INTEGER',
    'CREATE INDEX ON S (id) UNIQUE',
  ])
    await run(text);
  const expected = {
    'ALTER DATABASE `service.dateFormat` "yyyy"': ['settings *'],
    'ALTER TYPE S CUSTOM a = 1': ['schema *'],
    'ALTER TYPE S BUCKETSELECTIONSTRATEGY `thread`': ['schema *', 'settings *'],
    'ALTER TYPE S WITH repartition = true': ['schema S', 'update S'],
    'REBUILD INDEX *': ['schema *'],
    'COMPACT INDEX *': ['schema *'],
    'REBUILD TYPE S': ['schema S', 'update S'],
    'TRUNCATE TYPE S': ['delete S'],
    'TRUNCATE BUCKET S_0': ['delete S'],
    'CHECK DATABASE': ['read '],
    'CHECK DATABASE FIX': ['repair *'],
    // Seeing a plan needs access to the database, no more (security.md 4.3).
    'EXPLAIN DELETE FROM S': ['read '],
    'PROFILE DELETE FROM S': ['delete S', 'read S'],
    'FIND REFERENCES #1:0': ['read S'],
  };
  for (const [text, rights] of Object.entries(expected)) {
    authorizer.take();
    await run(text, {}, { principal: ada });
    assert.deepEqual([...new Set(authorizer.take())], rights, text);
  }
});

test('an index is rebuilt while records are written, and a rebuild that is cancelled changes nothing', async () => {
  opened = await openTestDatabase();
  const { run } = opened;
  await run('CREATE DOCUMENT TYPE S');
  await run('CREATE PROPERTY S.id INTEGER');
  await run('CREATE INDEX ON S (id) UNIQUE');
  await run(
    `INSERT INTO S CONTENT [${Array.from({ length: 2000 }, (_, id) => `{id:${id}}`).join(',')}]`,
  );
  const writes = async (): Promise<void> => {
    for (let id = 2000; id < 2100; id += 1) await run(`INSERT INTO S SET id = ${id}`);
  };
  await Promise.all([run('REBUILD INDEX `S[id]`'), writes(), run('REBUILD INDEX *')]);
  for (const id of [0, 1999, 2000, 2099])
    assert.equal((await run(`SELECT FROM S WHERE id = ${id}`)).length, 1);
  assert.deepEqual(await run('SELECT entries FROM schema:index:`S[id]`'), [{ entries: 2100 }]);

  const abort = new AbortController();
  const rebuild = run('REBUILD INDEX *', {}, { signal: abort.signal });
  abort.abort();
  await assert.rejects(
    rebuild,
    (error) => error instanceof DatabaseError && error.code === 'Cancelled',
  );
  assert.deepEqual(await run('SELECT name, valid, compacting FROM schema:indexes'), [
    { name: 'S[id]', valid: true, compacting: false },
  ]);
  assert.equal((await run('SELECT FROM S WHERE id = 5')).length, 1);
});

test('a unique edge type keeps one edge per pair, however many are created at once', async () => {
  opened = await openTestDatabase();
  const { run } = opened;
  await run('CREATE VERTEX TYPE V');
  await run('CREATE EDGE TYPE U LIGHTWEIGHT UNIQUE');
  await run('INSERT INTO V CONTENT [{n:1},{n:2}]');
  const text = 'CREATE EDGE U FROM (SELECT FROM V WHERE n = 1) TO (SELECT FROM V WHERE n = 2)';
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => run(text)));
  assert.equal(outcomes.filter((one) => one.status === 'fulfilled').length, 1);
  assert.deepEqual(await run("SELECT outE('U').size() AS c FROM V WHERE n = 1"), [{ c: 1 }]);
});

test('truncating in pieces leaves nothing and may be cancelled between two of them', async () => {
  opened = await openTestDatabase({ settings: { truncateBatchSize: '10' } });
  const { run } = opened;
  await run('CREATE DOCUMENT TYPE S');
  await run(
    `INSERT INTO S CONTENT [${Array.from({ length: 500 }, (_, id) => `{id:${id}}`).join(',')}]`,
  );
  const abort = new AbortController();
  const cut = run('TRUNCATE TYPE S', {}, { autoCommit: false, signal: abort.signal });
  abort.abort();
  await assert.rejects(cut);
  await run('TRUNCATE TYPE S', {}, { autoCommit: false });
  assert.deepEqual(await run('SELECT count(*) AS c FROM S'), [{ c: 0 }]);
});
