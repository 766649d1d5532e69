import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Whoever may not read every type meets no record of the others, whatever way a statement takes to it (security.md 4.3).

const clerk: Principal = { name: 'clerk', isRoot: false, via: 'password' };
const hidden = new Set(['Secret', 'Hides']);

const noRecords: ReadonlySet<string> = new Set(['schema', 'settings']);

const authorizer: Authorizer = {
  require(who, _database, { effects, types }) {
    if (who.isRoot) return;
    if (who.name === 'maker' && [...effects].every((effect) => noRecords.has(effect))) return;
    const named = types?.find((type) => hidden.has(type));
    if (types === undefined || named !== undefined)
      throw new DatabaseError('Forbidden', `${[...effects].join()} ${named ?? 'anything'}`);
  },
  canAccess: () => true,
  canRead: (who, _database, type) => who.isRoot || (type !== undefined && !hidden.has(type)),
};

let db: TestDatabase;
let secret: string;
let jay: string;
let ada: string;

before(async () => {
  db = await openTestDatabase({ authorizer });
  for (const statement of [
    'CREATE VERTEX TYPE Person',
    'CREATE VERTEX TYPE Secret',
    'CREATE EDGE TYPE Knows',
    'CREATE EDGE TYPE Hides',
    'CREATE DOCUMENT TYPE Note',
    'CREATE PROPERTY Secret.pin STRING',
    'CREATE INDEX ON Secret (pin) UNIQUE',
    "CREATE VERTEX Secret SET pin = 'xyzzy'",
    "CREATE VERTEX Person SET name = 'Jay', link = (SELECT FROM Secret)[0].@rid",
    "CREATE VERTEX Person SET name = 'Ada', link = (SELECT FROM Person WHERE name = 'Jay')[0].@rid",
    "CREATE VERTEX Person SET name = 'Bob'",
    "CREATE EDGE Hides FROM (SELECT FROM Person WHERE name = 'Jay') TO (SELECT FROM Secret)",
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'Ada') TO (SELECT FROM Person WHERE name = 'Bob')",
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'Bob') TO (SELECT FROM Secret)",
    'DEFINE FUNCTION s.follow "SELECT :r.pin AS p" PARAMETERS [r]',
    'DEFINE FUNCTION s.name "SELECT :r.name AS p" PARAMETERS [r]',
  ])
    await db.run(statement);
  const ridOf = async (query: string) => String((await db.run(query))[0]?.['r']);
  secret = await ridOf('SELECT @rid.asString() AS r FROM Secret');
  jay = await ridOf("SELECT @rid.asString() AS r FROM Person WHERE name = 'Jay'");
  ada = await ridOf("SELECT @rid.asString() AS r FROM Person WHERE name = 'Ada'");
});
after(() => db.close());

const placed = (text: string) =>
  text.replaceAll('SECRET', secret).replaceAll('JAY', jay).replaceAll('ADA', ada);

const refused = [
  'SELECT FROM Secret',
  'SELECT FROM SECRET',
  'SELECT FROM [JAY, SECRET]',
  'SELECT FROM index:`Secret[pin]`',
  'SELECT FROM bucket:Secret_0',
  'SELECT (SELECT pin FROM Secret) AS x',
  'SELECT SECRET.pin AS x',
  "SELECT 'SECRET'.asRecord() AS x",
  'SELECT expand(SECRET)',
  'SELECT link.pin AS x FROM JAY',
  'SELECT link.* FROM JAY',
  'SELECT link:{pin} FROM JAY',
  'SELECT link:{*} FROM JAY',
  "SELECT link['pin'] AS x FROM JAY",
  'SELECT link.@type AS x FROM JAY',
  'SELECT expand(link) FROM JAY',
  'SELECT [link].pin AS x FROM JAY',
  'SELECT link.asRecord() AS x FROM JAY',
  'SELECT link.include("pin") AS x FROM JAY',
  'SELECT link.exclude("a") AS x FROM JAY',
  'SELECT link.keys() AS x FROM JAY',
  'SELECT link.values() AS x FROM JAY',
  'SELECT map(name, link.pin) AS x FROM JAY',
  'SELECT max(link.pin) AS x FROM Person',
  "SELECT FROM Person WHERE link.pin = 'xyzzy'",
  'SELECT name FROM Person ORDER BY link.pin',
  'SELECT count(*) FROM Person GROUP BY link.pin',
  'SELECT link.link.pin AS x FROM ADA',
  "SELECT eval('link.pin = 1') AS x FROM JAY",
  "SELECT eval('(SELECT count(*) AS c FROM Secret)[0].c = 1') AS x FROM JAY",
  "SELECT eval('(SELECT FROM Secret).size() = 1') AS x FROM JAY",
  "SELECT out('Hides').size() AS x FROM JAY",
  "SELECT expand(outE('Hides')) FROM JAY",
  'SELECT out().size() AS x FROM JAY',
  "SELECT expand(out('Knows')) FROM Person",
  "SELECT out('Knows').pin AS x FROM Person",
  "SELECT out('Knows').out('Knows').pin AS x FROM ADA",
  'SELECT inV().pin AS x FROM Knows',
  'SELECT @in.pin AS x FROM Knows',
  'SELECT both().pin AS x FROM JAY',
  'TRAVERSE out() FROM ADA',
  'TRAVERSE link FROM JAY',
  'TRAVERSE * FROM JAY',
  'MATCH {type: Person, as: a}-Hides->{as: b} RETURN b',
  'MATCH {type: Person, as: a}-->{as: b} RETURN b.pin AS x',
  'MATCH {type: Person, as: a}-Knows->{as: b} RETURN b.pin AS x',
  "MATCH {type: Person, as: a}-Knows->{as: b, where: (pin = 'xyzzy')} RETURN a.name AS x",
  'MATCH {type: Person, as: a}-Knows->{as: b, while: ($depth < 5)} RETURN b.pin AS x',
  'SELECT link.name AS a, (SELECT count(*) FROM Secret) AS n FROM ADA',
  'SELECT shortestPath(JAY, SECRET) AS x',
  "SELECT dijkstra(JAY, SECRET, 'w') AS x",
  'SELECT `s.follow`(link) AS x FROM JAY',
  'INSERT INTO Note SET x = SECRET.pin',
  'INSERT INTO Note FROM SELECT link.pin AS pin FROM JAY',
  'LET a = SECRET; RETURN $a.pin',
  'LET a = (SELECT link FROM JAY); RETURN $a[0].link.pin',
  "IF (SECRET.pin = 'xyzzy') { RETURN 1; }",
];

const allowed: readonly (readonly [string, unknown])[] = [
  ['SELECT name AS x FROM Person', ['Jay', 'Ada', 'Bob']],
  ['SELECT name AS x FROM JAY', ['Jay']],
  ['SELECT name AS x FROM [JAY, ADA]', ['Jay', 'Ada']],
  ['SELECT link.name AS x FROM ADA', ['Jay']],
  ["SELECT out('Knows').name AS x FROM ADA", [['Bob']]],
  ["SELECT outE('Knows').size() AS x FROM Person", [0, 1, 1]],
  ["SELECT name AS x FROM (SELECT expand(out('Knows')) FROM ADA)", ['Bob']],
  ['SELECT name AS x FROM (TRAVERSE link FROM ADA MAXDEPTH 1)', ['Ada', 'Jay']],
  ["MATCH {type: Person, as: a, where: (name = 'Ada')}-Knows->{as: b} RETURN b.name AS x", ['Bob']],
  ['SELECT `s.name`(link) AS x FROM ADA', ['Jay']],
  ['SELECT count(*) AS x FROM Person', [3]],
  ['SELECT count(*) AS x FROM Knows', [2]],
];

const languageOf = (text: string) => (/^(LET|IF)/.test(text) ? 'sqlscript' : 'sql');

/** May change the schema, too. */
const maker = (text: string) =>
  db.run(placed(text), {}, { principal: { ...clerk, name: 'maker' } });

test('no way leads to a record of a type that may not be read', async () => {
  for (const text of refused) {
    await assert.rejects(
      db.run(placed(text), {}, { principal: clerk }, languageOf(text)),
      { code: 'Forbidden' },
      text,
    );
  }
  assert.deepEqual(await db.run('SELECT FROM Note'), []);
});

test('in a session it ends likewise', async () => {
  const sessionId = () => db.database.begin(clerk, 'REPEATABLE_READ');
  for (const text of ['SELECT SECRET.pin AS x', 'LET a = SECRET; RETURN $a.pin'])
    await assert.rejects(
      db.run(placed(text), {}, { principal: clerk, sessionId: sessionId() }, languageOf(text)),
      { code: 'Forbidden' },
      text,
    );
});

test('what may be read is found by every way', async () => {
  for (const [text, expected] of allowed) {
    const rows = await db.run(placed(text), {}, { principal: clerk });
    assert.deepEqual(
      rows.map((row) => row['x']),
      expected,
      text,
    );
  }
});

test('what is made once and runs for everybody follows no link for who may not read everything', async () => {
  const trigger = 'CREATE TRIGGER t AFTER CREATE ON TYPE Person EXECUTE SQL';
  for (const text of [
    'CREATE MATERIALIZED VIEW v AS SELECT link.pin AS pin FROM Person',
    'CREATE MATERIALIZED VIEW v AS SELECT link:{pin} AS pin FROM Person',
    'CREATE MATERIALIZED VIEW v AS SELECT expand(link) FROM Person',
    `${trigger} "INSERT INTO Note SET pin = $record.link.pin"`,
    `${trigger} "INSERT INTO Note SET pin = $record.link.asRecord()"`,
    `${trigger} "INSERT INTO Note SET pin = SECRET.pin"`,
  ])
    await assert.rejects(maker(text), { code: 'Forbidden' }, text);
  for (const text of [
    'CREATE MATERIALIZED VIEW v AS SELECT name FROM Person',
    'DROP MATERIALIZED VIEW v',
    `${trigger} "INSERT INTO Note SET name = $record.name"`,
    'DROP TRIGGER t',
  ])
    await maker(text);
});

test('a trigger on READ reads what the caller may not', async () => {
  await db.run(
    'CREATE TRIGGER veto BEFORE READ ON TYPE Person EXECUTE SQL "SELECT false FROM Secret WHERE pin.length() = $record.name"',
  );
  try {
    const rows = await db.run('SELECT name FROM Person', {}, { principal: clerk });
    assert.equal(rows.length, 3);
    await assert.rejects(db.run('SELECT FROM Secret', {}, { principal: clerk }), {
      code: 'Forbidden',
    });
    await assert.rejects(db.run(placed('SELECT link.pin FROM JAY'), {}, { principal: clerk }), {
      code: 'Forbidden',
    });
  } finally {
    await db.run('DROP TRIGGER veto');
  }
});

test('a result shows no record that its rows only name', async () => {
  for (const [principal, isSeen] of [
    [clerk, false],
    [{ ...clerk, name: 'root', isRoot: true }, true],
  ] as const) {
    const result = await db.stream(placed('SELECT link FROM JAY'), {}, { principal });
    const [bucket, position] = secret.slice(1).split(':').map(Number) as [number, number];
    const seen = result.records.record((bucket * 2 ** 37 + position) as never);
    assert.equal(seen !== undefined, isSeen);
    result.close();
  }
});

test('a vertex is deleted with edges that its deleter may not read', async () => {
  await db.run("CREATE VERTEX Person SET name = 'Gone'");
  await db.run(
    "CREATE EDGE Hides FROM (SELECT FROM Person WHERE name = 'Gone') TO (SELECT FROM Secret)",
  );
  await db.run("DELETE FROM Person WHERE name = 'Gone'", {}, { principal: clerk });
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM Hides'), [{ n: 1 }]);
});
