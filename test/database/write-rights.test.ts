import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Whoever may write some types changes no record of another, whatever names it (security.md 4.3).

const clerk: Principal = { name: 'clerk', isRoot: false, via: 'password' };

/** Reads everything, and does anything with `Person`. */
const authorizer: Authorizer = {
  require(who, _database, { effects, types }) {
    if (who.isRoot || (effects.size === 1 && effects.has('read'))) return;
    const foreign = types?.find((type) => type !== 'Person');
    if (types === undefined || foreign !== undefined)
      throw new DatabaseError('Forbidden', `${[...effects].join()} ${foreign ?? 'anything'}`);
  },
  canAccess: () => true,
  canRead: () => true,
};

let db: TestDatabase;
let secret: string;
let jay: string;
let ada: string;

beforeEach(async () => {
  db = await openTestDatabase({ authorizer });
  for (const statement of [
    'CREATE VERTEX TYPE Person',
    'CREATE VERTEX TYPE Secret',
    "CREATE VERTEX Secret SET pin = 'xyzzy'",
    "CREATE VERTEX Person SET name = 'Jay', link = (SELECT FROM Secret)[0].@rid",
    "CREATE VERTEX Person SET name = 'Ada'",
    'DEFINE FUNCTION s.mark "UPDATE :r SET marked = 1" PARAMETERS [r]',
    'DEFINE FUNCTION s.markAgain "SELECT `s.mark`(:r) AS n" PARAMETERS [r]',
    'DEFINE FUNCTION s.drop "DELETE FROM :r" PARAMETERS [r]',
    'DEFINE FUNCTION s.hide "MOVE VERTEX (SELECT FROM :r) TO TYPE:Secret" PARAMETERS [r]',
  ])
    await db.run(statement);
  const ridOf = async (query: string) => String((await db.run(query))[0]?.['r']);
  secret = await ridOf('SELECT @rid.asString() AS r FROM Secret');
  jay = await ridOf("SELECT @rid.asString() AS r FROM Person WHERE name = 'Jay'");
  ada = await ridOf("SELECT @rid.asString() AS r FROM Person WHERE name = 'Ada'");
});
afterEach(() => db.close());

const placed = (text: string) =>
  text.replaceAll('SECRET', secret).replaceAll('JAY', jay).replaceAll('ADA', ada);
const languageOf = (text: string) => (/^(LET|FOREACH)/.test(text) ? 'sqlscript' : 'sql');
const run = (text: string) => db.run(placed(text), {}, { principal: clerk }, languageOf(text));

test('no way leads to a change of a record of another type', async () => {
  for (const text of [
    'UPDATE Secret SET pin = 1',
    'UPDATE SECRET SET pin = 1',
    'UPDATE [ADA, SECRET] SET pin = 1',
    'UPDATE (SELECT FROM Secret) SET pin = 1',
    'UPDATE (SELECT expand(link) FROM JAY) SET pin = 1',
    'UPDATE (SELECT FROM (SELECT expand(link) FROM JAY)) SET pin = 1',
    'UPDATE (SELECT expand(SECRET)) SET pin = 1',
    'UPDATE (TRAVERSE link FROM JAY) SET pin = 1',
    'DELETE FROM SECRET',
    'DELETE FROM (SELECT expand(link) FROM JAY)',
    'DELETE VERTEX FROM SECRET',
    'MOVE VERTEX SECRET TO TYPE:Person',
    'MOVE VERTEX (SELECT expand(link) FROM JAY) TO TYPE:Person',
    'MOVE VERTEX (SELECT expand(link) FROM JAY) TO TYPE:Secret',
    'MOVE VERTEX (SELECT expand(JAY)) TO TYPE:Secret',
    'SELECT `s.mark`(SECRET)',
    'SELECT `s.markAgain`(SECRET)',
    'SELECT `s.mark`(link) FROM Person',
    'SELECT `s.drop`(SECRET)',
    'SELECT `s.hide`(JAY)',
    'LET a = `s.mark`(SECRET)',
    'UPDATE JAY SET n = `s.mark`(SECRET)',
    'INSERT INTO Person SET n = `s.mark`(SECRET)',
    'LET a = SECRET; UPDATE $a SET pin = 1',
    'LET a = (SELECT link FROM JAY); DELETE FROM $a[0].link',
    'FOREACH ($s IN (SELECT FROM Secret)) { UPDATE $s SET pin = 1; }',
    'CREATE TRIGGER t AFTER CREATE ON TYPE Person EXECUTE SQL "UPDATE SECRET SET pin = 1"',
    'CREATE TRIGGER t AFTER CREATE ON TYPE Person EXECUTE SQL "DELETE FROM (SELECT expand(link) FROM Person)"',
  ])
    await assert.rejects(run(text), { code: 'Forbidden' }, text);
  assert.deepEqual(await db.run('SELECT pin, marked FROM Secret'), [
    { pin: 'xyzzy', marked: null },
  ]);
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM Person'), [{ n: 2 }]);
});

test('records of a type that may be written are found by every way', async () => {
  for (const text of [
    'UPDATE JAY SET n = 1',
    'UPDATE [JAY, ADA] SET n = 1',
    'UPDATE (SELECT FROM Person) SET n = 1',
    'UPDATE (SELECT expand(JAY)) SET n = 1',
    'UPDATE (TRAVERSE boss FROM ADA) SET n = 1',
    'MOVE VERTEX (SELECT expand(both()) FROM JAY) TO BUCKET:Person_0',
    'SELECT `s.mark`(JAY)',
    'SELECT `s.markAgain`(@rid) FROM Person',
    'UPDATE JAY SET n = `s.mark`(JAY)',
    'LET a = `s.mark`(JAY)',
    'LET a = JAY; UPDATE $a SET n = 1',
    'FOREACH ($p IN (SELECT FROM Person)) { UPDATE $p SET n = 2; }',
    'DELETE FROM ADA',
    'DELETE VERTEX FROM JAY',
  ])
    await run(text);
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM Person'), [{ n: 0 }]);
  await db.run("INSERT INTO Person SET name = 'Cy'");
  await db.run(
    'UPDATE :r SET n = 1',
    { r: (await db.stream('SELECT @rid FROM Person')).complete?.values[0] ?? null },
    { principal: clerk },
  );
  const [before] = await db.run('SELECT @rid.asString() AS r FROM Person');
  await run(
    `MOVE VERTEX (SELECT FROM (SELECT expand(${before?.['r']}))) TO TYPE:Person SET n = n + 1`,
  );
  assert.deepEqual(await db.run('SELECT n FROM Person'), [{ n: 2 }]);
});
