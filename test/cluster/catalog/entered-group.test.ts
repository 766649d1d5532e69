import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyCatalog, formatCatalog, parseCatalog } from '#cluster/catalog/catalog-document.ts';
import {
  formerOf,
  formerState,
  judgeEntry,
  newestFormer,
  oldCatalogName,
} from '#cluster/catalog/entered-group.ts';

// A catalog belongs to the log of one group: what a start makes of it that finds itself in this group, in another one, or in none.

const school = { uuid: 'u-1', name: 'school', offset: 0 };
const used = { ...emptyCatalog, applied: 7, checkpointed: 40, databases: [school] };
const log = { firstIndex: 1, lastIndex: 50 };
const inGroup = (clusterId: string, more: object = {}) => ({
  clusterId,
  earlierClusterIds: [],
  log: undefined,
  ...more,
});

test('a catalog goes on in its group and behind a sole survivor, and is of another log else', () => {
  const document = { ...used, group: 'one' };
  assert.equal(judgeEntry(document, inGroup('one')), 'known');
  assert.equal(
    judgeEntry(document, inGroup('one', { log: { firstIndex: 1, lastIndex: 0 } })),
    'known',
  );
  assert.equal(
    judgeEntry(document, inGroup('two', { earlierClusterIds: ['zero', 'one'] })),
    'taken',
  );
  assert.equal(judgeEntry(document, inGroup('two', { earlierClusterIds: ['zero'] })), 'other');
  assert.equal(judgeEntry(document, inGroup('two', { log })), 'other', 'however long its log is');
});

test('a catalog that has applied nothing is of whatever group there is', () => {
  assert.equal(judgeEntry(emptyCatalog, inGroup('one')), 'taken');
  assert.equal(judgeEntry({ ...emptyCatalog, group: 'one' }, inGroup('two')), 'taken');
});

test('a catalog of an earlier build is of the log that is there, and of another one when that is whole and too short', () => {
  assert.equal(judgeEntry(used, inGroup('one')), 'open');
  assert.equal(judgeEntry(used, inGroup('one', { log })), 'taken');
  assert.equal(
    judgeEntry(used, inGroup('one', { log: { firstIndex: 1, lastIndex: 39 } })),
    'other',
  );
  assert.equal(judgeEntry(used, inGroup('one', { log: { firstIndex: 1, lastIndex: 0 } })), 'other');
  // What it was compacted to came from a snapshot that is being installed.
  assert.equal(
    judgeEntry(used, inGroup('one', { log: { firstIndex: 20, lastIndex: 39 } })),
    'taken',
  );
});

test('a group that was lost before it had begun hands on what was before it', () => {
  const begun = { ...used, group: 'one', isInitialized: true };
  assert.deepEqual(formerOf(begun), { group: 'one', index: 7, databases: [school] });
  const former = formerOf(begun);
  assert.deepEqual(formerOf({ ...emptyCatalog, group: 'two', former }), former);
  assert.equal(formerOf({ ...emptyCatalog, checkpointed: 3 }), undefined);
});

test('the file of an old catalog tells group and index, and is no path', () => {
  assert.equal(oldCatalogName({ ...used, group: 'a1b2-c3' }), 'catalog-of-a1b2-c3-at-40.json');
  assert.equal(oldCatalogName(used), 'catalog-of-unknown-at-40.json');
  assert.equal(oldCatalogName({ ...used, group: '../../x' }), 'catalog-of-______x-at-40.json');
});

test('the newest catalog is that of the group most servers come from, at its highest index', () => {
  const state = (group: string | undefined, index: number) =>
    formerState({ group, index, databases: [] }, [`${group} ${index}`]);
  const newest = (...states: ReturnType<typeof state>[]) => newestFormer(states);
  assert.equal(newest(), undefined);
  assert.equal(newest(state('one', 7), state('one', 9), state('one', 8))?.index, 9);
  assert.equal(newest(state('one', 7), state('one', 9), state('two', 80))?.index, 9);
  assert.equal(newest(state('one', 7), state('two', 80))?.index, 80);
  // Builds that recorded no group may be of each.
  assert.equal(newest(state(undefined, 7), state('one', 9), state('two', 8))?.index, 9);
  assert.equal(newest(state(undefined, 12), state(undefined, 3), state('one', 9))?.index, 12);
});

test('the digest tells databases, users and groups, not how far the catalog is', () => {
  const former = { group: 'one', index: 7, databases: [school] };
  const { digest } = formerState(former, ['users', 'groups']);
  assert.equal(formerState({ ...former, index: 9 }, ['users', 'groups']).digest, digest);
  assert.notEqual(formerState({ ...former, databases: [] }, ['users', 'groups']).digest, digest);
  assert.notEqual(formerState(former, ['others', 'groups']).digest, digest);
});

test('a catalog as earlier builds wrote it is read, and written again with its group', () => {
  const text = `{
  "version": 1,
  "applied": 7,
  "checkpointed": 40,
  "databases": [{ "uuid": "u-1", "name": "school", "offset": 0 }],
  "dropped": ["u-0"],
  "staged": [],
  "isInitialized": true,
  "features": []
}
`;
  const read = parseCatalog(text);
  assert.equal(read.group, undefined);
  assert.equal(judgeEntry(read, inGroup('one', { log })), 'taken');
  const again = parseCatalog(formatCatalog({ ...read, group: 'one' }));
  assert.deepEqual(again, { ...emptyCatalog, ...read, group: 'one' });
});
