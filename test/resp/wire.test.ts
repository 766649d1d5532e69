import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, startWire, type WireReply } from './wire-fixture.ts';

// Every command of the wire and its replies, in both versions of the protocol (contract 2, redis.md 2 to 4 and 6).

const schema = [
  'CREATE DOCUMENT TYPE Account',
  'CREATE PROPERTY Account.id LONG',
  'CREATE PROPERTY Account.code STRING',
  'CREATE INDEX ON Account (id) UNIQUE',
  'CREATE INDEX ON Account (code) UNIQUE',
];

type Row = readonly [command: string, reply: WireReply | RegExp];

function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  );
}

const transient: readonly Row[] = [
  ['PING', '+PONG'],
  ['ping hello', 'hello'],
  ['ECHO x', 'x'],
  ['GET k', null],
  ["SET k 'a b'", '+OK'],
  ['get k', 'a b'],
  ['SET k v NX', null],
  ['SET k v XX', '+OK'],
  ['SET k w GET', 'v'],
  ['SET new w NX GET', null],
  ['GET new', 'w'],
  ['SET k v EX 10', "-ERR unsupported SET option 'EX': transient keys have no expiry"],
  ['SET k v keepttl', "-ERR unsupported SET option 'KEEPTTL': transient keys have no expiry"],
  ['SET k v NX XX', '-ERR syntax error'],
  ['SET k', "-ERR wrong number of arguments for 'set' command"],
  ['GET', "-ERR wrong number of arguments for 'get' command"],
  ['EXISTS k k gone', 2],
  ['GETDEL k', 'w'],
  ['GETDEL k', null],
  ['INCR n', 1],
  ['INCRBY n 9223372036854775806', 9223372036854775807n],
  ['INCR n', '-ERR increment or decrement would overflow'],
  ['GET n', '9223372036854775807'],
  ['DECRBY n -9223372036854775808', '-ERR decrement would overflow'],
  ['INCRBY n 9223372036854775808', '-ERR value is not an integer or out of range'],
  ['DECR m', -1],
  ['DECRBY m 4', -5],
  ['INCRBYFLOAT f 3.0', '3'],
  ['INCRBYFLOAT f 0.3', '3.3'],
  ['INCRBYFLOAT f x', '-ERR value is not a valid float'],
  ['SET t x', '+OK'],
  ['INCR t', '-ERR value is not an integer or out of range'],
  ['TYPE t', '+string'],
  ['TYPE gone', '+none'],
  ['TTL t', -1],
  ['TTL gone', -2],
  ['EXPIRE t 10', /^-ERR .*no expiry$/],
  ['DEL t gone', 1],
  ['DBSIZE', 4],
  ['KEYS n*', ['new', 'n']],
  ['SCAN 0 MATCH ? COUNT 100', ['0', ['n', 'm', 'f']]],
  ['CONFIG GET save', []],
  ['COMMAND', []],
  ['COMMAND DOCS', []],
  ['SELECT 0', '+OK'],
  ['SELECT 1', '-ERR DB index is out of range'],
  ['SELECT nowhere', "-ERR Database 'nowhere' not found"],
  ['NOPE a b', "-ERR unknown command 'NOPE', with args beginning with: 'a' 'b' "],
  ['AUTH password', /^-WRONGPASS .*AUTH <user> <password>/],
];

const records: readonly Row[] = [
  [`HSET test.Account '{"id":7,"code":"007"}' '{"id":8,"code":"7"}'`, 2],
  [
    'HGET test.Account[id] 7',
    /^\{"@rid":"#\d+:0","@type":"Account","@cat":"d","id":7,"code":"007"\}$/,
  ],
  ['HGET test.Account[code] 007', /"id":7/],
  ['HGET test.Account[code] "007"', /"id":7/],
  ['HGET test.Account[code] 7', /"id":8/],
  ['HGET test.Account[id] 9', null],
  ['HGET test.Account[id] x', /^-ERR key 'x' cannot be converted to LONG/],
  ['HGET test.Account[name] x', "-ERR Index 'Account[name]' not found"],
  ['HGET nowhere.Account[id] 7', "-ERR Database 'nowhere' not found"],
  ['HGET Account[id] 7', "-ERR Database 'Account' not found"],
  ['HEXISTS test.Account[id] 7', 1],
  ['HEXISTS test.Account[id] 9', 0],
  [`HSET test.Account[id] '{"id":7,"name":"Bond"}'`, 1],
  ['HGET test.Account[id] 7', /"name":"Bond"/],
  [`HSET test.Account '{"id":7}'`, /^-ERR Duplicated key/],
  [`HSET test Account '{"id":9}'`, 1],
  [`HMSET test.Account '{"id":10}'`, 1],
  ['SELECT test', '+OK'],
  ['HGET Account[id] 8', /"id":8/],
  ['HDEL Account[id] 8 99 9', 2],
  [`HSET test '{"id":1,"a":2}'`, 1],
  ['HGET test 1', '{"id":1,"a":2}'],
  ['GET 1', '{"id":1,"a":2}'],
  ['HGET', "-ERR wrong number of arguments for 'hget' command"],
  ['HGET shop.Item[id]', "-ERR wrong number of arguments for 'hget' command"],
  ['HMGET shop', "-ERR wrong number of arguments for 'hmget' command"],
  ['HEXISTS Item[id]', "-ERR wrong number of arguments for 'hexists' command"],
  ['HDEL shop', "-ERR wrong number of arguments for 'hdel' command"],
];

async function play(call: (words: string[]) => Promise<WireReply>, rows: readonly Row[]) {
  for (const [command, expected] of rows) {
    const reply = await call(words(command));
    if (expected instanceof RegExp) assert.match(String(reply), expected, command);
    else assert.deepEqual(reply, expected, command);
  }
}

test('commands on transient keys and on records reply as Redis does', async (context) => {
  const wire = await startWire(context);
  for (const statement of schema) await wire.data.run(statement);
  const client = await wire.open();
  await play((command) => client.call(...command), transient);
  const other = await wire.open();
  await play((command) => other.call(...command), records);
  const many = await other.call('HMGET', 'test.Account[id]', '7', '99', '10');
  assert.ok(Array.isArray(many));
  assert.deepEqual(
    many.map((text) => text && JSON.parse(String(text)).id),
    [7, null, 10],
  );
  const rid = JSON.parse(String(await other.call('HGET', 'test.Account[id]', '7')))['@rid'];
  assert.match(String(await other.call('HGET', 'test', rid)), /"id":7/);
  assert.equal(await other.call('HSET', 'test', rid, '{"name":"James"}'), 1);
  assert.equal(await other.call('HDEL', 'test', rid, '#1:99'), 1);
  assert.equal(await other.call('HEXISTS', 'test', rid), 0);
});

test('keys go with their database, whoever has it selected', async (context) => {
  const { data, open } = await startWire(context);
  await data.databases.create('passing');
  const client = await open();
  assert.equal(await client.call('SELECT', 'passing'), '+OK');
  assert.equal(await client.call('SET', 'k', '1'), '+OK');
  await data.databases.drop('passing');
  for (const command of [
    ['GET', 'k'],
    ['SET', 'k', '2'],
    ['INCR', 'n'],
    ['WATCH', 'k'],
  ])
    assert.equal(await client.call(...command), "-ERR Database 'passing' not found");
  await data.databases.create('passing');
  assert.equal(await client.call('GET', 'k'), null);
});

test('HELLO 3 changes the encoding of maps and nulls', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open(null);
  assert.match(String(await client.call('HELLO', '3')), /^-NOAUTH HELLO must be called/);
  assert.equal(await client.call('HELLO', '4'), '-NOPROTO unsupported protocol version');
  assert.match(String(await client.call('HELLO', 'x')), /^-ERR Protocol version is not an integer/);
  assert.equal(await client.call('HELLO', '3', 'NOPE'), '-ERR Syntax error in HELLO');
  const two = await client.call('HELLO', '2', 'AUTH', 'root', 'password');
  assert.ok(Array.isArray(two));
  assert.deepEqual(two.slice(0, 6), ['server', 'redis', 'version', '7.2.0', 'proto', 2]);
  const three = await client.call('hello', '3', 'SETNAME', 'me');
  const { proto, mode, role, modules, id } = (three as { map: Record<string, unknown> }).map;
  assert.deepEqual(
    { proto, mode, role, modules },
    { proto: 3, mode: 'standalone', role: 'master', modules: [] },
  );
  assert.equal(await client.call('CLIENT', 'ID'), id);
  assert.equal(await client.call('CLIENT', 'GETNAME'), 'me');
  client.send(encode('GET', 'absent'));
  client.send(encode('CONFIG', 'GET', 'x'));
  client.send(encode('COMMAND', 'DOCS'));
  assert.equal(await client.reply(), null);
  assert.deepEqual(await client.reply(), { map: {} });
  assert.deepEqual(await client.reply(), { map: {} });
  assert.equal(await client.call('CLIENT', 'SETINFO', 'LIB-NAME', 'x'), '+OK');
  assert.match(
    String(await client.call('CLIENT', 'MAINT_NOTIFICATIONS', 'ON')),
    /^-ERR unknown subcommand/,
  );
  assert.match(String(await client.call('INFO')), /loading:0/);
  assert.equal(await client.call('RESET'), '+RESET');
  assert.equal(await client.call('PING'), '-NOAUTH Authentication required.');
});

test('a login is needed, and a failed one ends the one before', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open(null);
  for (const command of [
    'PING',
    'GET k',
    'INFO',
    'QUIT',
    'MULTI',
    'CLIENT ID',
    'SELECT test',
    'NOPE',
  ])
    assert.equal(await client.call(...words(command)), '-NOAUTH Authentication required.', command);
  const wrong = '-WRONGPASS invalid username-password pair or user is disabled.';
  assert.equal(await client.call('AUTH', 'root', 'wrong'), wrong);
  assert.equal(await client.call('AUTH', 'nobody', 'password'), wrong);
  assert.equal(await client.call('AUTH', 'root', 'password'), '+OK');
  assert.equal(await client.call('PING'), '+PONG');
  assert.equal(await client.call('AUTH', 'root', 'wrong'), wrong);
  assert.equal(await client.call('PING'), '-NOAUTH Authentication required.');
  assert.equal(await client.call('HELLO', '3', 'AUTH', 'root', 'wrong'), wrong);
  assert.equal(await client.call('AUTH', 'root', 'password'), '+OK');
  assert.equal(await client.call('QUIT'), '+OK');
  assert.equal(await client.ended(), '');
});

test('a user has the rights that he has over HTTP, and none when he is dropped', async (context) => {
  const wire = await startWire(context);
  for (const statement of schema) await wire.data.run(statement);
  await wire.data.databases.create('school');
  const create = (name: string, databases: [string, string[]][]) =>
    wire.door.users.create(name, { password: 'password', databases: new Map(databases) });
  await create('reader', [['test', ['reader']]]);
  await create('stranger', [['school', ['admin']]]);
  const reader = await wire.open('reader');
  const denied = (database: string) =>
    `-NOPERM this user has no permissions to access the database '${database}'`;
  const stranger = await wire.open('stranger');
  for (const database of ['test', 'nowhere'])
    for (const command of [
      `GET ${database}.k`,
      `SET ${database}.k v`,
      `EXISTS ${database}.k`,
      `INCR ${database}.k`,
      `GETDEL ${database}.k`,
      `DEL ${database}.k`,
      `WATCH ${database}.k`,
      `SELECT ${database}`,
      `HGET ${database}.Account[id] 7`,
      `HMGET ${database}.Account[id] 7`,
      `HEXISTS ${database} #1:0`,
      `HDEL ${database}.Account[id] 7`,
      `HSET ${database}.Account {"id":7}`,
    ])
      assert.equal(await stranger.call(...words(command)), denied(database), command);
  assert.equal(await stranger.call('SELECT', 'school'), '+OK');
  assert.equal(await stranger.call('SET', 'k', 'v'), '+OK');
  assert.equal(await reader.call('SELECT', 'test'), '+OK');
  assert.equal(await reader.call('GET', 'k'), null);
  assert.equal(await reader.call('HEXISTS', 'Account[id]', '7'), 0);
  for (const command of [
    'SET k v',
    'INCR k',
    'GETDEL k',
    'DEL k',
    'HSET Account {"id":7}',
    'HDEL Account[id] 7',
  ])
    assert.match(String(await reader.call(...words(command))), /^-NOPERM /, command);
  await wire.door.users.drop('reader');
  assert.equal(await reader.call('GET', 'k'), '-NOAUTH Authentication required.');
});

test('MULTI, EXEC, DISCARD and WATCH', async (context) => {
  const wire = await startWire(context);
  for (const statement of schema) await wire.data.run(statement);
  const client = await wire.open();
  const other = await wire.open();
  const call = (command: string) => client.call(...words(command));
  assert.equal(await call('EXEC'), '-ERR EXEC without MULTI');
  assert.equal(await call('DISCARD'), '-ERR DISCARD without MULTI');
  assert.equal(await call('MULTI'), '+OK');
  assert.equal(await call('MULTI'), '-ERR MULTI calls can not be nested');
  for (const command of ['SET a 1', 'INCR a', 'GET a', 'PING', 'ECHO e', 'DEL gone'])
    assert.equal(await call(command), '+QUEUED');
  assert.equal(await other.call('GET', 'a'), null);
  assert.deepEqual(await call('EXEC'), ['+OK', 2, '2', '+PONG', 'e', 0]);

  await call('MULTI');
  assert.match(String(await call('NOPE')), /^-ERR unknown command/);
  await call('SET a 5');
  assert.equal(await call('EXEC'), '-EXECABORT Transaction discarded because of previous errors.');
  assert.equal(await call('GET a'), '2');

  await call('MULTI');
  await call('SET a 5');
  assert.equal(await call('DISCARD'), '+OK');
  assert.equal(await call('GET a'), '2');

  // Without records commands fail one by one, as in Redis.
  for (const command of ['MULTI', 'SET text x', 'INCR text', 'INCR a']) await call(command);
  assert.deepEqual(await call('EXEC'), ['+OK', '-ERR value is not an integer or out of range', 3]);

  // With records it is all or nothing.
  for (const command of [
    'MULTI',
    'HSET test.Account {"id":1}',
    'INCR a',
    'HGET test.Account[id] 1',
  ])
    await call(command);
  const replies = await call('EXEC');
  assert.ok(Array.isArray(replies));
  assert.deepEqual(replies.slice(0, 2), [1, 4]);
  for (const command of [
    'MULTI',
    'INCR a',
    'HSET test.Account {"id":2}',
    'HSET test.Account {"id":1}',
  ])
    await call(command);
  assert.match(String(await call('EXEC')), /^-EXECABORT Transaction discarded: Duplicated key/);
  assert.equal(await call('GET a'), '4');
  assert.equal(await call('HEXISTS test.Account[id] 2'), 0);

  for (const protocol of ['2', '3']) {
    await call(`HELLO ${protocol}`);
    assert.equal(await call('WATCH a'), '+OK');
    await other.call('INCR', 'a');
    for (const command of ['MULTI', 'INCR a']) await call(command);
    assert.equal(await call('EXEC'), null);
  }
  assert.equal(await call('WATCH a'), '+OK');
  for (const command of ['MULTI', 'INCR a']) await call(command);
  assert.deepEqual(await call('EXEC'), [7]);
  await call('WATCH a');
  await other.call('INCR', 'a');
  assert.equal(await call('UNWATCH'), '+OK');
  for (const command of ['MULTI', 'GET a']) await call(command);
  assert.deepEqual(await call('EXEC'), ['8']);
});

test('requests may be cut anywhere and glued, as arrays or lines, with any bytes', async (context) => {
  const wire = await startWire(context);
  const client = await wire.open();
  const value = Buffer.from([0, 13, 10, 255, 128, 34, 36, 42]);
  const requests = [
    encode('SET', 'cut', 'a\r\nb'),
    Buffer.from('*0\r\n*-1\r\n\r\n'),
    encode('SET', 'bytes', value),
    encode('SET', '', ''),
    Buffer.from('INCR   "n"\r\nGET cut\n'),
    encode('EXISTS', '', 'bytes', 'cut'),
  ];
  const bytes = Buffer.concat(requests);
  const expected = ['+OK', '+OK', '+OK', 1, 'a\r\nb', 3];
  for (let cut = 1; cut < bytes.length; cut += 1) {
    client.send(bytes.subarray(0, cut));
    await new Promise((resolve) => setImmediate(resolve));
    client.send(bytes.subarray(cut));
    const replies: WireReply[] = [];
    for (const _ of expected) replies.push(await client.reply());
    assert.deepEqual(replies, expected, `cut at ${cut}`);
    await client.call('DEL', 'n');
  }
  for (const byte of bytes) client.send(Buffer.from([byte]));
  for (const one of expected) assert.deepEqual(await client.reply(), one);
  client.send(Buffer.concat(Array.from({ length: 200 }, () => bytes)));
  for (let at = 0; at < 200 * expected.length; at += 1) await client.reply();
  assert.equal(await client.call('GET', 'n'), '201');
  client.socket.end(encode('GET', 'n'));
  assert.equal(await client.reply(), '201');
  assert.equal(await client.ended(), '');
});
