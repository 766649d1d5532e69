import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baselineStep } from '#cluster/bootstrap/baseline.ts';
import { BootstrapDesk, type BootstrapState, sourceOf } from '#cluster/bootstrap/bootstrap-desk.ts';
import { localState } from '#cluster/bootstrap/fingerprint.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase } from '../../database/support/open-test-database.ts';

// Databases that a cluster begins with: who becomes the source, and what the others do with their copies.

const state = (peerId: string, databases: Readonly<Record<string, number>>): BootstrapState => ({
  peerId,
  databases: Object.entries(databases).map(([name, lastTxId]) => ({
    name,
    fingerprint: `${name}-${lastTxId}`,
    lastTxId,
    position: lastTxId,
  })),
});

test('the source has the newest copy of the most databases, then the most transactions, then leads, then is first', () => {
  const canLead = new Set(['a', 'b', 'c']);
  const of = (...states: BootstrapState[]) => sourceOf(states, { self: 'b', canLead });
  assert.equal(of(state('a', {}), state('b', {})), undefined);
  assert.equal(of(state('a', { x: 3 }), state('b', {}), state('c', { x: 4 })), 'c');
  assert.equal(of(state('a', { x: 9, y: 1 }), state('c', { x: 8, y: 2, z: 1 })), 'c');
  assert.equal(of(state('a', { x: 5 }), state('b', { y: 6 })), 'b');
  assert.equal(of(state('a', { x: 5 }), state('b', { x: 5 }), state('c', { x: 5 })), 'b');
  assert.equal(of(state('c', { x: 5 }), state('a', { x: 5 })), 'a');
  const learner = sourceOf([state('a', { x: 5 }), state('d', { x: 9 })], { self: 'a', canLead });
  assert.equal(learner, 'a');
});

test('where groups were lost the newest catalog decides, and among equal ones the databases do', () => {
  const canLead = new Set(['a', 'b', 'c']);
  const of = (...states: BootstrapState[]) => sourceOf(states, { self: 'b', canLead });
  const knows = (index: number, digest: string, one: BootstrapState): BootstrapState => ({
    ...one,
    former: { group: 'one', index, digest },
  });
  const older = knows(5, 'old', state('b', { x: 9, y: 9 }));
  assert.equal(of(older, knows(6, 'new', state('a', { x: 8 }))), 'a');
  assert.equal(of(older, knows(6, 'new', state('a', {}))), 'a', 'all its databases were dropped');
  assert.equal(of(older, knows(6, 'old', state('a', { x: 8 }))), 'b', 'they hold the same');
  assert.equal(of(older, knows(5, 'new', state('a', { x: 8 }))), 'b', 'they are equally far');
  assert.equal(of(older, knows(6, 'new', state('d', { x: 10 }))), 'b', 'one that may not lead');
  assert.equal(of(older, state('c', { x: 10 })), 'b', 'one that was in no group');
});

test('equal copies stay, older and differing ones are fetched, a newer one is refused, and the source is never', () => {
  const database = { uuid: 'u', name: 'x', offset: 0, fingerprint: 'f', lastTxId: 7 };
  const local = (lastTxId: number, fingerprint = 'g') => ({
    local: { name: 'x', fingerprint, lastTxId, position: 1 },
    isSource: false,
  });
  assert.equal(baselineStep(database, { local: undefined, isSource: false }), 'fetch');
  assert.equal(baselineStep(database, local(7, 'f')), 'keep');
  assert.equal(baselineStep(database, local(6)), 'fetch');
  assert.equal(baselineStep(database, local(7)), 'fetch');
  assert.equal(baselineStep(database, local(8)), 'refuse');
  assert.equal(baselineStep(database, { ...local(8), isSource: true }), 'keep');
});

test('copies of one database have one fingerprint, and each change of rows, schema or settings another', async () => {
  const [one, other] = [await openTestDatabase(), await openTestDatabase()];
  const print = ({ database }: typeof one) => {
    using view = database.state.view();
    return localState('test', view, database.engine.applied()).fingerprint;
  };
  try {
    const seen = new Set<string>();
    for (const text of [
      'CREATE VERTEX TYPE Person',
      "INSERT INTO Person SET name = 'a'",
      "UPDATE Person SET name = 'b'",
      'CREATE PROPERTY Person.name STRING',
    ]) {
      await one.run(text);
      seen.add(print(one));
      await other.run(text);
      assert.equal(print(other), print(one), text);
    }
    assert.equal(seen.size, 4);
    await other.run("INSERT INTO Person SET name = 'a'");
    await one.run("INSERT INTO Person SET name = 'c'");
    assert.notEqual(print(other), print(one));
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
});

interface Asked {
  readonly desk: BootstrapDesk;
  readonly transferred: string[];
  readonly errors: string[];
}

function deskOver(answers: (peer: string, times: number) => BootstrapState | undefined): Asked {
  const transferred: string[] = [];
  const errors: string[] = [];
  const counts = new Map<string, number>();
  let nowMs = 0;
  const voters = ['a', 'b', 'c'].map((id) => ({ id, canLead: true }));
  const desk = new BootstrapDesk({
    consensus: {
      self: 'a',
      status: () => ({ role: 'leader', configuration: { voters, learners: [] } }) as never,
      transferLeadership: async (to) => {
        transferred.push(String(to));
        return { kind: 'transferred', leader: String(to) };
      },
    },
    own: async () => state('a', { x: 5 }),
    ask: async (peer) => {
      counts.set(peer, (counts.get(peer) ?? 0) + 1);
      const answer = answers(peer, counts.get(peer) ?? 0);
      if (answer === undefined) throw new Error('it is down');
      return answer;
    },
    timeoutMs: () => 10_000,
    runtime: {
      random: systemRuntime.random,
      clock: { ...systemRuntime.clock, monotonicMs: () => nowMs },
      timers: {
        ...systemRuntime.timers,
        sleep: async (ms) => {
          nowMs += ms;
        },
      },
    },
    log: { ...silentLog, error: (text: string) => void errors.push(text) },
  });
  return { desk, transferred, errors };
}

test('everybody is asked until it answers, and another source leads first', async () => {
  const newer = deskOver((peer, times) =>
    times < 3 ? undefined : state(peer, peer === 'c' ? { x: 6 } : {}),
  );
  assert.equal(await newer.desk.baseline(), undefined);
  assert.deepEqual(newer.transferred, ['c']);
  const own = deskOver((peer) => state(peer, { x: 5 }));
  const baseline = await own.desk.baseline();
  assert.deepEqual([baseline?.source, baseline?.databases[0]?.offset], ['a', 5]);
  assert.deepEqual([own.transferred, own.errors], [[], []]);
});

test('a majority is enough in the end, and told; less is not', async () => {
  const some = deskOver((peer) => (peer === 'b' ? state(peer, {}) : undefined));
  assert.equal((await some.desk.baseline())?.source, 'a');
  assert.match(some.errors[0] ?? '', /without knowing the databases of c \(it is down\)/);
  await assert.rejects(
    deskOver(() => undefined).desk.baseline(),
    /no bootstrap without a majority/,
  );
});
