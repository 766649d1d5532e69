import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeerAllowlist } from '#cluster/transport/peer-allowlist.ts';
import type { Runtime } from '#core/runtime.ts';

// The rules of the allowlist (ha.md 4.4) over a clock and a name service of the test's own.

function allowlist(given: {
  names: Record<string, string[]>;
  graceMs?: number;
  headless?: string;
}) {
  const state = {
    now: 0,
    names: given.names,
    hosts: ['a', 'b', '[fd00::7]'],
    warnings: 0,
    asked: 0,
  };
  const list = new PeerAllowlist({
    runtime: { clock: { monotonicMs: () => state.now } } as unknown as Runtime,
    refreshMs: 30_000,
    graceMs: given.graceMs ?? 60_000,
    stickyMs: 300_000,
    headless: given.headless,
    hosts: () => state.hosts,
    resolve: async (host) => {
      state.asked += 1;
      return state.names[host] ?? Promise.reject(new Error('no such host'));
    },
    warn: () => {
      state.warnings += 1;
    },
  });
  return { list, state };
}

test('addresses of known hosts and loopback are let in, in every form', async () => {
  const { list } = allowlist({ names: { a: ['10.0.0.1', 'FD00::1'], b: ['10.0.0.2'] } });
  for (const address of ['10.0.0.1', '::ffff:10.0.0.2', 'fd00::1', 'fd00::7', '127.0.0.9', '::1'])
    assert.ok(await list.admits(address), address);
  assert.ok(!(await list.admits('10.0.0.3')), 'all are resolved: no grace');
  assert.ok(!(await list.admits(undefined)));
});

test('the grace ends when all are resolved, or with its time, for ever', async () => {
  const { list, state } = allowlist({ names: { a: ['10.0.0.1'] } });
  assert.ok(await list.admits('10.0.0.9'), 'b is unknown yet');
  assert.equal(state.warnings, 1);
  state.now = 60_000;
  assert.ok(!(await list.admits('10.0.0.9')));
  const strict = allowlist({ names: {}, graceMs: 0 }).list;
  assert.ok(!(await strict.admits('10.0.0.9')), '0: strict at once');
});

test('a miss looks up once a second; what stops resolving stays a while; removed hosts go at once', async () => {
  const { list, state } = allowlist({ names: { a: ['10.0.0.1'], b: ['10.0.0.2'] } });
  await list.admits('10.0.0.9');
  const { asked } = state;
  state.now = 500;
  await list.admits('10.0.0.9');
  assert.equal(state.asked, asked);
  state.names = { a: ['10.0.0.5'] };
  state.now = 1000;
  assert.ok(await list.admits('10.0.0.5'), 'a pod with a new address');
  assert.ok(await list.admits('10.0.0.2'), 'b keeps its last one');
  state.now = 301_000;
  await list.refresh();
  assert.ok(!(await list.admits('10.0.0.2')));
  state.hosts = ['b'];
  await list.refresh();
  assert.ok(!(await list.admits('10.0.0.5')));
});

test('pods of the headless service are let in, listed or not; it need not resolve', async () => {
  const names: Record<string, string[]> = { a: ['10.0.0.1'], b: ['10.0.0.2'] };
  const { list, state } = allowlist({ names, headless: 'orders.shop.svc' });
  assert.ok(!(await list.admits('10.0.0.4')), 'nothing is known of it: no grace');
  state.now = 1000;
  names['orders.shop.svc'] = ['10.0.0.1', '10.0.0.4'];
  assert.ok(await list.admits('10.0.0.4'));
  assert.ok(!(await list.admits('10.0.0.5')));
  state.now = 2000;
  names['orders.shop.svc'] = ['10.0.0.1', '10.0.0.5'];
  assert.ok(await list.admits('10.0.0.5'), 'a newcomer');
});
