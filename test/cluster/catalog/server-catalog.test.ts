import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { BaselineStep } from '#cluster/bootstrap/baseline.ts';
import { DatabaseLog } from '#cluster/catalog/database-log.ts';
import { encodeBody } from '#cluster/catalog/entry-bodies.ts';
import { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import { entryKind } from '#cluster/replication/entry-codec.ts';
import type { ServerProposer } from '#cluster/replication/server-proposer.ts';
import type { MemberDatabase } from '#cluster/replication/server-entries.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { Groups } from '#security/groups.ts';
import type { SecurityOperation } from '#security/security-operation.ts';
import { Users } from '#security/users.ts';
import { quickDerivation, stoppedTimers } from '../../security/fixtures.ts';

// Entries of the server as a whole: databases, users, groups (ha.md 5.11, 5.12), over crashes between their steps.

const member = (name: string, digit: string) => ({
  uuid: `${digit.repeat(8)}-0000-4000-8000-000000000000`,
  name,
  offset: 0,
});

class Server {
  readonly directory = mkdtempSync(join(tmpdir(), 'polyad-catalog-'));
  readonly databases = new Set<string>();
  readonly audit = { report: () => {} };
  readonly users = new Users({
    configDirectory: this.directory,
    derivation: quickDerivation,
    random: systemRuntime.random,
    timers: stoppedTimers,
    audit: this.audit,
    iterations: () => 1,
  });
  readonly groups = new Groups({
    configDirectory: this.directory,
    timers: stoppedTimers,
    audit: this.audit,
  });
  breaksCreate = false;
  breaksPublish = false;
  whileCreating: (() => Promise<void>) | undefined;
  /** UUIDs of what is whole here, and the names of what must be fetched. */
  readonly staged = new Set<string>();
  readonly awaited: string[] = [];
  /** What becomes of local copies when the cluster begins. */
  readonly steps = new Map<string, BaselineStep>();
  readonly reopened: string[] = [];
  readonly refused: string[] = [];
  readonly warnings: string[] = [];
  catalog!: ServerCatalog;

  static async start(context: TestContext): Promise<Server> {
    const server = new Server();
    context.after(() => rmSync(server.directory, { recursive: true, force: true }));
    await server.groups.load();
    await server.open();
    return server;
  }

  async open(): Promise<void> {
    this.catalog = await ServerCatalog.open({
      directory: this.directory,
      databases: () => ({
        exists: (name) => this.databases.has(name),
        createHere: async (name) => {
          this.databases.add(name);
          await this.whileCreating?.();
          if (this.breaksCreate) throw new Error('the process ends here');
        },
        dropHere: async (name) => void this.databases.delete(name),
        setAsideHere: async (name) => {
          this.databases.delete(name);
          return `.aside-${name}`;
        },
        publishHere: async (name, from) => {
          this.databases.add(name);
          this.staged.delete(from);
          if (this.breaksPublish) throw new Error('the process ends here');
        },
        reopenHere: async (name) => void this.reopened.push(name),
        awaitHere: async (name) => {
          this.databases.delete(name);
          this.awaited.push(name);
        },
      }),
      staged: () => ({
        want: () => {},
        isStaged: (uuid) => this.staged.has(uuid),
        path: (uuid) => uuid,
        discard: async (uuid) => void this.staged.delete(uuid),
      }),
      baselineStep: async ({ name }) => [this.steps.get(name) ?? 'fetch', 9],
      refuse: (reason) => void this.refused.push(reason),
      users: this.users,
      groups: this.groups,
      log: { ...silentLog, warn: (text: string) => void this.warnings.push(text) },
    });
  }
}

test('databases come and go with entries, by their uuid, over restarts', async (context) => {
  const server = await Server.start(context);
  const [one, other] = [member('school', '1'), member('school', '2')];
  await server.catalog.apply(3, entryKind.databaseCreate, encodeBody(one));
  assert.deepEqual(server.catalog.memberNamed('school'), one);
  await server.catalog.apply(4, entryKind.databaseCreate, encodeBody(other));
  assert.equal(server.catalog.member(other.uuid), undefined, 'the second of a name is nothing');
  await server.open();
  assert.deepEqual([server.catalog.applied(), server.catalog.members()], [4, [one]]);
  await server.catalog.apply(5, entryKind.databaseDrop, Buffer.from(one.uuid));
  await server.catalog.apply(6, entryKind.databaseCreate, encodeBody(other));
  await server.catalog.apply(7, entryKind.databaseDrop, Buffer.from(one.uuid));
  assert.deepEqual([...server.databases], ['school'], 'an old drop leaves the new one alone');
  await server.catalog.checkpoint(7);
  await server.open();
  assert.deepEqual([server.catalog.applied(), server.catalog.checkpointed()], [7, 7]);
});

test('a crash amid the creation is made good by the same entry', async (context) => {
  const server = await Server.start(context);
  server.breaksCreate = true;
  const body = encodeBody(member('school', '1'));
  await assert.rejects(server.catalog.apply(3, entryKind.databaseCreate, body), /ends here/);
  server.breaksCreate = false;
  await server.open();
  assert.deepEqual([server.catalog.applied(), server.catalog.members()], [0, []]);
  await server.catalog.apply(3, entryKind.databaseCreate, body);
  assert.deepEqual([...server.databases], ['school']);
});

test('users and groups of one server become those of the other, passwords and revocations too', async (context) => {
  const leader = await Server.start(context);
  const follower = await Server.start(context);
  await leader.users.create('root', { password: 'password', databases: new Map() });
  const init = encodeBody({
    createdAt: 1,
    security: [
      { op: 'users', text: leader.users.text },
      { op: 'groups', text: leader.groups.text },
    ],
  });
  let index = 1;
  for (const { catalog } of [leader, follower]) await catalog.apply(1, entryKind.clusterInit, init);
  assert.equal(follower.catalog.isInitialized, true);
  const publish = async (operations: readonly SecurityOperation[]) => {
    index += 1;
    for (const { catalog } of [leader, follower])
      await catalog.apply(index, entryKind.users, encodeBody(operations));
  };
  leader.users.publishBy(publish);
  leader.groups.publishBy(publish);
  const revoked: string[] = [];
  follower.users.onRevoked((name) => revoked.push(name));
  await leader.users.create('jay', {
    password: 'password',
    databases: new Map([['*', ['reader']]]),
  });
  assert.equal(await follower.users.hasPassword('jay', 'password'), true);
  await leader.users.update('jay', { databases: new Map() });
  assert.deepEqual(revoked, []);
  await leader.users.update('jay', { password: 'password2' });
  assert.deepEqual(revoked, ['jay']);
  assert.equal(await follower.users.hasPassword('jay', 'password2'), true);
  await leader.users.drop('jay');
  assert.deepEqual([follower.users.get('jay'), revoked], [undefined, ['jay', 'jay']]);
  const reader = leader.groups.resolve('*', 'reader');
  if (reader) await leader.groups.put('school', 'writers', reader);
  assert.notEqual(follower.groups.document.get('school')?.get('writers'), undefined);
  const edited = `${follower.users.text}`.replace('"root"', '"kim"');
  writeFileSync(join(leader.directory, 'server-users.jsonl'), leader.users.text + edited);
  await leader.users.poll();
  for (let turn = 0; follower.users.get('kim') === undefined && turn < 100; turn += 1)
    await systemRuntime.timers.sleep(5);
  assert.notEqual(follower.users.get('kim'), undefined, 'an edit of the file goes through the log');
  const kept = readFileSync(join(follower.directory, 'server-users.jsonl'), 'utf8');
  assert.match(kept, /"kim"/);
});

test('the second of two creations of one name is told that it is there', async (context) => {
  const server = await Server.start(context);
  let index = 0;
  const proposer: ServerProposer = {
    propose: async (kind, body) => {
      index += 1;
      await server.catalog.apply(index, kind, body);
      return index;
    },
    proposeFor: async () => 0,
  };
  const desk = { install: async () => '' };
  const log = new DatabaseLog(server.catalog, { proposer, desk, random: systemRuntime.random });
  await log.create('school');
  await assert.rejects(log.create('school'), /already exists/);
  await log.drop('school');
  await log.create('school');
  assert.equal(server.catalog.members().length, 1);
});

test('a database that a server made alone steps aside for one of the cluster', async (context) => {
  const server = await Server.start(context);
  server.databases.add('school');
  const made = member('school', '1');
  await server.catalog.apply(3, entryKind.databaseCreate, encodeBody(made));
  assert.deepEqual(server.catalog.memberNamed('school'), made);
  assert.deepEqual([...server.databases], ['school']);
});

test('an adopted image counts as applied only when its databases are there', async (context) => {
  const [from, to] = [await Server.start(context), await Server.start(context)];
  await from.catalog.apply(3, entryKind.databaseCreate, encodeBody(member('school', '1')));
  await to.catalog.adopt(from.catalog.image());
  await to.open();
  assert.deepEqual([to.catalog.applied(), to.catalog.members().length], [0, 1]);
  await to.catalog.adopted(3);
  await to.open();
  assert.deepEqual([to.catalog.applied(), to.catalog.checkpointed()], [3, 3]);
});

const publish = (uuid: string, replaces: boolean) => encodeBody({ uuid, replaces });

test('what is staged appears where its files are, is awaited elsewhere, and takes the place of another', async (context) => {
  const [one, other] = [await Server.start(context), await Server.start(context)];
  const [old, restored] = [member('school', '1'), { ...member('school', '2'), offset: 77 }];
  one.staged.add(restored.uuid);
  for (const { catalog } of [one, other]) {
    await catalog.apply(3, entryKind.databaseCreate, encodeBody(old));
    await catalog.apply(4, entryKind.databaseStage, encodeBody(restored));
    assert.deepEqual(catalog.memberNamed('school'), old);
    await catalog.apply(5, entryKind.databasePublish, publish(restored.uuid, true));
    assert.deepEqual(catalog.members(), [restored]);
    assert.deepEqual(catalog.document.dropped, [old.uuid]);
    assert.deepEqual(catalog.staged(), []);
  }
  assert.deepEqual([one.awaited, other.awaited], [[], ['school']]);
});

test('what is staged is nothing when its name is taken, when it was given up, and over a restart it is kept', async (context) => {
  const server = await Server.start(context);
  const [old, restored] = [member('school', '1'), member('School', '2')];
  await server.catalog.apply(3, entryKind.databaseCreate, encodeBody(old));
  server.staged.add(restored.uuid);
  await server.catalog.apply(4, entryKind.databaseStage, encodeBody(restored));
  await server.open();
  assert.deepEqual(server.catalog.staged(), [restored]);
  await server.catalog.apply(5, entryKind.databasePublish, publish(restored.uuid, true));
  assert.deepEqual(server.catalog.members(), [old]);
  assert.deepEqual([...server.staged], []);
  const later = member('other', '3');
  await server.catalog.apply(6, entryKind.databaseStage, encodeBody(later));
  await server.catalog.apply(7, entryKind.databaseStageAbort, encodeBody({ uuid: later.uuid }));
  await server.catalog.apply(8, entryKind.databasePublish, publish(later.uuid, false));
  assert.deepEqual(server.catalog.members(), [old]);
});

test('a publication that a crash broke off behind the move is finished without the files', async (context) => {
  const server = await Server.start(context);
  const restored = member('school', '2');
  await server.catalog.apply(4, entryKind.databaseStage, encodeBody(restored));
  server.staged.add(restored.uuid);
  server.breaksPublish = true;
  await assert.rejects(
    server.catalog.apply(5, entryKind.databasePublish, publish(restored.uuid, false)),
  );
  await server.open();
  await server.catalog.apply(5, entryKind.databasePublish, publish(restored.uuid, false));
  assert.deepEqual(server.catalog.members(), [restored]);
  assert.deepEqual([[...server.databases], server.awaited], [['school'], []]);
});

const begin = (...databases: readonly MemberDatabase[]) =>
  encodeBody({
    createdAt: 0,
    security: [],
    baseline: {
      source: 'a_1',
      databases: databases.map((database) => ({ ...database, fingerprint: 'f', lastTxId: 7 })),
    },
  });

test('a cluster begins with the databases of its source: equal copies stay, others are set aside and fetched, once', async (context) => {
  const server = await Server.start(context);
  const [equal, older, absent] = [member('equal', '1'), member('older', '2'), member('new', '3')];
  for (const name of ['equal', 'older']) server.databases.add(name);
  server.steps.set('equal', 'keep');
  await server.catalog.apply(2, entryKind.clusterInit, begin(equal, older, absent));
  assert.deepEqual(server.catalog.members(), [equal, older, absent]);
  assert.deepEqual([server.reopened, server.awaited], [['equal'], ['older', 'new']]);
  assert.deepEqual([...server.databases], ['equal']);
  await server.catalog.apply(3, entryKind.clusterInit, begin(member('late', '4')));
  await server.open();
  assert.equal(server.catalog.members().length, 3);
  assert.equal(server.catalog.document.baseline?.databases[0]?.lastTxId, 7);
});

test('a server with a newer copy refuses to serve and records nothing; what has history in the log is left alone', async (context) => {
  const server = await Server.start(context);
  const made = member('made', '1');
  await server.catalog.apply(2, entryKind.databaseCreate, encodeBody(made));
  server.steps.set('newer', 'refuse');
  server.databases.add('newer');
  const entry = begin(member('made', '2'), member('newer', '3'));
  await assert.rejects(server.catalog.apply(3, entryKind.clusterInit, entry), /transaction 9/);
  assert.match(server.refused[0] ?? '', /'newer' .* transaction 9, the cluster began with 7/);
  await server.open();
  assert.deepEqual([server.catalog.applied(), server.catalog.members()], [2, [made]]);
  assert.ok(server.databases.has('newer'));
});

test('a checkpoint beside an entry: neither takes away what the other has written', async (context) => {
  const server = await Server.start(context);
  for (let index = 1; index <= 20; index += 1) {
    const one = member(`school${index}`, String(index % 10));
    await Promise.all([
      server.catalog.apply(index, entryKind.databaseCreate, encodeBody({ ...one, uuid: one.name })),
      server.catalog.checkpoint(index - 1),
    ]);
    for (const isReopened of [false, true]) {
      if (isReopened) await server.open();
      assert.equal(server.catalog.applied(), index);
      assert.equal(server.catalog.checkpointed(), index - 1);
      assert.equal(server.catalog.members().length, index);
    }
  }
});

test('a checkpoint amid the creation of a database records nothing of it', async (context) => {
  const server = await Server.start(context);
  const one = member('school', '1');
  server.breaksCreate = true;
  server.whileCreating = () => server.catalog.checkpoint(2);
  await assert.rejects(server.catalog.apply(3, entryKind.databaseCreate, encodeBody(one)));
  await server.open();
  assert.equal(server.catalog.checkpointed(), 2);
  assert.deepEqual(server.catalog.members(), [], 'its files are not whole');
  server.breaksCreate = false;
  await server.catalog.apply(3, entryKind.databaseCreate, encodeBody(one));
  assert.deepEqual(server.catalog.members(), [one]);
  await server.open();
  assert.deepEqual(server.catalog.members(), [one]);
});

const inGroup = (clusterId: string, more: object = {}) => ({
  clusterId,
  earlierClusterIds: [],
  log: { firstIndex: 1, lastIndex: 0 },
  ...more,
});

function oldCatalogs({ directory }: Server): readonly string[] {
  return readdirSync(directory).filter((name) => name.startsWith('catalog-of-'));
}

test('a server in another group begins a catalog anew, keeps the old one, and tells what it was until the group has begun', async (context) => {
  const server = await Server.start(context);
  await server.catalog.enter(inGroup('one'));
  await server.catalog.apply(2, entryKind.clusterInit, begin());
  const school = member('school', '1');
  await server.catalog.apply(3, entryKind.databaseCreate, encodeBody(school));
  await server.catalog.checkpoint(40);
  server.databases.add('alone');
  const before = readFileSync(join(server.directory, 'catalog.json'), 'utf8');
  assert.equal(await server.catalog.enter(inGroup('one')), 'known');
  assert.equal(server.catalog.former, undefined);

  assert.equal(await server.catalog.enter(inGroup('two')), 'other');
  assert.deepEqual(oldCatalogs(server), ['catalog-of-one-at-40.json']);
  const kept = readFileSync(join(server.directory, 'catalog-of-one-at-40.json'), 'utf8');
  assert.deepEqual(JSON.parse(kept), JSON.parse(before));
  assert.match(server.warnings[0] ?? '', /group one, at index 40, .* group two, .*kept as/);
  for (const isReopened of [false, true]) {
    if (isReopened) await server.open();
    const { catalog } = server;
    assert.deepEqual([catalog.applied(), catalog.checkpointed(), catalog.members()], [0, 0, []]);
    assert.equal(catalog.isInitialized, false);
    assert.deepEqual([catalog.former?.group, catalog.former?.index], ['one', 3]);
    assert.deepEqual([catalog.mayBegin('school'), catalog.mayBegin('alone')], [true, false]);
    assert.equal(await catalog.enter(inGroup('two')), 'known');
  }
  // Its image is for servers that have another past.
  assert.doesNotMatch(Buffer.from(server.catalog.image()).toString(), /former/);
  server.steps.set('school', 'keep');
  await server.catalog.apply(2, entryKind.clusterInit, begin(member('school', '2')));
  assert.equal(server.catalog.former, undefined);
  assert.deepEqual(server.catalog.members(), [member('school', '2')]);
});

test('the catalog of a log that goes on under another id goes on, and an image leaves the group that it comes to', async (context) => {
  const [from, to] = [await Server.start(context), await Server.start(context)];
  await from.catalog.enter(inGroup('one'));
  await from.catalog.apply(3, entryKind.databaseCreate, encodeBody(member('school', '1')));
  assert.equal(await from.catalog.enter(inGroup('two', { earlierClusterIds: ['one'] })), 'taken');
  await from.open();
  assert.deepEqual([from.catalog.document.group, from.catalog.applied()], ['two', 3]);
  await to.catalog.adopt(from.catalog.image());
  assert.equal(to.catalog.document.group, undefined, 'an earlier build wrote the image');
  await to.catalog.enter(inGroup('two', { log: undefined }));
  await to.catalog.adopt(from.catalog.image());
  await to.catalog.adopted(3);
  assert.equal(to.catalog.document.group, 'two');
});

test('a copy that is ahead of what its own database began with is set aside and fetched, not refused', async (context) => {
  const server = await Server.start(context);
  const school = member('school', '1');
  await server.catalog.enter(inGroup('one'));
  await server.catalog.apply(2, entryKind.clusterInit, begin(school));
  await server.catalog.enter(inGroup('two'));
  server.databases.add('school');
  server.awaited.length = 0;
  server.steps.set('school', 'refuse');
  await server.catalog.apply(2, entryKind.clusterInit, begin(school));
  assert.deepEqual([server.awaited, server.refused], [['school'], []]);
});

test('a data directory of an earlier build opens: its catalog goes on with the log that is there', async (context) => {
  const server = await Server.start(context);
  const older = {
    ...{ version: 1, applied: 7, checkpointed: 40, databases: [member('school', '1')] },
    ...{ dropped: [], staged: [], isInitialized: true, features: [] },
  };
  writeFileSync(join(server.directory, 'catalog.json'), JSON.stringify(older));
  await server.open();
  assert.equal(await server.catalog.enter(inGroup('one', { log: undefined })), 'open');
  const log = { firstIndex: 1, lastIndex: 45 };
  assert.equal(await server.catalog.enter(inGroup('one', { log })), 'taken');
  await server.open();
  assert.equal(await server.catalog.enter(inGroup('one', { log: undefined })), 'known');
  assert.deepEqual([server.catalog.applied(), server.catalog.checkpointed()], [7, 40]);
  assert.deepEqual(server.catalog.members(), [member('school', '1')]);
  assert.deepEqual(oldCatalogs(server), []);
});
