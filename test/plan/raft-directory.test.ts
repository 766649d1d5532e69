import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import { raftDirectory } from '#plan/raft-directory.ts';

// Where the Raft log of a server is (contract 3, HA settings; ha.md 3.2; house decision 34).

function setUp(context: TestContext, texts: Readonly<Record<string, string>> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'polyad-raft-directory-'));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const told: string[] = [];
  const settings = new Settings(
    new Map(Object.entries(texts).map(([key, text]) => [`service.${key}`, text])),
  );
  const find = () =>
    raftDirectory(settings, { root, self: 'a_2434', warn: (text) => told.push(text) });
  const make = (name: string, peerId?: string) => {
    const directory = join(root, name);
    mkdirSync(directory, { recursive: true });
    if (peerId !== undefined)
      writeFileSync(join(directory, 'identity.json'), JSON.stringify({ peerId, format: 1 }));
    return directory;
  };
  return { root, find, make, told };
}

test('it is named by the server, below the root or the directory of the setting', (context) => {
  const plain = setUp(context);
  assert.equal(plain.find(), join(plain.root, 'raft-storage-Service_0'));
  const other = setUp(context, {
    'server.name': 'db/0 é',
    'ha.raftStorageDirectory': 'volume',
  });
  assert.equal(other.find(), join(other.root, 'volume', 'raft-storage-db_0__'));
  const apart = setUp(context, { 'ha.raftStorageDirectory': '/mnt/raft' });
  assert.equal(apart.find(), '/mnt/raft/raft-storage-Service_0');
});

test('without one of its own a server takes raft-storage, unless that is of another one', (context) => {
  const { root, find, make, told } = setUp(context);
  const shared = make('raft-storage', 'b_2434');
  assert.equal(find(), join(root, 'raft-storage-Service_0'));
  make('raft-storage', 'a_2434');
  assert.equal(find(), shared);
  const own = make('raft-storage-Service_0');
  assert.equal(find(), own, 'its own goes first');
  assert.deepEqual(told, []);
});

test('a server that was renamed takes the only one that is its own by its peer id, and tells it', (context) => {
  const { root, find, make, told } = setUp(context);
  make('raft-storage-other', 'b_2434');
  make('raft-storage-empty');
  const earlier = make('raft-storage-old_name', 'a_2434');
  assert.equal(find(), earlier);
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /raft-storage-old_name.*raft-storage-Service_0/);
  make('raft-storage-older_name', 'a_2434');
  assert.equal(find(), join(root, 'raft-storage-Service_0'), 'nobody knows which of the two');
});

test('that a log is not kept is told at the start', (context) => {
  const { find, told } = setUp(context, { 'ha.raftPersistStorage': 'false' });
  find();
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /raftPersistStorage is false: .*wiped at each start/);
});
