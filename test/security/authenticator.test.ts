import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { KeyDerivation } from '#platform/key-derivation.ts';
import { Authenticator } from '#security/authenticator.ts';
import { LastHeader } from '#security/last-header.ts';
import { LoginAttempts } from '#security/login-attempts.ts';
import { TokenSessions } from '#security/token-sessions.ts';
import { makeApiTokens, ManualClock, quickDerivation, random, usersWithRoot } from './fixtures.ts';

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

const client = { sourceIp: '10.0.0.9', userAgent: 'x'.repeat(300), country: null, city: null };

async function setUp(context: TestContext, derivation: KeyDerivation = quickDerivation) {
  const { users, audit, directory } = await usersWithRoot(context);
  const clock = new ManualClock();
  const limits = { idle: 1800_000, absolute: 0, perUser: 3, count: 5 };
  const tokens = new TokenSessions({
    serverName: 'Service 0',
    users,
    clock,
    random,
    audit,
    limits: {
      idleMs: () => limits.idle,
      absoluteMs: () => limits.absolute,
      perUserMax: () => limits.perUser,
      countMax: () => limits.count,
    },
  });
  const apiTokens = makeApiTokens(directory, { clock });
  const attempts = new LoginAttempts(clock, { failuresMax: () => 5, windowMs: () => 30_000 });
  const authenticator = new Authenticator({
    users,
    tokens,
    apiTokens,
    attempts,
    derivation,
    random,
    audit,
    cacheSize: () => 2,
    iterations: () => 1000,
  });
  const ask = async (header: string | undefined) => {
    const { principal, refusal } = await authenticator.authenticate(header, { source: 'here' });
    return principal?.name ?? refusal;
  };
  return { users, audit, clock, tokens, limits, authenticator, ask };
}

test('each wrong header has its own refusal', async (context) => {
  const { ask, users } = await setUp(context);
  await users.create('jay', { password: 'with:colon é', databases: new Map() });
  const cases: [string | undefined, string][] = [
    [undefined, 'missing'],
    ['', 'missing'],
    ['Basic', 'malformed-basic'],
    ['Basic !!!', 'malformed-basic'],
    [`Basic ${Buffer.from('nocolon').toString('base64')}`, 'malformed-basic'],
    ['Digest x', 'unknown-scheme'],
    ['Bearer', 'dead-token'],
    ['Bearer AU-x', 'dead-token'],
    ['Bearer something', 'dead-token'],
    ['Bearer at-0123', 'dead-api-token'],
    [basic('root', 'wrong'), 'wrong-password'],
    [basic('nobody', 'rootpassword'), 'wrong-password'],
    [basic('root', 'rootpassword'), 'root'],
    [basic('root', 'rootpassword').replace('Basic', 'bAsIc '), 'root'],
    [basic('jay', 'with:colon é'), 'jay'],
  ];
  for (const [header, expected] of cases) assert.equal(await ask(header), expected, header);
});

test('verified credentials are remembered until the password changes', async (context) => {
  const { users, ask, authenticator } = await setUp(context);
  const header = basic('root', 'rootpassword');
  assert.equal(authenticator.authenticateNow(header), undefined);
  assert.equal(await ask(header), 'root');
  assert.equal(authenticator.authenticateNow(header)?.principal?.name, 'root');
  await users.update('root', { password: 'newpassword' });
  assert.equal(authenticator.authenticateNow(header), undefined);
  assert.equal(await ask(header), 'wrong-password');
});

test('a header that a connection repeats is accepted as long as the password holds', async (context) => {
  const { users, ask, authenticator } = await setUp(context);
  const last = new LastHeader();
  const header = basic('root', 'rootpassword');
  assert.equal(authenticator.authenticateNow(header, last), undefined);
  assert.equal(await ask(header), 'root');
  assert.equal(authenticator.authenticateNow(header, last)?.principal?.name, 'root');
  assert.equal(authenticator.authenticateNow(basic('root', 'wrong'), last), undefined);
  assert.equal(authenticator.authenticateNow(header, last)?.principal?.name, 'root');
  await users.update('root', { password: 'newpassword' });
  assert.equal(authenticator.authenticateNow(header, last), undefined);
});

test('the same credentials at once cost one derivation', async (context) => {
  const { ask } = await setUp(context);
  const before = quickDerivation.count;
  const header = basic('root', 'rootpassword');
  await Promise.all(Array.from({ length: 8 }, () => ask(header)));
  assert.equal(quickDerivation.count, before + 1);
});

test('unknown and locked names cost a derivation like known ones', async (context) => {
  const { ask } = await setUp(context);
  const before = quickDerivation.count;
  await ask(basic('nobody', 'x'));
  for (let i = 0; i < 6; i++) await ask(basic('root', `wrong${i}`));
  assert.equal(quickDerivation.count, before + 7);
});

test('five failures lock the name for 30 s, also for the right and remembered password', async (context) => {
  const { users, ask, clock } = await setUp(context);
  await users.create('jay', { password: 'miner2024', databases: new Map() });
  const right = basic('root', 'rootpassword');
  assert.equal(await ask(right), 'root');
  for (let i = 0; i < 5; i++) assert.equal(await ask(basic('root', `no${i}`)), 'wrong-password');
  assert.equal(await ask(right), 'locked');
  assert.equal(await ask(basic('jay', 'miner2024')), 'jay');
  clock.ms += 29_999;
  assert.equal(await ask(right), 'locked');
  clock.ms += 1;
  assert.equal(await ask(right), 'root');
});

test('failures that are 30 s apart do not add up, and a success clears them', async (context) => {
  const { ask, clock } = await setUp(context);
  for (let i = 0; i < 20; i++) {
    assert.equal(await ask(basic('root', `wrong${i}`)), 'wrong-password');
    if (i % 4 === 3) clock.ms += 30_000;
  }
  // The second success is a remembered one.
  for (let time = 0; time < 3; time++) {
    for (let i = 0; i < 4; i++) assert.equal(await ask(basic('root', `no${i}`)), 'wrong-password');
    assert.equal(await ask(basic('root', 'rootpassword')), 'root');
  }
});

test('a burst of guesses in parallel checks no more than five of them', async (context) => {
  const { ask } = await setUp(context);
  const guesses = Array.from({ length: 50 }, (_, index) => basic('root', `guess${index}`));
  const answers = await Promise.all(guesses.map(ask));
  assert.equal(answers.filter((answer) => answer === 'wrong-password').length, 5);
  assert.equal(answers.filter((answer) => answer === 'locked').length, 45);
});

test('a full queue refuses without counting a failure', async (context) => {
  const { ask } = await setUp(context, {
    derive: () => Promise.reject(new DatabaseError('Busy', 'full')),
    close: () => Promise.resolve(),
  });
  for (let i = 0; i < 10; i++) assert.equal(await ask(basic('root', `x${i}`)), 'busy');
});

test('a token names the server and lives until its idle time', async (context) => {
  const { tokens, clock, ask } = await setUp(context);
  const token = tokens.login('root', client);
  assert.match(token, /^AU-Service_0-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  clock.ms += 1800_000;
  assert.equal(await ask(`bearer ${token}`), 'root');
  clock.ms += 1800_001;
  assert.equal(await ask(`Bearer ${token}`), 'dead-token');
});

test('a token dies by logout, age, a new password and the end of its user', async (context) => {
  const { users, tokens, clock, limits, ask } = await setUp(context);
  await users.create('jay', { password: 'miner2024', databases: new Map() });
  const alive = async (token: string) => (await ask(`Bearer ${token}`)) === 'jay';
  const first = tokens.login('jay', client);
  tokens.logout(first);
  tokens.logout(first);
  assert.equal(await alive(first), false);
  const second = tokens.login('jay', client);
  await users.update('jay', { databases: new Map([['a', ['admin']]]) });
  assert.equal(await alive(second), true);
  limits.absolute = 60_000;
  clock.ms += 60_001;
  assert.equal(await alive(second), false);
  const third = tokens.login('jay', client);
  await users.update('jay', { password: 'miner2025' });
  assert.equal(await alive(third), false);
  const fourth = tokens.login('jay', client);
  await users.drop('jay');
  assert.equal(await alive(fourth), false);
  await users.create('jay', { password: 'miner2024', databases: new Map() });
  assert.equal(await alive(fourth), false);
});

test('the caps drop the oldest token of the user, and refuse when the server is full', async (context) => {
  const { users, tokens, clock, limits, ask } = await setUp(context);
  const alive = async (token: string) => (await ask(`Bearer ${token}`)) !== 'dead-token';
  const own = [1, 2, 3, 4].map(() => tokens.login('root', client));
  assert.deepEqual(await Promise.all(own.map(alive)), [false, true, true, true]);
  await users.create('jay', { password: 'miner2024', databases: new Map() });
  await users.create('joe', { password: 'miner2024', databases: new Map() });
  tokens.login('jay', client);
  tokens.login('jay', client);
  assert.throws(() => tokens.login('joe', client), { code: 'Busy' });
  tokens.login('root', client);
  clock.ms += limits.idle + 1;
  tokens.login('joe', client);
  assert.equal(tokens.list().length, 1);
  limits.perUser = 0;
  limits.count = 0;
  for (let i = 0; i < 20; i++) tokens.login('joe', client);
  assert.equal(tokens.list().length, 21);
});

test('the list of sessions tells the idle time and short metadata', async (context) => {
  const { tokens, clock } = await setUp(context);
  tokens.login('root', client);
  clock.ms += 1234;
  const [entry] = tokens.list();
  assert.equal(entry?.elapsedMs, 1234);
  assert.equal(entry?.session.userAgent?.length, 256);
});
