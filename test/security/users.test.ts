import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  formatPasswordRecord,
  makePasswordRecord,
  parsePasswordRecord,
  verifyPassword,
} from '#security/password-record.ts';
import type { SecurityOperation } from '#security/security-operation.ts';
import { ensureRoot } from '#security/first-start.ts';
import { Settings } from '#config/effective-settings.ts';
import {
  makeUsers,
  quickDerivation,
  random,
  RecordedAudit,
  temporaryDirectory,
  usersWithRoot,
} from './fixtures.ts';

const none = new Map<string, readonly string[]>();

test('a password record survives its text and fits its password only', async () => {
  const record = await makePasswordRecord('pässwörd:1', {
    derivation: quickDerivation,
    random,
    iterations: 1000,
  });
  const text = formatPasswordRecord(record);
  assert.match(text, /^SCRAM-SHA-256\$1000:[\w+/=]{44}\$[\w+/=]{44}:[\w+/=]{44}$/);
  const parsed = parsePasswordRecord(text);
  assert.ok(parsed);
  assert.equal(await verifyPassword('pässwörd:1', parsed, quickDerivation), true);
  assert.equal(await verifyPassword('pässwörd:2', parsed, quickDerivation), false);
});

test('records of the reference product are taken, with the text of the salt', async () => {
  const salt = Buffer.from('0123456789abcdef').toString('base64');
  const hash = pbkdf2Sync('secret12', Buffer.from(salt, 'utf8'), 1, 32, 'sha256');
  const text = `PBKDF2WithHmacSHA256$1$${salt}$${hash.toString('base64')}`;
  const record = parsePasswordRecord(text);
  assert.ok(record);
  assert.equal(formatPasswordRecord(record), text);
  assert.equal(await verifyPassword('secret12', record, quickDerivation), true);
});

test('text that is no password record is refused', () => {
  for (const text of ['', 'x', 'SCRAM-SHA-256$0:AA==$AA==:AA==', 'SCRAM-SHA-256$5:AA==$AA==:AA=='])
    assert.equal(parsePasswordRecord(text), undefined);
});

test('users survive a restart, in a file that only its owner reads', async (context) => {
  const { users, directory } = await usersWithRoot(context);
  await users.create('jay', {
    password: 'miner2024',
    databases: new Map([['school', ['reader', 'x']]]),
  });
  const path = join(directory, 'server-users.jsonl');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(path, 'utf8'), /miner2024/);
  const again = makeUsers(directory, new RecordedAudit());
  await again.load();
  assert.deepEqual(again.get('jay')?.databases, new Map([['school', ['reader', 'x']]]));
  assert.deepEqual(
    again.list().map((user) => user.name),
    ['root', 'jay'],
  );
});

test('names and passwords outside the policy are refused', async (context) => {
  const { users } = await usersWithRoot(context);
  const password = 'longenough';
  for (const name of ['', '  ', 'a\nb', 'a\u0000b', 'apitoken:x', 'a:b', 'x'.repeat(257)])
    assert.throws(() => users.create(name, { password, databases: none }), {
      code: 'IllegalArgument',
    });
  for (const wrong of ['', '1234567', 'x'.repeat(257)])
    assert.throws(() => users.create('jay', { password: wrong, databases: none }), {
      code: 'IllegalArgument',
    });
  await users.create('x'.repeat(256), { password: 'y'.repeat(256), databases: none });
  await assert.rejects(users.create('root', { password, databases: none }), /already exists/);
  assert.throws(() => users.drop('root'), { code: 'IllegalArgument' });
  await assert.rejects(users.drop('nobody'), /User 'nobody' not found/);
  await assert.rejects(users.update('nobody', {}), { code: 'RecordNotFound' });
});

test('changes made at once are all kept', async (context) => {
  const { users, directory } = await usersWithRoot(context);
  const names = Array.from({ length: 20 }, (_, index) => `user${index}`);
  await Promise.all(
    names.map((name) => users.create(name, { password: 'password', databases: none })),
  );
  const again = makeUsers(directory, new RecordedAudit());
  await again.load();
  assert.equal(again.list().length, 21);
});

test('a new password revokes, new grants do not', async (context) => {
  const { users } = await usersWithRoot(context);
  const revoked: string[] = [];
  users.onRevoked((name) => void revoked.push(name));
  await users.create('jay', { password: 'password', databases: none });
  const before = users.get('jay')?.generation;
  await users.update('jay', { databases: new Map([['a', ['admin']]]) });
  assert.equal(users.get('jay')?.generation, before);
  await users.update('jay', { password: 'password2' });
  assert.notEqual(users.get('jay')?.generation, before);
  await users.drop('jay');
  assert.deepEqual(revoked, ['jay', 'jay']);
});

test('edits of the file are taken over, and revoke who has another password', async (context) => {
  const { users, directory, audit } = await usersWithRoot(context);
  await users.create('jay', { password: 'password', databases: none });
  await users.create('joe', { password: 'password', databases: none });
  const revoked: string[] = [];
  users.onRevoked((name) => void revoked.push(name));
  const path = join(directory, 'server-users.jsonl');
  const [root = '', jay = '', joe = ''] = readFileSync(path, 'utf8').trim().split('\n');
  const changed = joe.replace(/\$1000:/, '$1001:');
  writeFileSync(path, `${root}\n${jay.replace('{}', '{"a":"reader"}')}\nnonsense\n${changed}\n`);
  await users.poll();
  assert.deepEqual(revoked, ['joe']);
  assert.deepEqual(users.get('jay')?.databases, new Map([['a', ['reader']]]));
  assert.match(audit.lines.join('\n'), /line 3/);
  await users.poll();
  assert.deepEqual(revoked, ['joe']);
});

test('an emptied or broken file leaves the users as they were', async (context) => {
  const { users, directory, audit } = await usersWithRoot(context);
  for (const text of ['', 'nonsense\n', '{"name":"x"}\n']) {
    writeFileSync(join(directory, 'server-users.jsonl'), text);
    await users.poll();
    assert.ok(users.get('root'));
  }
  assert.equal(audit.lines.filter((line) => line.includes('holds no root')).length, 3);
});

test('a users file without any readable line is put aside at start', async (context) => {
  const directory = temporaryDirectory(context);
  writeFileSync(join(directory, 'server-users.jsonl'), 'nonsense\n');
  const users = makeUsers(directory, new RecordedAudit());
  await users.load();
  assert.deepEqual(readdirSync(directory), ['server-users-error.jsonl']);
});

test('at start an emptied users file is told of, and unreadable lines are kept aside', async (context) => {
  const { directory } = await usersWithRoot(context);
  const path = join(directory, 'server-users.jsonl');
  writeFileSync(path, `${readFileSync(path, 'utf8')}{"name":"cut`);
  const audit = new RecordedAudit();
  await makeUsers(directory, audit).load();
  assert.match(audit.lines.join(), /no user in line 2; skipped/);
  const aside = readFileSync(join(directory, 'server-users-error.jsonl'), 'utf8');
  assert.match(aside, /\{"name":"cut$/);
  writeFileSync(path, '');
  await makeUsers(directory, audit).load();
  assert.match(audit.lines.join(), /server-users.jsonl is empty: its users are lost/);
});

interface Start {
  readonly settings?: Record<string, string>;
  readonly directory: string;
}

async function start({ settings = {}, directory }: Start) {
  const users = makeUsers(directory, new RecordedAudit());
  await users.load();
  const given = { users, configDirectory: directory, random };
  const effective = new Settings(new Map(Object.entries(settings)));
  return { users, shown: await ensureRoot({ ...given, settings: effective }) };
}

test('the first start makes a password up, shows it once and keeps it until it is changed', async (context) => {
  const directory = temporaryDirectory(context);
  const first = await start({ directory });
  assert.match(first.shown ?? '', /^[A-Za-z0-9]{24}$/);
  const kept = join(directory, 'root-password');
  assert.equal(readFileSync(kept, 'utf8').trim(), first.shown);
  assert.equal(statSync(kept).mode & 0o777, 0o600);
  const second = await start({ directory });
  assert.equal(second.shown, undefined);
  assert.equal(existsSync(kept), true);
  await second.users.update('root', { password: 'another-one' });
  for (let i = 0; i < 20_000 && existsSync(kept); i++) await new Promise(setImmediate);
  assert.equal(existsSync(kept), false);
});

test('the first start takes the configured password, and a later one ignores it', async (context) => {
  const directory = temporaryDirectory(context);
  const settings = { 'service.server.rootPassword': 'configured1' };
  const { users, shown } = await start({ directory, settings });
  assert.equal(shown, undefined);
  const record = users.get('root')?.password;
  assert.ok(record && (await verifyPassword('configured1', record, quickDerivation)));
  const again = await start({
    directory,
    settings: { 'service.server.rootPassword': 'configured2' },
  });
  const kept = again.users.get('root')?.password;
  assert.ok(kept && (await verifyPassword('configured1', kept, quickDerivation)));
});

test('the password file is trimmed', async (context) => {
  const directory = temporaryDirectory(context);
  const path = join(directory, 'secret');
  writeFileSync(path, ' from-a-file \n');
  const settings = { 'service.server.rootPasswordPath': path };
  const { users } = await start({ directory, settings });
  const record = users.get('root')?.password;
  assert.ok(record && (await verifyPassword('from-a-file', record, quickDerivation)));
});

test('a start without a usable password is refused where nobody sees the screen', async (context) => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ 'server.mode': 'production' }, /rootPassword or service.server.rootPasswordPath/],
    [{ 'ha.k8s': 'true' }, /rootPassword or service.server.rootPasswordPath/],
    [{ 'server.rootPassword': 'short' }, /service\.server\.rootPassword.*at least 8/],
    [{ 'server.rootPasswordPath': '/nonexistent/file' }, /'\/nonexistent\/file' cannot be read/],
  ];
  for (const [settings, message] of cases)
    await assert.rejects(start({ directory: temporaryDirectory(context), settings }), message);
});

test('a users file that becomes unreadable leaves the users as they were, and is told of once', async (context) => {
  const { users, audit, directory } = await usersWithRoot(context);
  const path = join(directory, 'server-users.jsonl');
  const text = readFileSync(path);
  rmSync(path);
  mkdirSync(path);
  await users.poll();
  await users.poll();
  assert.ok(users.get('root'));
  assert.equal(audit.lines.filter((line) => /cannot be read/.test(line)).length, 1);
  rmSync(path, { recursive: true });
  writeFileSync(path, text);
  await users.poll();
  assert.match(audit.lines.at(-1) ?? '', /changed on disk and taken over/);
});

test('changes of a cluster that are taken once more, over a file that is ahead, leave the same text', async (context) => {
  const source = await usersWithRoot(context);
  const password = 'pass-word-1';
  for (const name of ['lou', 'jay', 'kim'])
    await source.users.create(name, { password, databases: none });
  const put = (name: string): SecurityOperation => {
    const line = source.users.text.split('\n').find((one) => one.includes(`"name":"${name}"`));
    return { op: 'put-user', line: line ?? '' };
  };
  const changes = [
    put('lou'),
    { op: 'drop-user', name: 'lou' } as const,
    put('lou'),
    put('jay'),
    put('kim'),
  ];
  const { users } = await usersWithRoot(context);
  const take = async (operations: readonly SecurityOperation[]) => {
    for (const operation of operations) if (operation.op !== 'groups') await users.take(operation);
  };
  await take(changes);
  const told = () => [users.text, ...users.list().map(({ name }) => name)];
  const before = told();
  assert.equal(before.length, 5);
  await take(changes.slice(1));
  assert.deepEqual(told(), before);
});
