import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGroup } from '#security/group-document.ts';
import { basic } from '../http/door-fixture.ts';
import { type Frame, type SocketFixture, startSockets, type TestClient } from './socket-fixture.ts';

// Change events (contract 1 "Events", websocket.md 3).

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE VERTEX TYPE Student EXTENDS Person',
  'CREATE VERTEX TYPE City',
  'CREATE EDGE TYPE LivesIn',
];

async function start(
  context: Parameters<typeof startSockets>[0],
  settings: Readonly<Record<string, string>> = {},
): Promise<SocketFixture> {
  const fixture = await startSockets(context, settings);
  for (const statement of schema) await fixture.sql(statement);
  return fixture;
}

function subscribe(client: TestClient, more: Frame = {}): Promise<Frame> {
  return client.ask({ action: 'subscribe', database: 'school', ...more });
}

function told(events: readonly Frame[]): string[] {
  return events.map(({ changeType, record }) => {
    const { '@type': type, name } = record as Record<string, unknown>;
    return `${String(changeType)} ${String(type)} ${String(name)}`;
  });
}

test('creating, updating and deleting is told with the full record', async (context) => {
  const { sql, connect } = await start(context);
  const client = await connect();
  assert.deepEqual(await subscribe(client), { result: 'ok', action: 'subscribe' });
  const [created] = await sql(
    "INSERT INTO Person SET name = 'Jay', born = date('2020-01-31').asDate()",
  );
  const rid = created?.['@rid'];
  const record = { '@rid': rid, '@type': 'Person', '@cat': 'v', name: 'Jay', born: '2020-01-31' };
  const about = { database: 'school' };
  assert.deepEqual(await client.next(), { changeType: 'create', ...about, record });
  await sql("UPDATE Person SET name = 'Jay Miner'");
  const renamed = { ...record, name: 'Jay Miner' };
  assert.deepEqual(await client.next(), { changeType: 'update', ...about, record: renamed });
  await sql("UPDATE Person SET name = 'Jay Miner'");
  await sql('DELETE FROM Person');
  assert.deepEqual(await client.next(), { changeType: 'delete', ...about, record: renamed });
});

test('an edge is told alone, a deleted vertex with its edges', async (context) => {
  const { sql, connect } = await start(context);
  const client = await connect();
  await subscribe(client);
  const [person] = await sql("CREATE VERTEX Person SET name = 'Jay'");
  const [city] = await sql("CREATE VERTEX City SET name = 'Rome'");
  await sql(
    `CREATE EDGE LivesIn FROM ${String(person?.['@rid'])} TO ${String(city?.['@rid'])} SET since = 2020`,
  );
  const events = await client.take(3);
  const edge = events[2]?.['record'] as Record<string, unknown>;
  assert.deepEqual(
    { ...edge, '@rid': '' },
    {
      '@rid': '',
      '@type': 'LivesIn',
      '@cat': 'e',
      '@in': city?.['@rid'],
      '@out': person?.['@rid'],
      since: 2020,
    },
  );
  await sql('DELETE VERTEX FROM Person');
  assert.deepEqual(told(await client.take(2)).sort(), [
    'delete LivesIn undefined',
    'delete Person Jay',
  ]);
});

test('subscriptions add up, filter, and deliver an event once', async (context) => {
  const { sql, connect } = await start(context);
  const all = await connect();
  await subscribe(all);
  await subscribe(all, { type: 'Person', changeTypes: ['create'] });
  const cities = await connect();
  await subscribe(cities, { type: 'City', changeTypes: ['create', 'delete'] });
  const persons = await connect();
  await subscribe(persons, { type: 'Person', changeTypes: [] });
  await sql("INSERT INTO Person SET name = 'p'");
  await sql("INSERT INTO Student SET name = 's'");
  await sql("INSERT INTO City SET name = 'c'");
  await sql("UPDATE City SET name = 'd'");
  await sql('DELETE FROM City');
  const expected = [
    'create Person p',
    'create Student s',
    'create City c',
    'update City d',
    'delete City d',
  ];
  assert.deepEqual(told(await all.take(5)), expected);
  assert.deepEqual(told(await cities.take(2)), ['create City c', 'delete City d']);
  assert.deepEqual(told(await persons.take(1)), ['create Person p']);
  for (const client of [all, cities, persons]) assert.deepEqual(await client.quiet(), []);
  await all.ask({ action: 'unsubscribe', database: 'school', type: 'Person' });
  await sql("INSERT INTO City SET name = 'e'");
  assert.deepEqual(told(await all.take(1)), ['create City e']);
  await all.ask({ action: 'unsubscribe', database: 'school' });
  await sql("INSERT INTO City SET name = 'f'");
  assert.deepEqual(told(await cities.take(2)), ['create City e', 'create City f']);
  assert.deepEqual(await all.quiet(), []);
});

test('a transaction is told after its commit, operation by operation; a rolled-back one never', async (context) => {
  const { door, sql, connect } = await start(context);
  const client = await connect();
  await subscribe(client);
  const inSession = async (ending: 'commit' | 'rollback', commands: readonly string[]) => {
    const begun = await door.ask('POST', 'begin/school');
    const headers = { 'service-session-id': String(begun.headers['service-session-id']) };
    for (const command of commands) {
      const body = { language: 'sql', command };
      assert.equal((await door.ask('POST', 'command/school', { body, headers })).status, 200);
    }
    assert.deepEqual(await client.quiet(), []);
    assert.equal((await door.ask('POST', `${ending}/school`, { headers })).status, 204);
  };
  await inSession('rollback', ["INSERT INTO Person SET name = 'never'"]);
  await inSession('commit', [
    "INSERT INTO Person SET name = 'a'",
    "UPDATE Person SET name = 'b'",
    "UPDATE Person SET name = 'c'",
    "INSERT INTO City SET name = 'gone'",
    'DELETE FROM City',
  ]);
  assert.deepEqual(told(await client.take(5)), [
    'create Person a',
    'update Person b',
    'update Person c',
    'create City gone',
    'delete City gone',
  ]);
  await inSession('commit', ["INSERT INTO City SET name = 'x'", 'DELETE FROM City']);
  assert.deepEqual(told(await client.take(2)), ['create City x', 'delete City x']);
  const [row] = await sql('SELECT count(*) AS n FROM Person');
  assert.equal(row?.['n'], 1);
});

test('commits of many writers are told in commit order', async (context) => {
  const { sql, connect } = await start(context);
  await sql('INSERT INTO City SET n = 0');
  const client = await connect();
  await subscribe(client);
  await Promise.all(Array.from({ length: 50 }, () => sql('UPDATE City SET n = n + 1')));
  const events = await client.take(50);
  const counted = events.map(({ record }) => (record as Record<string, unknown>)['n']);
  assert.deepEqual(
    counted,
    Array.from({ length: 50 }, (_, n) => n + 1),
  );
});

test('who may not read a database learns nothing of it, not even whether it exists', async (context) => {
  const { connect, databases } = await start(context);
  await databases.create('secret');
  const client = await connect(basic('jay'));
  for (const database of ['secret', 'none']) {
    const answer = await client.ask({ action: 'subscribe', database });
    assert.equal(answer['error'], 'Security error');
    assert.match(String(answer['detail']), new RegExp(`'jay'.*'${database}'`));
  }
});

test('events of types that the user may not read are left out', async (context) => {
  const { door, sql, connect } = await start(context);
  await door.groups.put(
    'school',
    'clerk',
    parseGroup(
      {
        access: [],
        types: { City: { access: ['readRecord'] }, '*': { access: [] } },
      },
      'clerk',
    ),
  );
  await door.users.create('ann', {
    password: 'password',
    databases: new Map([['school', ['clerk']]]),
  });
  const client = await connect(basic('ann'));
  assert.equal((await subscribe(client))['result'], 'ok');
  await sql("INSERT INTO Person SET name = 'hidden'");
  await sql("INSERT INTO City SET name = 'shown'");
  assert.deepEqual(told(await client.take(1)), ['create City shown']);
});

test('a dropped user, a new password, lost access and a logout end the connection with 1008', async (context) => {
  const { door, sql, connect } = await start(context);
  const { users } = door;
  const reader = { password: 'password', databases: new Map([['school', ['reader']]]) };
  for (const name of ['ann', 'bob', 'cid']) await users.create(name, reader);
  const open = async (authorization: string) => {
    const client = await connect(authorization);
    assert.equal((await subscribe(client))['result'], 'ok');
    return client;
  };
  const [ann, bob, cid] = await Promise.all(['ann', 'bob', 'cid'].map((name) => open(basic(name))));
  const login = await door.ask('POST', 'login', { user: 'jay' });
  const authorization = `Bearer ${String(login.body['token'])}`;
  const jay = await open(authorization);
  await users.drop('ann');
  await users.update('bob', { password: 'another password' });
  await users.update('cid', { databases: new Map() });
  await door.ask('POST', 'logout', { headers: { authorization }, user: null });
  await sql("INSERT INTO City SET name = 'x'");
  assert.deepEqual(await ann?.closed, { code: 1008, reason: 'user deleted' });
  for (const client of [bob, cid, jay]) {
    assert.deepEqual(await client?.closed, { code: 1008, reason: 'access revoked' });
  }
});

test('a reader that is too slow is closed, the others get everything', async (context) => {
  const { sql, connect } = await start(context, { 'server.eventBusMaxPendingBytes': '200000' });
  const slow = await connect();
  const quick = await connect();
  await subscribe(slow);
  await subscribe(quick);
  slow.socket.pause();
  const text = 'x'.repeat(100_000);
  for (let n = 0; n < 80; n++) await sql(`INSERT INTO City SET name = '${n}', text = '${text}'`);
  const events = await quick.take(80);
  assert.equal(told(events).at(-1), 'create City 79');
  slow.socket.resume();
  assert.deepEqual(await slow.closed, { code: 1008, reason: 'slow consumer' });
});

test('a subscription outlives its database being closed and opened again, but not being dropped', async (context) => {
  const { sql, connect, databases } = await start(context);
  const client = await connect();
  await subscribe(client);
  await databases.close('school');
  await databases.openClosed('school');
  await sql("INSERT INTO City SET name = 'x'");
  assert.deepEqual(told(await client.take(1)), ['create City x']);
  await databases.close('school');
  await databases.drop('school');
  await databases.create('school');
  await sql('CREATE VERTEX TYPE City');
  await sql("INSERT INTO City SET name = 'y'");
  assert.deepEqual(await client.quiet(), []);
});

test('a dropped database takes its subscriptions along, the connection stays', async (context) => {
  const { sql, connect, databases } = await start(context);
  const client = await connect();
  await subscribe(client);
  await databases.drop('school');
  await databases.create('school');
  await sql('CREATE VERTEX TYPE City');
  await sql("INSERT INTO City SET name = 'x'");
  assert.deepEqual(await client.quiet(), []);
  await subscribe(client);
  await sql("INSERT INTO City SET name = 'y'");
  assert.deepEqual(told(await client.take(1)), ['create City y']);
});

test('an import is told, too', async (context) => {
  const { door, connect } = await start(context);
  const client = await connect();
  await subscribe(client);
  const body = [
    '{"@type":"v","@class":"Person","@id":"p","name":"Jay"}',
    '{"@type":"v","@class":"City","@id":"c","name":"Rome"}',
    '{"@type":"e","@class":"LivesIn","@from":"p","@to":"c","name":"home"}',
  ].join('\n');
  const headers = { 'content-type': 'application/x-ndjson' };
  assert.equal((await door.ask('POST', 'batch/school', { body, headers })).status, 200);
  assert.deepEqual(told(await client.take(3)).sort(), [
    'create City Rome',
    'create LivesIn home',
    'create Person Jay',
  ]);
});

test('a hundred subscribers that keep up get every event', async (context) => {
  const { sql, connect } = await start(context);
  const clients = await Promise.all(Array.from({ length: 100 }, () => connect()));
  await Promise.all(clients.map((client) => subscribe(client)));
  const names = Array.from({ length: 50 }, (_, n) => `c${n}`);
  for (const name of names) await sql(`INSERT INTO City SET name = '${name}'`);
  await sql(`INSERT INTO City CONTENT [${names.map((name) => `{"name":"${name}"}`).join(',')}]`);
  for (const client of clients) {
    const expected = [...names, ...names].map((name) => `create City ${name}`);
    assert.deepEqual(told(await client.take(100)), expected);
  }
});

test('of events that did not fit into the queue their number is told, of those it did not ask for none', async (context) => {
  const { sql, connect } = await start(context, { 'server.eventBusQueueSize': '3' });
  const client = await connect();
  await subscribe(client, { type: 'City' });
  const inserts: Promise<unknown>[] = [];
  for (let n = 0; n < 40; n++) {
    inserts.push(sql(`INSERT INTO City SET name = 'c${n}'`));
    inserts.push(sql(`INSERT INTO Person SET name = 'p${n}'`));
  }
  await Promise.all(inserts);
  let toldCount = 0;
  while (toldCount < 40) {
    const event = await client.next();
    if (event['changeType'] === 'lost') {
      assert.equal(event['database'], 'school');
      toldCount += event['count'] as number;
    } else {
      assert.match(String(told([event])), /^create City c/);
      toldCount += 1;
    }
  }
  assert.equal(toldCount, 40);
  assert.deepEqual(await client.quiet(), []);
});
