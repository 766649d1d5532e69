import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextLines } from '../../operator/reconcile/token-lines.ts';
import { SimulatedWorld } from './sim/simulated-world.ts';

// The token that members share is changed without a moment in which one refuses what another sends (operator.md 8.14).

const spreadS = 180;
/** No kubelet takes longer. */
const lateS = 90;

test('whatever moment each kubelet brings a change, members accept what the others send', () => {
  const run = fc.record({
    delays: fc.array(fc.nat(lateS), { minLength: 2, maxLength: 5 }),
    looks: fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 20, maxLength: 60 }),
    changes: fc.array(fc.nat(40), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(run, ({ delays, looks, changes }) => {
      const written = [{ atS: -1000, lines: ['token-0'] as readonly string[] }];
      let wanted = 0;
      let nowS = 0;
      const seenBy = (delay: number, atS: number) =>
        written.findLast((step) => step.atS + delay <= atS)?.lines ?? ['token-0'];
      const check = (atS: number) => {
        const files = delays.map((delay) => seenBy(delay, atS));
        for (const [sent] of files)
          for (const accepted of files) assert.ok(accepted.includes(sent ?? ''), `at ${atS} s`);
      };
      const step = (seconds: number) => {
        for (let s = 0; s < seconds; s++) check(nowS + s);
        nowS += seconds;
        const last = written.at(-1) ?? { atS: 0, lines: [] };
        const next = nextLines(last.lines, `token-${wanted}`, nowS - last.atS >= spreadS);
        if (next !== undefined && next !== 'wait') written.push({ atS: nowS, lines: next });
      };
      for (const [at, seconds] of looks.entries()) {
        wanted += changes.filter((when) => when === at).length;
        step(seconds);
      }
      for (let look = 0; look < 20; look++) step(60);
      assert.deepEqual(written.at(-1)?.lines, [`token-${wanted}`]);
    }),
    { numRuns: 60 },
  );
});

const lines = (world: SimulatedWorld) =>
  Buffer.from(
    world.api.find('Secret', 'orders-token-applied')?.data?.['token'] ?? '',
    'base64',
  ).toString();

function setToken(world: SimulatedWorld, text: string, name = 'orders-token'): void {
  world.api.change('Secret', name, { data: { token: Buffer.from(text).toString('base64') } });
}

async function worldOfThree(spec: object = {}): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.create('orders', { replicas: 3, ...spec });
  await world.settle();
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  return world;
}

const uids = (world: SimulatedWorld) => world.api.all('Pod').map(({ metadata }) => metadata.uid);

test('a changed Secret reaches all members in three steps, without a restart; a member that is away holds them back', async () => {
  const world = await worldOfThree();
  const [old, before] = [lines(world), uids(world)];
  world.turnMs = 30_000;
  setToken(world, 'the-next-token-of-all');
  const seen = [old];
  world.controllers.stopped.add('orders-2');
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) {
      await world.turn();
      if (seen.at(-1) !== lines(world)) seen.push(lines(world));
    }
  };
  await turns(20);
  assert.deepEqual(seen, [old, `${old}\nthe-next-token-of-all`]);
  world.controllers.stopped.clear();
  await turns(30);
  const next = 'the-next-token-of-all';
  assert.deepEqual(seen, [old, `${old}\n${next}`, `${next}\n${old}`, next]);
  assert.deepEqual(uids(world), before);
  assert.equal(world.condition('Ready'), 'True AllMembersReady');
  assert.equal(JSON.stringify(world.api.all('Cluster')).includes(next), false, 'no token is told');
});

test('so does one that a Secret of the user holds', async () => {
  const world = new SimulatedWorld();
  const metadata = { name: 'shared', namespace: 'shop' };
  world.api.put({ apiVersion: 'v1', kind: 'Secret', metadata });
  setToken(world, 'of-the-user', 'shared');
  const auth = { clusterToken: { secretName: 'shared', key: 'token' } };
  world.create('orders', { replicas: 3, auth });
  await world.settle();
  assert.equal(lines(world), 'of-the-user');
  setToken(world, 'of-the-user-next', 'shared');
  world.turnMs = 60_000;
  for (let turn = 0; turn < 20; turn++) await world.turn();
  assert.equal(lines(world), 'of-the-user-next');
});

test('killed at every call, the operator brings the change to its end', async () => {
  for (let at = 1; ; at++) {
    const world = await worldOfThree();
    setToken(world, 'the-next-token-of-all');
    let writes = 0;
    world.api.faultAfter = ({ method }) =>
      method !== 'GET' && ++writes === at ? 'drop' : undefined;
    for (let turn = 0; turn < 16; turn++) {
      await world.look().catch(() => world.restartOperator());
      world.controllers.step();
      world.runtime.skip(60_000);
    }
    assert.equal(lines(world), 'the-next-token-of-all', `call ${at}`);
    if (writes < at) break;
  }
});
