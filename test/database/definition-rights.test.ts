import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Access, Principal } from '#core/principal.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Who may define what, and who may run it (sql.md 14 and 16.8, security.md 4.3).

/** May do everything but touch records of `Secret` and write scripts of other languages. */
const clerk: Principal = { name: 'clerk', isRoot: false, via: 'password' };
/** May insert into `Item` and read it, and nothing else. */
const till: Principal = { name: 'till', isRoot: false, via: 'password' };

function requireAccess(who: Principal, _database: string, { effects, types }: Access): void {
  for (const effect of effects) {
    const isRecord = ['read', 'insert', 'update', 'delete'].includes(effect);
    const isDenied =
      who.name === 'till'
        ? !isRecord || types === undefined || types.some((type) => type !== 'Item')
        : isRecord
          ? types === undefined || types.includes('Secret')
          : effect === 'security';
    if (isDenied) throw new DatabaseError('Forbidden', `${who.name} ${effect} ${types?.join()}`);
  }
}

function canRead({ name }: Principal, _database: string, type?: string): boolean {
  return type !== undefined && (name === 'till' ? type === 'Item' : type !== 'Secret');
}

let db: TestDatabase;
before(async () => {
  db = await openTestDatabase({
    authorizer: { require: requireAccess, canAccess: () => true, canRead },
  });
  for (const statement of [
    'CREATE DOCUMENT TYPE Item',
    'CREATE DOCUMENT TYPE Secret',
    'CREATE DOCUMENT TYPE Log',
    "INSERT INTO Secret SET word = 'xyzzy'",
    'DEFINE FUNCTION s.peek "SELECT word FROM Secret"',
    'DEFINE FUNCTION s.outer "SELECT `s.peek`()"',
    'DEFINE FUNCTION s.leak "INSERT INTO Secret SET word = :w" PARAMETERS [w]',
    `CREATE TRIGGER logged AFTER CREATE ON Item EXECUTE SQL "INSERT INTO Log SET n = $record.n, word = (SELECT word FROM Secret)[0].word"`,
  ])
    await db.run(statement);
});
after(() => db.close());

async function refused(principal: Principal, text: string, language = 'sql'): Promise<void> {
  await assert.rejects(db.run(text, {}, { principal }, language), { code: 'Forbidden' }, text);
}

test('who calls a function needs the rights of its body, however deep it lies', async () => {
  await refused(clerk, 'SELECT `s.peek`()');
  await refused(clerk, 'SELECT `s.outer`() AS w');
  await refused(clerk, "SELECT `s.leak`('x')");
  await refused(clerk, 'SELECT name FROM Item WHERE 1 = 0 AND `s.outer`() = 1');
  await refused(clerk, 'LET x = `s.outer`(); RETURN 1', 'sqlscript');
  await refused(clerk, "IF (false) { LET x = `s.leak`('y'); }", 'sqlscript');
  await refused(
    clerk,
    'DEFINE FUNCTION c.wrap "SELECT `s.peek`()"; SELECT `c.wrap`()',
    'sqlscript',
  );
});

test('a trigger runs for everybody who may write its type, and is made by who may do what it does', async () => {
  await db.run('INSERT INTO Item SET n = 1', {}, { principal: till });
  assert.deepEqual(await db.run('SELECT n, word FROM Log'), [{ n: 1, word: 'xyzzy' }]);
  const trigger = (action: string) =>
    `CREATE TRIGGER t AFTER CREATE ON Item EXECUTE SQL "${action}"`;
  await refused(clerk, trigger('INSERT INTO Log SET w = (SELECT word FROM Secret)'));
  await refused(clerk, trigger('SELECT `s.peek`()'));
  await refused(clerk, trigger('SELECT FROM NotThereYet'));
  await refused(till, trigger('SELECT 1'));
  await refused(till, 'DROP TRIGGER logged');
  await db.run(trigger('INSERT INTO Log SET n = 0'), {}, { principal: clerk });
  await db.run('DROP TRIGGER t', {}, { principal: clerk });
});

test('a materialized view is made by who may read what it reads', async () => {
  await refused(clerk, 'CREATE MATERIALIZED VIEW v AS SELECT word FROM Secret');
  await refused(till, 'CREATE MATERIALIZED VIEW v AS SELECT n FROM Item');
  await db.run('CREATE MATERIALIZED VIEW words AS SELECT word FROM Secret');
  assert.deepEqual(await db.run('SELECT word FROM words', {}, { principal: clerk }), [
    { word: 'xyzzy' },
  ]);
  await refused(till, 'SELECT FROM words');
  await refused(till, 'REFRESH MATERIALIZED VIEW words');
  await refused(till, 'ALTER MATERIALIZED VIEW words REFRESH INCREMENTAL');
  await refused(till, 'CREATE GRAPH ANALYTICAL VIEW g');
});

test('scripting languages need the right for them before anything else is said', async () => {
  const js = 'CREATE TRIGGER j AFTER CREATE ON Item EXECUTE JAVASCRIPT "return true"';
  await refused(clerk, js);
  await refused(clerk, 'DEFINE FUNCTION j.f "return 1" LANGUAGE js');
  await db.run(js);
  await db.run('DEFINE FUNCTION j.f "return 1" LANGUAGE js');
  await refused(clerk, js);
  await refused(clerk, 'DEFINE FUNCTION j.f "return 2" LANGUAGE js');
  await refused(clerk, 'DROP TRIGGER j');
  await refused(clerk, 'DELETE FUNCTION j.f');
  await db.run('DROP TRIGGER j');
  await db.run('DELETE FUNCTION j.f');
});

test('a command of Cypher on the schema asks for the right to it when there is nothing to do, too', async () => {
  await db.run('CREATE VERTEX TYPE Stop');
  await db.run('CREATE INDEX plain FOR (s:Stop) ON (s.n)', {}, {}, 'cypher');
  await db.run('CREATE CONSTRAINT own FOR (s:Stop) REQUIRE s.id IS UNIQUE', {}, {}, 'cypher');
  for (const text of [
    'DROP INDEX missing IF EXISTS',
    'DROP CONSTRAINT missing IF EXISTS',
    'CREATE INDEX plain IF NOT EXISTS FOR (s:Stop) ON (s.n)',
    'CREATE CONSTRAINT own IF NOT EXISTS FOR (s:Stop) REQUIRE s.id IS UNIQUE',
  ]) {
    await refused(till, text, 'cypher');
    assert.deepEqual(await db.run(text, {}, {}, 'cypher'), [], text);
  }
});
