import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RaftAnswer } from '../../operator/api/group.ts';
import { DatabaseClient } from '../../operator/observe/database-client.ts';
import type { Member, MemberTransport } from '../../operator/observe/database-client.ts';
import { Pace } from '../../operator/observe/pace.ts';
import { MemberPoller, StillAsking } from '../../operator/observe/member-poller.ts';
import { pass, runOperatorOn } from './sim/running-operator.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';
import { VirtualRuntime } from './sim/virtual-runtime.ts';

// Members are asked beside the looks: one that hangs holds nobody else up, and nothing that is too old is believed.

/** Members whose pods are named hang: they take a connection and say nothing until the caller gives up. */
function hanging(world: SimulatedWorld, pods: ReadonlySet<string>): MemberTransport {
  return {
    send: (address, request) => {
      const hangs = world.api
        .all('Pod')
        .some(
          ({ metadata, status }) =>
            pods.has(metadata.name) && (status as { podIP?: string })?.podIP === address.host,
        );
      if (!hangs) return world.members.send(address, request);
      return new Promise((_, reject) => {
        world.runtime.timers.after(request.timeoutMs, () => reject(new Error('timed out')));
      });
    },
  };
}

test('with one worker, a member that hangs delays looks at nineteen other Clusters by less than 100 ms', async () => {
  const world = new SimulatedWorld();
  const hung = new Set<string>();
  const names = Array.from({ length: 20 }, (_, at) => `c${at}`);
  for (const name of names) world.create(name, { replicas: 3, update: { minReadySeconds: 0 } });
  const { operator } = runOperatorOn(world, { concurrency: 1, members: hanging(world, hung) });
  operator.startWatching();
  await world.runtime.advance(100);
  operator.activate();
  await pass(world, 60_000);
  for (const name of names) assert.equal(world.condition('Ready', name), 'True AllMembersReady');
  hung.add('c0-1');
  // Long enough for its last answer to be too old, and for looks to be in the middle of it at any time.
  for (let round = 0; round < 40; round++) {
    world.api.change('Cluster', 'c0', { metadata: { annotations: { round: String(round) } } });
    await world.runtime.advance(20);
    const other = names[1 + (round % 19)] ?? '';
    const service = world.api.find('Service', `${other}-http`);
    assert.ok(service);
    world.api.remove(service);
    await world.runtime.advance(100);
    assert.notEqual(world.api.find('Service', `${other}-http`), undefined, `${other} waited`);
    world.controllers.step();
    await world.runtime.advance(500);
  }
  assert.equal(world.condition('FaultTolerant', 'c0'), 'True Full', 'the leader still hears it');
  const member = world.cluster('c0').status?.members?.find(({ name }) => name === 'c0-1');
  assert.notEqual(member, undefined);
  await operator.stop();
});

test('a leader that says nothing over an open connection is followed in three and a half seconds', async () => {
  const world = new SimulatedWorld();
  const hung = new Set<string>();
  world.create('orders', { replicas: 3, update: { minReadySeconds: 0 } });
  const { operator } = runOperatorOn(world, { members: hanging(world, hung) });
  operator.startWatching();
  await world.runtime.advance(100);
  operator.activate();
  await pass(world, 30_000);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  hung.add('orders-0');
  const { group } = world.members;
  group.leader = group.voters.find((id) => id.startsWith('orders-2'));
  group.term += 1;
  await pass(world, 3500);
  const leaders = world.api
    .all('Pod')
    .filter(({ metadata }) => metadata.labels?.['polyad.io/role'] === 'leader')
    .map(({ metadata }) => metadata.name);
  assert.deepEqual(leaders, ['orders-2']);
  await operator.stop();
});

test('the more members there are, the rarer those at rest are asked', async () => {
  const world = new SimulatedWorld();
  let asked = 0;
  const members: MemberTransport = {
    send: (address, request) => {
      asked++;
      return world.members.send(address, request);
    },
  };
  for (let at = 0; at < 10; at++)
    world.create(`c${at}`, { replicas: 3, update: { minReadySeconds: 0 } });
  const { operator } = runOperatorOn(world, { members, pollMs: 250 });
  operator.startWatching();
  await world.runtime.advance(100);
  operator.activate();
  await pass(world, 40_000);
  for (let at = 0; at < 10; at++)
    assert.equal(world.condition('Ready', `c${at}`), 'True AllMembersReady');
  asked = 0;
  await pass(world, 20_000);
  // 25 a second by looks, ten by the leader watch; every 250 ms it would be 240.
  assert.ok(asked > 200 && asked < 20 * 45, `${asked} questions in 20 s`);
  await operator.stop();
});

const member: Member = { address: { host: '10.0.0.1', port: 2480 }, incarnation: 'pod-1/0' };
const answerOf = (change: Partial<RaftAnswer>) =>
  ({
    localPeerId: 'a',
    isLeader: false,
    term: 1,
    commitIndex: 5,
    peers: [],
    ...change,
  }) as unknown as RaftAnswer;

interface Bench {
  readonly runtime: VirtualRuntime;
  readonly poller: MemberPoller;
  late: number;
  asked: number;
  delayMs: number;
  answer: RaftAnswer | undefined;
}

function benchOf(): Bench {
  const runtime = new VirtualRuntime();
  const bench: Bench = {
    runtime,
    late: 0,
    asked: 0,
    delayMs: 0,
    answer: answerOf({}),
    poller: new MemberPoller({
      pace: new Pace(runtime),
      runtime,
      onLate: () => {
        bench.late++;
      },
      databases: {
        hasSession: () => true,
        isReady: async () => true,
        group: async () => {
          bench.asked++;
          const { answer } = bench;
          if (bench.delayMs > 0) await runtime.timers.sleep(bench.delayMs);
          return answer;
        },
      },
    }),
  };
  return bench;
}

async function ask(bench: Bench): Promise<RaftAnswer | undefined> {
  const asked = bench.poller.of('shop', 'orders').group(member, 'password');
  await bench.runtime.advance(60);
  return asked;
}

/** Nothing is known, so the look ends without a word. */
async function mustWait(bench: Bench): Promise<void> {
  const asked = assert.rejects(
    bench.poller.of('shop', 'orders').group(member, 'password'),
    StillAsking,
  );
  await bench.runtime.advance(600);
  await asked;
}

test('an answer that comes late counts from then on, and asks for a look only when it says something else', async () => {
  const bench = benchOf();
  assert.equal((await ask(bench))?.term, 1);
  bench.delayMs = 700;
  bench.answer = answerOf({ commitIndex: 9 });
  assert.equal((await ask(bench))?.commitIndex, 5, 'what was said before');
  await bench.runtime.advance(1000);
  assert.equal(bench.late, 0, 'more entries are no news');
  bench.answer = answerOf({ term: 2 });
  assert.equal((await ask(bench))?.term, 1);
  await bench.runtime.advance(1000);
  assert.equal(bench.late, 1);
  bench.answer = undefined;
  assert.equal((await ask(bench))?.term, 2);
  await bench.runtime.advance(1000);
  assert.equal(bench.late, 2, 'a member that fell silent is news');
});

test('what is older than ten seconds is not believed, and a question under way is not asked twice', async () => {
  const bench = benchOf();
  await ask(bench);
  bench.delayMs = 60_000;
  for (let second = 0; second < 9; second++) {
    assert.notEqual(await ask(bench), undefined, `after ${second} s`);
    await bench.runtime.advance(1000);
  }
  await bench.runtime.advance(2000);
  assert.equal(await ask(bench), undefined);
  assert.equal(bench.asked, 2);
});

test('a look that knows nothing yet comes again with the answer, and with the failure to give one', async () => {
  const bench = benchOf();
  bench.delayMs = 900;
  await mustWait(bench);
  assert.equal(bench.late, 0);
  await bench.runtime.advance(400);
  assert.equal(bench.late, 1, 'with the answer');
  assert.equal((await ask(bench))?.term, 1);
  await bench.runtime.advance(30_000);
  bench.answer = undefined;
  await mustWait(bench);
  await bench.runtime.advance(400);
  assert.equal(bench.late, 2, 'with the failure');
  assert.equal(await ask(bench), undefined, 'which is known from then on');
});

test('what was said before something was done to the members counts no more', async () => {
  const bench = benchOf();
  await ask(bench);
  bench.delayMs = 60_000;
  assert.notEqual(await ask(bench), undefined);
  bench.poller.renew('shop', 'orders');
  await mustWait(bench);
  await bench.runtime.advance(500);
  assert.equal(bench.late, 1, 'a second after it was asked');
  assert.equal(await ask(bench), undefined);
});

test('of a thousand looks at once, 200 questions go out in the first second and 150 in each further one; the others wait, and none does without', async () => {
  const bench = benchOf();
  const asked = Array.from({ length: 1000 }, (_, at) =>
    bench.poller.of('shop', `c${at}`).group({ ...member, incarnation: `pod-${at}/0` }, 'password'),
  );
  let answered = 0;
  for (const one of asked)
    void one.then((answer) => {
      if (answer !== undefined) answered++;
    });
  await bench.runtime.advance(10);
  assert.ok(bench.asked >= 50 && bench.asked <= 52, `${bench.asked} at once`);
  await bench.runtime.advance(2000);
  assert.ok(bench.asked <= 355, `${bench.asked} after two seconds`);
  await bench.runtime.advance(5000);
  assert.deepEqual([bench.asked, answered], [1000, 1000]);
});

test('members that are asked for the first time log in once, within the same number of requests a second', async () => {
  const runtime = new VirtualRuntime();
  const sent: { readonly atMs: number; readonly path: string }[] = [];
  const transport: MemberTransport = {
    send: async (_, { path }) => {
      sent.push({ atMs: runtime.clock.monotonicMs(), path });
      return { status: 200, body: path === '/api/v1/login' ? '{"token":"t"}' : '{"peers":[]}' };
    },
  };
  const databases = new DatabaseClient(transport, runtime);
  const { pace } = databases;
  const poller = new MemberPoller({ pace, databases, runtime, onLate: () => {} });
  const asked = Array.from({ length: 300 }, (_, at) => {
    const one = { ...member, incarnation: `pod-${at}/0` };
    const settings = databases.info(one, 'password');
    return Promise.all([poller.of('shop', `c${at}`).group(one, 'password'), settings]);
  });
  await runtime.advance(8000);
  assert.equal((await Promise.all(asked)).length, 300);
  const countOf = (path: string) => sent.filter((one) => one.path === path).length;
  assert.deepEqual(
    ['/api/v1/login', '/api/v1/cluster', '/api/v1/server'].map(countOf),
    [300, 300, 300],
  );
  for (let at = 0; at < 8; at++) {
    const inSecond = sent.filter(
      ({ atMs }) => Math.floor((atMs - (sent[0]?.atMs ?? 0)) / 1000) === at,
    );
    assert.ok(inSecond.length <= (at === 0 ? 201 : 155), `${inSecond.length} in second ${at}`);
  }
});

test('members of a group at rest are not asked whether they are ready: their group says so', async () => {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3, update: { minReadySeconds: 0 } });
  await world.settle();
  world.members.calls.length = 0;
  for (let turn = 0; turn < 5; turn++) await world.turn();
  assert.deepEqual([...new Set(world.members.calls)], ['GET /api/v1/cluster']);
  world.restartOperator();
  await world.turn();
  assert.ok(!world.members.calls.includes('GET /api/v1/ready'));
  world.api.change('Cluster', 'orders', { spec: { resources: { requests: { cpu: '2' } } } });
  await world.turn();
  assert.ok(world.members.calls.includes('GET /api/v1/ready'), 'while something is under way');
});
