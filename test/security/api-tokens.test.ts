import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Principal } from '#core/principal.ts';
import { GroupAuthorizer } from '#security/authorizer.ts';
import { parsePermissions } from '#security/api-token-file.ts';
import { Groups } from '#security/groups.ts';
import {
  makeApiTokens,
  ManualClock,
  RecordedAudit,
  stoppedTimers,
  temporaryDirectory,
  usersWithRoot,
} from './fixtures.ts';

const readAll = parsePermissions({ types: { '*': { access: ['readRecord'] } } }, 'x');

function given(name: string, more: { database?: string; expiresAt?: number } = {}) {
  return { name, database: '*', expiresAt: 0, permissions: readAll, ...more };
}

const file = (directory: string) => join(directory, 'server-api-tokens.json');

test('a token is found by what it is, and stored as its hash alone', async (context) => {
  const directory = temporaryDirectory(context);
  const tokens = makeApiTokens(directory);
  await tokens.load();
  const { token, stored } = await tokens.create(given('ci', { database: 'school' }));
  assert.match(token, /^at-[0-9a-f]{64}$/);
  assert.equal(stored.tokenHash, createHash('sha256').update(token).digest('hex'));
  assert.equal(stored.tokenSuffix, token.slice(-4));
  assert.deepEqual(tokens.find(token), {
    name: 'apitoken:ci',
    isRoot: false,
    via: 'api-token',
  });
  for (const wrong of ['at-', `${token}0`, token.slice(0, -1), token.toUpperCase(), ''])
    assert.equal(tokens.find(wrong), undefined, wrong);
  assert.equal(readFileSync(file(directory), 'utf8').includes(token), false);
  assert.equal(statSync(file(directory)).mode & 0o777, 0o600);
  const restarted = makeApiTokens(directory);
  await restarted.load();
  assert.equal(restarted.find(token)?.name, 'apitoken:ci');
  assert.deepEqual(restarted.list(), tokens.list());
});

test('names, moments and numbers are refused in words', async (context) => {
  const tokens = makeApiTokens(temporaryDirectory(context), { countMax: 2 });
  await tokens.load();
  const refusal = async (name: string, more = {}) => {
    try {
      await tokens.create(given(name, more));
      return '';
    } catch (error) {
      return String((error as Error).message);
    }
  };
  assert.match(await refusal(' '), /is blank/);
  assert.match(await refusal('x'.repeat(257)), /longer than 256/);
  assert.match(await refusal('a\nb'), /control characters/);
  assert.match(await refusal('ci', { expiresAt: 1000 }), /in the past/);
  assert.equal(await refusal('x'.repeat(256)), '');
  assert.match(await refusal('x'.repeat(256)), /already exists/);
  assert.equal(await refusal('second'), '');
  assert.match(await refusal('third'), /apiTokenMax is 2/);
  await assert.rejects(tokens.delete({ name: 'nobody' }), /not found/);
  await assert.rejects(tokens.delete({ tokenHash: 'ab' }), /not found/);
});

test('a token ends by time and by deletion, and takes its rights along', async (context) => {
  const { users, directory } = await usersWithRoot(context);
  const groups = new Groups({
    configDirectory: directory,
    timers: stoppedTimers,
    audit: new RecordedAudit(),
  });
  await groups.load();
  const clock = new ManualClock();
  const tokens = makeApiTokens(directory, { clock });
  await tokens.load();
  const revoked: string[] = [];
  tokens.onRevoked((name) => revoked.push(name));
  const authorizer = new GroupAuthorizer(users, groups, tokens);
  const expiresAt = clock.now() + 1000;
  const { token } = await tokens.create(given('ci', { database: 'school', expiresAt }));
  const who = tokens.find(token) as Principal;
  assert.equal(authorizer.canAccess(who, 'school'), true);
  assert.equal(authorizer.canAccess(who, 'other'), false);
  assert.equal(authorizer.canRead(who, 'school', 'T'), true);
  const insert = { effects: new Set(['insert'] as const), types: ['T'] };
  assert.throws(() => authorizer.require(who, 'school', insert), /User 'apitoken:ci' is not/);
  clock.ms = expiresAt - 1;
  assert.equal(tokens.find(token)?.name, 'apitoken:ci');
  clock.ms = expiresAt;
  assert.equal(tokens.find(token), undefined);
  assert.equal(authorizer.canAccess(who, 'school'), false);
  assert.equal(tokens.isExpired(tokens.list()[0] as never), true);
  const second = await tokens.create(given('forever'));
  const forever = tokens.find(second.token) as Principal;
  assert.equal(authorizer.canAccess(forever, 'anything'), true);
  assert.equal(await tokens.delete({ tokenHash: second.stored.tokenHash }), 'forever');
  assert.equal(tokens.find(second.token), undefined);
  assert.equal(authorizer.canAccess(forever, 'anything'), false);
  assert.deepEqual(revoked, ['apitoken:forever']);
});

test('an edited file is taken over, a broken one is not', async (context) => {
  const directory = temporaryDirectory(context);
  const audit = new RecordedAudit();
  const tokens = makeApiTokens(directory, { audit });
  await tokens.load();
  const one = await tokens.create(given('one'));
  const two = await tokens.create(given('two'));
  const revoked: string[] = [];
  tokens.onRevoked((name) => revoked.push(name));
  const text = readFileSync(file(directory), 'utf8');
  for (const broken of ['', '{', '{"tokens":[{"name":"one"}]}', '[]']) {
    writeFileSync(file(directory), broken);
    await tokens.poll();
    assert.equal(tokens.find(one.token)?.name, 'apitoken:one', broken);
  }
  const document = JSON.parse(text);
  document.tokens = document.tokens.filter((token: { name: string }) => token.name === 'two');
  writeFileSync(file(directory), JSON.stringify(document));
  await tokens.poll();
  assert.equal(tokens.find(one.token), undefined);
  assert.equal(tokens.find(two.token)?.name, 'apitoken:two');
  assert.deepEqual(revoked, ['apitoken:one']);
  assert.equal(audit.lines.filter((line) => line.startsWith('CRITICAL')).length, 4);
  for (const line of audit.lines) assert.equal(line.includes(one.token), false);
});

test('plain tokens of an older file become hashes', async (context) => {
  const directory = temporaryDirectory(context);
  const token = `at-${'0123456789abcdef'.repeat(4)}`;
  const old = { name: 'old', database: 'school', expiresAt: 0, createdAt: 1, token };
  writeFileSync(file(directory), JSON.stringify({ version: 1, tokens: [old] }));
  const tokens = makeApiTokens(directory);
  await tokens.load();
  assert.equal(tokens.find(token)?.name, 'apitoken:old');
  assert.equal(tokens.list()[0]?.tokenSuffix, 'cdef');
  assert.equal(readFileSync(file(directory), 'utf8').includes(token), false);
});

test('a broken file at start is renamed aside', async (context) => {
  const directory = temporaryDirectory(context);
  const audit = new RecordedAudit();
  writeFileSync(file(directory), '{"tokens":');
  const tokens = makeApiTokens(directory, { audit });
  await tokens.load();
  assert.deepEqual(tokens.list(), []);
  assert.equal(existsSync(join(directory, 'server-api-tokens-error.json')), true);
  assert.match(audit.lines.join('\n'), /^CRITICAL .*is broken/);
});
