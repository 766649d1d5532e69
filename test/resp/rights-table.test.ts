import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandSpecs } from '#language/redis/commands.ts';
import { connectionCommands } from '#resp/connection-commands.ts';
import { keyCommands, keySpecs } from '#resp/key-commands.ts';
import { transactionCommands } from '#resp/transaction-commands.ts';
import { startWire } from './wire-fixture.ts';

// Every command of the wire against who may not do it. The table is total: a new command needs a line here.

type Given = (database: string) => string;

/** Commands that name a database, or a key or record in one. */
const addressed: Readonly<Record<string, Given>> = {
  GET: (database) => `GET ${database}.k`,
  SET: (database) => `SET ${database}.k v`,
  GETDEL: (database) => `GETDEL ${database}.k`,
  EXISTS: (database) => `EXISTS ${database}.k`,
  INCR: (database) => `INCR ${database}.k`,
  DECR: (database) => `DECR ${database}.k`,
  INCRBY: (database) => `INCRBY ${database}.k 2`,
  DECRBY: (database) => `DECRBY ${database}.k 2`,
  INCRBYFLOAT: (database) => `INCRBYFLOAT ${database}.k 0.5`,
  DEL: (database) => `DEL ${database}.k`,
  UNLINK: (database) => `UNLINK ${database}.k`,
  TYPE: (database) => `TYPE ${database}.k`,
  TTL: (database) => `TTL ${database}.k`,
  PTTL: (database) => `PTTL ${database}.k`,
  WATCH: (database) => `WATCH ${database}.k`,
  SELECT: (database) => `SELECT ${database}`,
  HGET: (database) => `HGET ${database}.Account[id] 7`,
  HMGET: (database) => `HMGET ${database}.Account[id] 7`,
  HEXISTS: (database) => `HEXISTS ${database} #1:0`,
  HDEL: (database) => `HDEL ${database}.Account[id] 7`,
  HSET: (database) => `HSET ${database}.Account {"id":7}`,
  HMSET: (database) => `HMSET ${database}.Account {"id":7}`,
};

/** Commands on the keys of what is selected: of the server, before anything is. */
const onSelected = ['DBSIZE', 'KEYS', 'SCAN'];
/** They look at no key: the answer is the same whatever there is. */
const noExpiry = ['EXPIRE', 'PEXPIRE', 'EXPIREAT', 'PEXPIREAT', 'SETEX', 'PSETEX', 'GETEX'];
/** About the connection itself. */
const ofConnection = [
  ...['AUTH', 'HELLO', 'PING', 'ECHO', 'CLIENT', 'COMMAND', 'INFO', 'CONFIG', 'TIME', 'RESET'],
  ...['QUIT', 'MULTI', 'EXEC', 'DISCARD', 'UNWATCH'],
];

const all = [
  ...commandSpecs.keys(),
  ...[...keySpecs, ...keyCommands, ...connectionCommands, ...transactionCommands].map(
    ({ name }) => name,
  ),
].sort();

const account = [
  'CREATE DOCUMENT TYPE Account',
  'CREATE PROPERTY Account.id INTEGER',
  'CREATE INDEX ON Account (id) UNIQUE',
  'INSERT INTO Account SET id = 7',
];

function words(command: string): string[] {
  return command.split(' ');
}

test('the table has a line for every command', () => {
  const listed = [...Object.keys(addressed), ...onSelected, ...noExpiry, ...ofConnection];
  assert.deepEqual(listed.sort(), all);
});

test('nobody who has not logged in is answered by any command', async (context) => {
  const wire = await startWire(context);
  for (const name of all) {
    if (name === 'AUTH' || name === 'HELLO') continue;
    const stranger = await wire.open(null);
    const reply = await stranger.call(...words(addressed[name]?.('test') ?? name));
    assert.equal(reply, '-NOAUTH Authentication required.', name);
    stranger.close();
  }
});

test('a database of others and one that is not there get the same answer to every command', async (context) => {
  const wire = await startWire(context);
  for (const statement of account) await wire.data.run(statement);
  await wire.data.databases.create('school');
  await wire.door.users.create('stranger', {
    password: 'password',
    databases: new Map([['school', ['admin']]]),
  });
  const root = await wire.open();
  for (const key of ['test.k', 'other']) await root.call('SET', key, 'canary');
  const stranger = await wire.open('stranger');
  for (const [name, given] of Object.entries(addressed)) {
    for (const database of ['test', 'nowhere']) {
      const refusal = `-NOPERM this user has no permissions to access the database '${database}'`;
      assert.equal(await stranger.call(...words(given(database))), refusal, name);
      assert.equal(await stranger.call('MULTI'), '+OK');
      await stranger.call(...words(given(database)));
      const block = JSON.stringify(await stranger.call('EXEC'));
      assert.match(block, /NOPERM|EXECABORT|\[\]/, `${name} in a block`);
      assert.doesNotMatch(block, /canary|not found/, `${name} in a block`);
    }
  }
  assert.equal(await stranger.call('SELECT', 'school'), '+OK');
  assert.equal(await stranger.call('DBSIZE'), 0);
  assert.deepEqual(await stranger.call('KEYS', '*'), []);
  assert.deepEqual(await stranger.call('SCAN', '0'), ['0', []]);
  for (const name of noExpiry) {
    const rest =
      name.startsWith('SET') || name === 'PSETEX' ? ['test.k', '5', 'v'] : ['test.k', '5'];
    assert.match(String(await stranger.call(name, ...rest)), /^-ERR unsupported command/, name);
  }
  assert.equal(await root.call('GET', 'test.k'), 'canary', 'nothing was changed');
  assert.equal(await root.call('HEXISTS', 'test.Account[id]', '7'), 1);
});

/** Of the commands above, those that a group with `readRecord` alone may use; the others insert, update or delete. */
const reading = 'GET EXISTS TYPE TTL PTTL WATCH SELECT HGET HMGET HEXISTS'.split(' ');

test('a reader reads by every command that reads, and changes nothing by any other', async (context) => {
  const wire = await startWire(context);
  for (const statement of account) await wire.data.run(statement);
  const databases = new Map([['test', ['reader']]]);
  await wire.door.users.create('reader', { password: 'password', databases });
  const root = await wire.open();
  await root.call('SET', 'test.k', '41');
  for (const [name, given] of Object.entries(addressed)) {
    const reader = await wire.open('reader');
    const reply = await reader.call(...words(given('test')));
    const isRefused = String(reply).startsWith('-NOPERM ');
    assert.equal(isRefused, !reading.includes(name), `${name}: ${JSON.stringify(reply)}`);
    if (!isRefused) assert.doesNotMatch(JSON.stringify(reply), /^"-/, name);
    reader.close();
  }
  assert.equal(await root.call('GET', 'test.k'), '41');
  assert.equal(await root.call('HEXISTS', 'test.Account[id]', '7'), 1);
});

test('whoever is dropped is nobody at the next command, whichever it is', async (context) => {
  const wire = await startWire(context);
  for (const statement of account) await wire.data.run(statement);
  const databases = new Map([['test', ['admin']]]);
  await wire.door.users.create('leaver', { password: 'password', databases });
  const asked = all.filter((name) => name !== 'AUTH' && name !== 'HELLO');
  const clients = await Promise.all(asked.map(() => wire.open('leaver')));
  for (const client of clients) assert.equal(await client.call('SELECT', 'test'), '+OK');
  await wire.door.users.drop('leaver');
  for (const [at, name] of asked.entries()) {
    const reply = await clients[at]?.call(...words(addressed[name]?.('test') ?? name));
    assert.equal(reply, '-NOAUTH Authentication required.', name);
  }
  const root = await wire.open();
  assert.equal(await root.call('HEXISTS', 'test.Account[id]', '7'), 1);
});
