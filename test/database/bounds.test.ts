import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairTurns } from '#database/bounds/fair-turns.ts';
import { approximateBytes } from '#query/evaluate/turns/held-bytes.ts';
import { ServerMemory, StatementMemory } from '#database/bounds/memory-accounts.ts';
import { PlanCache } from '#database/statement/plan-cache.ts';
import { ManualRuntime } from './support/manual-runtime.ts';

const MiB = 1024 * 1024;

test('a statement may hold queryMaxMemory to the byte, one more names the setting', () => {
  const server = new ServerMemory({
    bytesMax: 100 * MiB,
    settingKey: 'service.server.queryMaxMemory',
  });
  const account = new StatementMemory(server, 3 * MiB);
  account.reserve(3 * MiB);
  assert.throws(() => account.reserve(1), {
    code: 'TooLarge',
    message: /service\.queryMaxMemory \(3145728\)/,
  });
  account.release(10);
  account.reserve(10);
  account.close();
  assert.equal(server.usedBytes, 0);
});

test('all statements together may hold the share of the server, beyond it 503 naming the setting', () => {
  const server = new ServerMemory({
    bytesMax: 4 * MiB,
    settingKey: 'service.server.queryMaxMemory',
  });
  const first = new StatementMemory(server, 4 * MiB);
  const second = new StatementMemory(server, 4 * MiB);
  first.reserve(3 * MiB);
  second.reserve(MiB);
  assert.throws(() => second.reserve(1), {
    code: 'Busy',
    message: /service\.server\.queryMaxMemory/,
  });
  first.close();
  second.reserve(1);
  second.close();
  assert.equal(server.usedBytes, 0);
});

/** As often as it takes until a plan stays. */
function useOften(cache: PlanCache<number>, key: string): void {
  for (let time = 0; time < 3; time += 1) cache.get(key);
}

test('the plan cache keeps the most recently used plans within its bounds', () => {
  let countMax = 4;
  const cache = new PlanCache<number>({ countMax: () => countMax, textLengthMax: 800 });
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) {
    cache.set(key, at);
    useOften(cache, key);
  }
  assert.equal(cache.get('a'), 0);
  cache.set('e', 4);
  assert.equal(cache.get('b'), undefined);
  assert.equal(cache.get('a'), 0);
  cache.set('x'.repeat(101), 5);
  assert.equal(cache.get('x'.repeat(101)), undefined);
  for (let n = 0; n < 12; n += 1) {
    cache.set(`${n}`.padEnd(99, '.'), n);
    useOften(cache, `${n}`.padEnd(99, '.'));
  }
  assert.equal(cache.size, 4);
  countMax = 0;
  cache.set('f', 6);
  assert.equal(cache.get('f'), undefined);
  cache.clear();
  assert.equal(cache.size, 0);
});

test('plans of texts that are seen once push out no others; a text that comes back stays', () => {
  const cache = new PlanCache<number>({ countMax: () => 100, textLengthMax: 10_000 });
  for (let n = 0; n < 75; n += 1) {
    cache.set(`often ${n}`, n);
    useOften(cache, `often ${n}`);
  }
  for (let n = 0; n < 5_000; n += 1) {
    cache.set(`once ${n}`, n);
    assert.equal(cache.get(`once ${n}`), n, 'a writing statement looks itself up once more');
  }
  for (let n = 0; n < 75; n += 1) assert.equal(cache.get(`often ${n}`), n);
  assert.ok(cache.size <= 100);
  assert.equal(cache.get('once 4950'), undefined, 'its probation is over');
  cache.set('once 4950', 1);
  for (let n = 0; n < 1_000; n += 1) cache.set(`again ${n}`, n);
  assert.equal(cache.get('once 4950'), 1);
});

test('the plan cache holds no more text than it may, whatever stays in it', () => {
  const cache = new PlanCache<number>({ countMax: () => 1_000, textLengthMax: 2_000 });
  for (let n = 0; n < 300; n += 1) {
    const key = `${n}`.padEnd(200, '.');
    cache.set(key, n);
    if (n % 2 === 0) useOften(cache, key);
  }
  assert.ok(cache.size <= 10);
});

test('what does not say whose pause it is goes on one per turn of the event loop, in order of arrival', async () => {
  const { turns, turnCount } = countedTurns();
  const resumed: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let slice = 0; slice < 2; slice += 1) {
      await turns.yield();
      resumed.push(`${name}${slice}@${turnCount()}`);
    }
  };
  await Promise.all([work('a'), work('b'), work('c')]);
  assert.deepEqual(resumed, ['a0@1', 'b0@2', 'c0@3', 'a1@4', 'b1@5', 'c1@6']);
});

test('a long statement goes on for a stretch; who begins comes first, but has no more turns', async () => {
  const { turns, turnCount } = countedTurns();
  let resumed = '';
  const statement = async (name: string, from: number, to: number): Promise<void> => {
    const worker = { pauseCount: from };
    for (; worker.pauseCount < to; worker.pauseCount += 1) {
      await turns.yield(worker);
      resumed += name;
      assert.equal(turnCount(), resumed.length, 'one per turn');
    }
  };
  const untilTurn = async (turn: number): Promise<void> => {
    while (turnCount() < turn) await new Promise(setImmediate);
  };
  const running = [statement('A', 100, 280), statement('B', 100, 280)];
  await untilTurn(20);
  running.push(statement('x', 0, 4), statement('y', 0, 4));
  await untilTurn(60);
  const others = Array.from({ length: 10 }, () => turns.yield().then(() => (resumed += '-')));
  await Promise.all([...running, ...others]);
  assert.match(resumed.replaceAll(/[-xy]/g, ''), /^(A{20,90}B{20,90})+$/, resumed);
  assert.match(resumed, /^A{20,22}x{4}A{4}y{4}A/);
  assert.match(resumed, /(-[AB]){9}-/);
});

function countedTurns(): { readonly turns: FairTurns; readonly turnCount: () => number } {
  let turnCount = 0;
  const runtime = new ManualRuntime();
  const turns = new FairTurns({
    ...runtime.timers,
    yield: async () => {
      await runtime.timers.yield();
      turnCount += 1;
    },
  });
  return { turns, turnCount: () => turnCount };
}

test('statements get no more memory when the container is nearly full, whatever the accounts say', () => {
  let used = 100 * MiB;
  const server = new ServerMemory({
    bytesMax: 400 * MiB,
    settingKey: 'service.server.queryMaxMemory',
    container: { limitBytes: 512 * MiB, usedBytes: () => used },
    containerPercentMax: 90,
    percentSettingKey: 'service.server.maxContainerMemory',
  });
  const account = new StatementMemory(server, 256 * MiB);
  account.reserve(2 * MiB);
  used = 470 * MiB;
  assert.throws(() => account.reserve(2 * MiB), {
    code: 'Busy',
    message: /492830720 of the 536870912 bytes of its container.*90 percent \(service\.server\.max/,
  });
  used = 300 * MiB;
  account.reserve(2 * MiB);
  account.close();
  assert.equal(server.usedBytes, 0);
});

/** A container of 512 MiB in which the process takes what a test says. */
class FakeContainer {
  usedMiB = 100;
  returnCount = 0;
  readonly server: ServerMemory = new ServerMemory({
    bytesMax: 400 * MiB,
    settingKey: 'service.server.queryMaxMemory',
    container: {
      limitBytes: 512 * MiB,
      usedBytes: () => this.usedMiB * MiB,
      giveBack: () => {
        this.returnCount += 1;
      },
    },
    containerPercentMax: 90,
    percentSettingKey: 'service.server.maxContainerMemory',
  });
}

test('garbage is asked back before statements are refused for it, and again when memory has grown since', () => {
  const container = new FakeContainer();
  const account = new StatementMemory(container.server, 256 * MiB);
  const counts = [100, 380, 390, 400, 416, 423, 450, 200, 380, 390, 370, 390, 403].map((used) => {
    container.usedMiB = used;
    account.reserve(MiB);
    return container.returnCount;
  });
  assert.deepEqual(counts, [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4]);
});

test('what statements give back is asked for when memory is short, before the next one begins', () => {
  const container = new FakeContainer();
  const [large, small] = [1, 2].map(() => new StatementMemory(container.server, 256 * MiB));
  large?.reserve(100 * MiB);
  small?.reserve(MiB);
  container.usedMiB = 430;
  small?.close();
  assert.equal(container.returnCount, 0, 'of little nothing is to be had');
  large?.close();
  assert.equal(container.returnCount, 1);
});

test('texts in two bytes a character, properties of embedded documents and parts of lists count', () => {
  assert.equal(approximateBytes('x'.repeat(100)), 132);
  assert.equal(approximateBytes('я'.repeat(100)), 232);
  assert.equal(approximateBytes(['x'.repeat(100), 1]), 32 + 8 + 132 + 8 + 8);
  assert.ok(approximateBytes(new Map([['key', 'x'.repeat(1000)]])) > 1000);
});
