import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Effect } from '#core/effects.ts';
import type { Principal } from '#core/principal.ts';
import { GroupAuthorizer } from '#security/authorizer.ts';
import { parseGroup } from '#security/group-document.ts';
import { Groups } from '#security/groups.ts';
import {
  makeApiTokens,
  RecordedAudit,
  stoppedTimers,
  temporaryDirectory,
  usersWithRoot,
} from './fixtures.ts';

async function makeGroups(directory: string, audit = new RecordedAudit()) {
  const groups = new Groups({ configDirectory: directory, timers: stoppedTimers, audit });
  await groups.load();
  return groups;
}

function principal(name: string): Principal {
  return { name, isRoot: name === 'root', via: 'password' };
}

async function setUp(context: TestContext) {
  const { users, directory } = await usersWithRoot(context);
  const groups = await makeGroups(directory);
  const authorizer = new GroupAuthorizer(users, groups, makeApiTokens(directory));
  const grant = (name: string, databases: Record<string, string[]>) =>
    users.create(name, { password: 'password', databases: new Map(Object.entries(databases)) });
  const may = (name: string, database: string, effect: Effect, types?: readonly string[]) => {
    try {
      authorizer.require(principal(name), database, { effects: new Set([effect]), types });
      return true;
    } catch (error) {
      assert.equal((error as { code: string }).code, 'Forbidden');
      return false;
    }
  };
  return { users, groups, authorizer, grant, may };
}

const effects: readonly Effect[] = [
  'read',
  'insert',
  'update',
  'delete',
  'schema',
  'settings',
  'security',
  'admin',
];

test('the shipped levels give what their names say', async (context) => {
  const { grant, may } = await setUp(context);
  const expected: Record<string, string> = {
    admin: 'read insert update delete schema settings security',
    writer: 'read insert update delete',
    schema: 'read insert update delete schema',
    reader: 'read',
    undefinedLevel: '',
  };
  for (const [level, allowed] of Object.entries(expected)) {
    await grant(`u-${level}`, { school: [level] });
    const found = effects.filter((effect) => may(`u-${level}`, 'school', effect));
    assert.equal(found.join(' '), allowed, level);
  }
  assert.deepEqual(
    effects.filter((effect) => may('root', 'anything', effect)),
    effects,
  );
});

test('a user without an entry has no access, and * stands for databases without one', async (context) => {
  const { grant, may, authorizer } = await setUp(context);
  await grant('jay', { school: ['reader'] });
  await grant('star', { '*': ['admin'], school: ['reader'] });
  assert.equal(may('jay', 'other', 'read', []), false);
  assert.equal(authorizer.canAccess(principal('jay'), 'other'), false);
  assert.equal(authorizer.canAccess(principal('nobody'), 'school'), false);
  assert.equal(may('star', 'other', 'schema'), true);
  assert.equal(may('star', 'school', 'schema'), false);
  assert.throws(
    () => authorizer.require(principal('jay'), 'other', { effects: new Set(), types: [] }),
    /User 'jay' has not access to database 'other'/,
  );
});

test('rights differ by type, unite over groups and name what is missing', async (context) => {
  const { groups, grant, may, authorizer } = await setUp(context);
  const access = (...rights: string[]) => ({ access: rights });
  const named = { types: { '*': access('readRecord'), Secret: access() } };
  await groups.put('school', 'reader', parseGroup(named, 'reader'));
  await groups.put('*', 'logger', parseGroup({ types: { Log: access('createRecord') } }, 'logger'));
  await grant('jay', { school: ['reader', 'logger'] });
  assert.equal(may('jay', 'school', 'read', ['Person']), true);
  assert.equal(may('jay', 'school', 'read', ['Person', 'Secret']), false);
  assert.equal(may('jay', 'school', 'read'), false);
  assert.equal(may('jay', 'school', 'read', []), true);
  assert.equal(may('jay', 'school', 'insert', ['Log']), true);
  assert.equal(may('jay', 'school', 'insert', ['Person']), false);
  assert.throws(
    () =>
      authorizer.require(principal('jay'), 'school', {
        effects: new Set<Effect>(['insert']),
        types: ['Person'],
      }),
    /User 'jay' is not allowed to createRecord on type 'Person' of database 'school'/,
  );
});

test('changes of users and groups hold at once', async (context) => {
  const { users, groups, grant, may } = await setUp(context);
  await grant('jay', { school: ['reader'] });
  assert.equal(may('jay', 'school', 'delete', ['T']), false);
  await users.update('jay', { databases: new Map([['school', ['writer']]]) });
  assert.equal(may('jay', 'school', 'delete', ['T']), true);
  await groups.put('school', 'writer', parseGroup({}, 'writer'));
  assert.equal(may('jay', 'school', 'delete', ['T']), false);
  await groups.delete('school', 'writer');
  assert.equal(may('jay', 'school', 'delete', ['T']), true);
});

test('the lowest limit of the groups holds', async (context) => {
  const { groups, grant, authorizer } = await setUp(context);
  await groups.put('*', 'a', parseGroup({ resultSetLimit: 10, readTimeout: 500 }, 'a'));
  await groups.put('*', 'b', parseGroup({ resultSetLimit: 5 }, 'b'));
  await grant('jay', { school: ['a', 'b'] });
  const limits = authorizer.limitsOf(principal('jay'), 'school');
  assert.deepEqual([limits.resultSetLimit, limits.readTimeoutMs], [5, 500]);
});

test('a broken groups file is put aside at start and ignored later', async (context) => {
  const directory = temporaryDirectory(context);
  const path = join(directory, 'server-groups.json');
  writeFileSync(path, '{"databases":{"*":{"groups":{"x":{"access":["fly"]}}}}}');
  const audit = new RecordedAudit();
  const groups = await makeGroups(directory, audit);
  assert.ok(groups.resolve('any', 'admin'));
  assert.deepEqual(readdirSync(directory).sort(), [
    'server-groups-error.json',
    'server-groups.json',
  ]);
  assert.match(audit.lines[0] ?? '', /CRITICAL .*unknown permission 'fly'/);
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).version, 2);
});

test('groups that everything rests on cannot be deleted', async (context) => {
  const groups = await makeGroups(temporaryDirectory(context));
  assert.throws(() => groups.delete('*', 'admin'), { code: 'IllegalArgument' });
  assert.throws(() => groups.delete('*', '*'), { code: 'IllegalArgument' });
  await assert.rejects(groups.delete('school', 'x'), { code: 'RecordNotFound' });
});
