import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCatalog } from '#cluster/catalog/catalog-document.ts';
import { ApplyLoop } from '#cluster/replication/apply-loop.ts';
import { encodeEntry, entryKind, UnknownEntry } from '#cluster/replication/entry-codec.ts';
import { FeatureSwitch } from '#cluster/status/feature-switch.ts';
import { silentLog } from '#core/log.ts';
import type { Entry } from '#raft/vocabulary.ts';
import { until, WorkerGroup } from '../consensus/worker-group.ts';

// Builds of several formats in one cluster (ha.md 16). The whole way, with processes: scenario U1.

test('a feature is switched on by a leader that serves, once all members understand it, learners too', async () => {
  const told = new Map<string, readonly string[]>();
  const active: string[] = [];
  let status = { role: 'follower', leaderReady: false };
  let fails = true;
  const member = (id: string) => ({ id });
  const found = new FeatureSwitch({
    features: ['old', 'new'],
    port: {
      active: () => active,
      activate: async (feature) => {
        if (fails) throw new Error('no quorum');
        active.push(feature);
      },
    },
    consensus: {
      self: 'a',
      status: () =>
        ({
          ...status,
          configuration: {
            voters: [member('a'), member('b')],
            votersOutgoing: [],
            learners: [member('c')],
            learnersNext: [],
          },
        }) as never,
    },
    capabilitiesOf: (id) => told.get(id),
    timers: { after: () => () => {} },
    log: silentLog,
  });
  const looked = async () => {
    await found.look();
    return [...active];
  };
  told.set('b', ['feature:old', 'feature:new', 'verify']);
  told.set('c', ['feature:old', 'feature:new']);
  assert.deepEqual(await looked(), [], 'it does not lead');
  status = { role: 'leader', leaderReady: false };
  assert.deepEqual(await looked(), [], 'it does not serve');
  status = { role: 'leader', leaderReady: true };
  assert.deepEqual(await looked(), [], 'the entry is not committed');
  fails = false;
  told.delete('c');
  assert.deepEqual(await looked(), [], 'a learner has not told anything');
  told.set('c', ['feature:old']);
  assert.deepEqual(await looked(), ['old']);
  told.set('c', ['feature:old', 'feature:new']);
  assert.deepEqual(await looked(), ['old', 'new']);
  assert.deepEqual(await looked(), ['old', 'new'], 'once');
});

test('a catalog or an image of a cluster that uses what this build lacks is refused by name', () => {
  const text = JSON.stringify({ version: 1, applied: 7, features: ['greeting'] });
  assert.throws(() => parseCatalog(text), /the cluster uses 'greeting'.*needs a newer version/);
  assert.deepEqual(parseCatalog('{"version":1,"applied":7}').features, []);
});

test('what stands before an entry of another build is applied, and nothing behind it', async () => {
  const applied: number[] = [];
  let deliver: (entries: readonly Entry[]) => Promise<void> = () => Promise.resolve();
  const unused = (): never => {
    throw new Error('not asked here');
  };
  const loop = new ApplyLoop({
    port: {
      deliver: (_, apply) => {
        deliver = apply;
      },
      compactTo: () => {},
    },
    server: {
      apply: unused,
      applied: () => 0,
      member: () => undefined,
      memberNamed: () => undefined,
      members: () => [],
      checkpointed: () => 0,
      checkpoint: () => Promise.resolve(),
    },
    seatOf: async () => undefined,
    committed: () => undefined,
    remotely: unused,
    flush: () => Promise.resolve(),
    timers: { yield: () => Promise.resolve(), after: () => () => {} },
    log: silentLog,
  });
  loop.onApplied((index) => applied.push(index));
  loop.start();
  const body = new Uint8Array(1);
  const database = '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5';
  const bytes = (change: (bytes: Uint8Array) => void = () => {}) => {
    const kind = entryKind.transaction;
    const data = encodeEntry({ kind, wallTimeMs: 1, txId: 1, database, body });
    change(data);
    return data;
  };
  const entry = (index: number, data: Uint8Array): Entry => ({
    index,
    term: 1,
    kind: 'normal',
    data,
  });
  const spoilt: readonly ((bytes: Uint8Array) => void)[] = [
    (data) => data.fill(2, 0, 1),
    (data) => data.fill(31, 1, 2),
    (data) => data.fill(1, 2, 3),
  ];
  let index = 0;
  for (const change of spoilt) {
    const entries = [
      entry(index + 1, bytes()),
      entry(index + 2, bytes(change)),
      entry(index + 3, bytes()),
    ];
    await assert.rejects(deliver(entries), UnknownEntry);
    index += 1;
    assert.equal(applied.at(-1), index);
  }
});

test('a member that meets an entry of another build stores and votes, applies nothing, and does not lead', async () => {
  const group = await WorkerGroup.start(3);
  try {
    const leader = await group.leader();
    const [old, other] = [(leader + 1) % 3, (leader + 2) % 3];
    await group.stopMember(old);
    const member = await group.startMember(old);
    member.consensus.deliver(0, async (entries) => {
      if (entries.some(({ data }) => Buffer.from(data).toString() === 'newer'))
        throw new UnknownEntry('kind 99');
    });
    await group.write('newer');
    await until(() => (member.consensus.status().raftState === 'EXCEPTION' ? true : undefined));
    // Its disk makes the majority.
    await group.stopMember(other);
    await group.write('with two');
    const back = await group.startMember(other);
    await until(() => (back.applied.includes('with two') ? true : undefined));
    // Its vote does, too.
    await group.stopMember(leader);
    await until(() => (back.consensus.status().leaderReady ? true : undefined));
    await group.write('under the other one');
    assert.equal(member.consensus.status().role, 'follower');
    await back.consensus.transferLeadership(group.idOf(old), 300);
    assert.notEqual(member.consensus.status().role, 'leader');
  } finally {
    await group.close();
  }
});
