import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

// The key-value language in a real database (contract 2, redis.md 3 to 5): values over HTTP are those of column `value`.

let data: TestDatabase;
before(async () => {
  data = await openTestDatabase();
  for (const statement of [
    'CREATE DOCUMENT TYPE Account',
    'CREATE PROPERTY Account.id LONG',
    'CREATE PROPERTY Account.code STRING',
    'CREATE INDEX ON Account (id) UNIQUE',
    'CREATE INDEX ON Account (code) NOTUNIQUE',
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.first STRING',
    'CREATE PROPERTY Person.last STRING',
    'CREATE INDEX ON Person (first, last) UNIQUE',
    'CREATE EDGE TYPE Knows',
  ])
    await data.run(statement);
});
after(() => data.close());

async function value(text: string, options = {}): Promise<unknown> {
  const rows = await data.run(text, {}, options, 'redis');
  assert.equal(rows.length, 1);
  return (rows[0] as { value: unknown }).value;
}

async function refused(text: string, message: RegExp, options = {}): Promise<void> {
  await assert.rejects(value(text, options), message);
}

test('transient keys are set, read, taken and counted', async () => {
  assert.equal(await value('PING'), 'PONG');
  assert.equal(await value('PING hello'), 'hello');
  assert.equal(await value('GET t1'), null);
  assert.equal(await value('SET t1 "a b"'), 'OK');
  assert.equal(await value('get t1'), 'a b');
  assert.equal(await value('SET t1 c NX'), null);
  assert.equal(await value('SET t2 c XX'), null);
  assert.equal(await value('SET t1 c XX GET'), 'a b');
  assert.equal(await value('SET t1 d NX GET'), 'c');
  assert.equal(await value('EXISTS t1 t1 t2'), 2);
  assert.equal(await value('GETDEL t1'), 'c');
  assert.equal(await value('GETDEL t1'), null);
  assert.equal(await value('SET ü é'), 'OK');
  assert.equal(await value('GET ü'), 'é');
});

test('a key may name the database of the request, and no other one', async () => {
  await data.databases.create('other');
  assert.equal(await value('SET test.p 1'), 'OK');
  assert.equal(await value('GET p'), '1');
  assert.equal(await value('SET a.b 2'), 'OK');
  assert.equal(await value('GET test.a.b'), '2');
  await refused('GET other.p', /key 'other.p' is one of database 'other'/);
});

test('SET refuses expiry and wrong options, and changes nothing', async () => {
  for (const option of ['EX', 'px', 'EXAT', 'PXAT', 'KEEPTTL'])
    await refused(
      `SET e v ${option} 10`,
      new RegExp(`unsupported SET option '${option.toUpperCase()}': transient keys have no expiry`),
    );
  await refused('SET e v NX XX', /syntax error/);
  await refused('SET e v NOPE', /syntax error/);
  assert.equal(await value('EXISTS e'), 0);
});

test('integers are exact to 64 bits and never wrap', async () => {
  assert.equal(await value('INCR n'), 1);
  assert.equal(await value('INCRBY n 41'), 42);
  assert.equal(await value('DECR n'), 41);
  assert.equal(await value('DECRBY n -1'), 42);
  assert.equal(await value('GET n'), '42');
  await value('SET n 9223372036854775806');
  assert.equal(String(await value('INCR n')), '9223372036854775807');
  await refused('INCR n', /increment or decrement would overflow/);
  assert.equal(await value('GET n'), '9223372036854775807');
  await refused('DECRBY n -9223372036854775808', /decrement would overflow/);
  await value('SET n -9223372036854775808');
  await refused('DECR n', /increment or decrement would overflow/);
  await refused('INCRBY n 9223372036854775808', /value is not an integer or out of range/);
  for (const text of ['x', '007', '"+1"', '1.0', '""', '" 1"']) {
    await value(`SET n ${text}`);
    await refused('INCR n', /value is not an integer or out of range/);
  }
});

test('floats are decimal texts', async () => {
  assert.equal(await value('INCRBYFLOAT f 3.0'), '3');
  assert.equal(await value('INCRBYFLOAT f 0.3'), '3.3');
  assert.equal(await value('GET f'), '3.3');
  await value('SET f 0.1');
  assert.equal(await value('INCRBYFLOAT f 0.2'), '0.3');
  assert.equal(await value('INCRBYFLOAT f -0.3'), '0');
  assert.equal(await value('INCRBYFLOAT f 1e21'), '1000000000000000000000');
  await value('SET f 5.0e3');
  assert.equal(await value('INCRBYFLOAT f 2.0e2'), '5200');
  await refused('INCRBYFLOAT f x', /value is not a valid float/);
  await refused('INCRBYFLOAT f nan', /value is not a valid float/);
  await value('SET f 1.7e308');
  await refused('INCRBYFLOAT f 1.7e308', /increment would produce NaN or Infinity/);
});

test('records are created, read, changed and deleted by their keys', async () => {
  assert.equal(await value('HSET Account {"id": 7, "code": "007", "name": "Bond"}'), 1);
  assert.equal(
    await value(`HSET test.Account {'id': 8, code: '7', nested: {a: [1, {b: 2}]}} {"id": 9}`),
    2,
  );
  const bond = JSON.parse(String(await value('HGET Account[id] 7')));
  assert.match(bond['@rid'], /^#\d+:\d+$/);
  assert.equal(bond['@type'], 'Account');
  assert.equal(bond.name, 'Bond');
  assert.equal(JSON.parse(String(await value('HGET Account[id] 007'))).id, 7);
  assert.equal(JSON.parse(String(await value('HGET test.Account[ code ] 007'))).id, 7);
  assert.equal(JSON.parse(String(await value('HGET Account[code] 7'))).id, 8);
  assert.deepEqual(JSON.parse(String(await value('HGET Account[id] 8'))).nested, {
    a: [1, { b: 2 }],
  });
  assert.equal(await value('HGET Account[id] 99'), null);
  const many = (await value('HMGET Account[id] 7 99 9')) as string[];
  assert.deepEqual(
    many.map((text) => text && JSON.parse(text).id),
    [7, null, 9],
  );
  assert.equal(await value('HEXISTS Account[id] 7'), 1);
  assert.equal(await value('HEXISTS Account[id] 99'), 0);
  const rid = bond['@rid'];
  assert.equal(JSON.parse(String(await value(`HGET ${rid}`))).id, 7);
  assert.equal(JSON.parse(String(await value(`HGET test ${rid}`))).id, 7);
  assert.equal(await value(`HSET test ${rid} {"name": "James"}`), 1);
  assert.equal(await value('HSET Account[id] {"id": 7, "rank": 1}'), 1);
  assert.equal(await value('HSET Account[id] 7 {"number": 2}'), 1);
  assert.equal(await value(`HSET Account {"@rid": "${rid}", "x": true}`), 1);
  const { name, rank, number, x, code } = JSON.parse(String(await value('HGET Account[id] 7')));
  assert.deepEqual(
    { name, rank, number, x, code },
    { name: 'James', rank: 1, number: 2, x: true, code: '007' },
  );
  assert.equal(await value('HSET Account[id] 99 {"a": 1}'), 0);
  assert.equal(await value('HDEL Account[id] 7 99 8'), 2);
  assert.equal(await value(`HDEL test ${rid}`), 0);
  assert.equal(await value(`HEXISTS test ${rid}`), 0);
  assert.equal(await value(`HGET ${rid}`), null);
});

test('composite keys are JSON arrays, in the order of the address', async () => {
  assert.equal(
    await value('HSET Person {"first":"Jay","last":"Miner"} {"first":"Ada","last":"L"}'),
    2,
  );
  const text = await value('HGET Person[first,last] ["Jay","Miner"]');
  const { '@rid': jay } = JSON.parse(String(text));
  assert.equal(await value('HEXISTS Person[last, first] ["Miner","Jay"]'), 1);
  const ada = JSON.parse(String(await value('HGET test.Person[first,last] \'["Ada", "L"]\'')))[
    '@rid'
  ];
  await refused('HGET Person[first,last] Jay', /JSON/);
  await refused('HGET Person[first,last] ["Jay"]', /has 2 parts, not 1/);
  assert.equal(await value(`HSET Knows {"@out":"${jay}","@in":"${ada}","since":1990}`), 1);
  await refused('HSET Knows {"since":1990}', /needs @out and @in/);
  assert.deepEqual(await data.run('SELECT since FROM Knows'), [{ since: 1990 }]);
  assert.equal(await value('HDEL Person[first,last] ["Jay","Miner"]'), 1);
  assert.deepEqual(await data.run('SELECT since FROM Knows'), []);
});

test('what an address names must be there', async () => {
  await refused('HGET Account[name] x', /Index 'Account\[name\]' not found/);
  await refused('HGET Nowhere[name] x', /Type 'Nowhere' was not found/);
  await refused('HGET Account 7', /Index 'Account' not found/);
  await refused('HGET other.Account[id] 7', /no type of database 'test'/);
  await refused('HGET Account[id] seven', /cannot be converted to LONG/);
  await refused('HGET test #x', /is not a record id/);
  await refused('HSET Account x', /an object in JSON is missing/);
  await refused('HSET Account {"a":', /is not closed/);
});

test('objects with an id and no type are kept in memory', async () => {
  assert.equal(await value('HSET test {"id": 1, "a": 2}'), 1);
  assert.equal(await value('HGET test 1'), '{"id": 1, "a": 2}');
  assert.deepEqual(await value('HMGET test 1 2'), ['{"id": 1, "a": 2}', null]);
  assert.equal(await value('HEXISTS test 1'), 1);
  assert.equal(await value('HDEL test 1 2'), 1);
  assert.equal(await value('HGET test 1'), null);
});

test('lines are executed in order and answered with one list', async () => {
  const text = `
    # a comment
    SET l 5
    // another one

    INCR l\r
    GET l
  `;
  assert.deepEqual(await value(text), ['OK', 6, '6']);
  assert.equal(await value('# one\nGET l\n'), '6');
  await refused('INCR l\nSET x "y', /quotes are not closed/);
  await refused('INCR l\nNOPE x', /line 2: Command not found: NOPE/);
  await refused('GET', /wrong number of arguments for 'get' command; usage: GET key/);
  await refused(
    'HGET P[a]',
    /wrong number of arguments for 'hget' command; usage: HGET address key/,
  );
  await refused('# nothing', /there is no command/);
  assert.equal(await value('GET l'), '6');
});

test('a block is all or nothing, for records and transient keys', async () => {
  await value('SET b 1');
  assert.deepEqual(await value('MULTI\nINCR b\nHSET Account {"id": 50}\nGET b\nEXEC'), [2, 1, '2']);
  await refused(
    'MULTI\nINCR b\nSET c 1\nHSET Account {"id": 51}\nHSET Account {"id": 50}\nEXEC',
    /duplicate/i,
  );
  await refused('MULTI\nSET c 1\nSET d x\nINCR d\nEXEC', /not an integer/);
  assert.deepEqual(await value('GET b\nEXISTS c d\nHEXISTS Account[id] 51'), ['2', 0, 0]);
  assert.equal(await value('MULTI\nSET b 9\nDISCARD'), 'OK');
  assert.equal(await value('GET b'), '2');
  assert.deepEqual(await value('SET b 3\nMULTI\nINCR b\nINCR b\nEXEC\nGET b'), ['OK', 4, 5, '5']);
  assert.deepEqual(await value('MULTI\nEXEC'), []);
  await refused('MULTI\nSET b 1', /MULTI without EXEC/);
  await refused('EXEC', /EXEC without MULTI/);
  await refused('DISCARD', /DISCARD without MULTI/);
  await refused('MULTI\nMULTI\nEXEC', /can not be nested/);
});

test('queries may only read, each line of them', async () => {
  const query = { mustBeIdempotent: true };
  assert.deepEqual(await value('GET b\nEXISTS b\nPING\nHEXISTS Account[id] 50', query), [
    '5',
    1,
    'PONG',
    1,
  ]);
  for (const line of [
    'SET b 1',
    'INCR b',
    'GETDEL b',
    'HSET Account {"id": 1}',
    'HDEL Account[id] 1',
    'MULTI\nGET b\nEXEC',
    'INCRBYFLOAT b 1',
  ])
    await refused(`GET b\n${line}`, /is not idempotent/, query);
});

test('increments of many writers are all counted', async () => {
  await value('SET count 0');
  await Promise.all(
    Array.from({ length: 200 }, (_, at) =>
      value(
        at % 4 === 0 ? `MULTI\nINCR count\nHSET Account {"id": ${1000 + at}}\nEXEC` : 'INCR count',
      ),
    ),
  );
  assert.equal(await value('GET count'), '200');
  const winners = await Promise.all(
    Array.from({ length: 20 }, (_, at) => value(`SET race ${at} NX`)),
  );
  assert.equal(winners.filter((one) => one === 'OK').length, 1);
});

test('in a session records belong to its transaction', async () => {
  const sessionId = data.database.begin(root, 'READ_COMMITTED');
  assert.equal(await value('HSET Account {"id": 300}', { sessionId }), 1);
  assert.equal(await value('HEXISTS Account[id] 300', { sessionId }), 1);
  assert.equal(await value('HEXISTS Account[id] 300'), 0);
  assert.deepEqual(
    await value('MULTI\nHSET Account {"id": 301}\nINCR s\nEXEC', { sessionId }),
    [1, 1],
  );
  await data.database.rollback(root, sessionId);
  assert.deepEqual(await value('HEXISTS Account[id] 300\nHEXISTS Account[id] 301'), [0, 0]);
});

test('transient keys end with their database, and with the server', async () => {
  await data.databases.create('gone');
  const run = async (text: string) => {
    const result = await data.databases
      .open('gone')
      .run(
        { language: 'redis', text, parameters: new Map() },
        { principal: root, mustBeIdempotent: false, signal: new AbortController().signal },
      );
    result.close();
    return result.complete?.values[0];
  };
  assert.equal(await run('SET k 1'), 'OK');
  await data.databases.drop('gone');
  await data.databases.create('gone');
  assert.equal(await run('GET k'), null);
  await value('SET k 1');
  await data.reopen();
  assert.equal(await value('GET k'), null);
});

test('a text of megabytes is looked at once, however it goes on', async () => {
  const many = 2_000_000;
  // Each of these brackets looked for its end in all of the rest: half an hour.
  await refused(`HGET Account${'['.repeat(many)} 1`, /Type 'Account\[+\.\.\.' was not found/);
  await refused(`HGET Account[id${']'.repeat(many)} 1`, /not found/);
  await refused(`GET "${'\\x4'.repeat(many / 2)}`, /the quotes are not closed/);
  await refused(`HSET Account {${"'".repeat(many)}}`, /expected a name in double quotes/);
  await refused(`HSET Account {${'a '.repeat(many / 2)}}`, /expected a name in double quotes/);
});

test('objects may have bare keys and single quotes, and nothing else is changed in them', async () => {
  await value(
    `HSET Account {id: 900, code : 'it\\'s "x"', $a-1: "k: 'v'", list: ['a', true, null, {b:'\\n'}]}`,
  );
  const record = JSON.parse(String(await value('HGET Account[id] 900')));
  assert.deepEqual(
    [record.code, record['$a-1'], record.list],
    [`it's "x"`, "k: 'v'", ['a', true, null, { b: '\n' }]],
  );
  await refused("HSET Account {id: 'x}", /not closed|expected a name/);
});
