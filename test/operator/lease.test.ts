import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lease } from '../../operator/kubernetes/lease.ts';
import { RestClient } from '../../operator/kubernetes/rest-client.ts';
import { SimulatedApi } from './sim/simulated-api.ts';
import { silentLog } from './sim/simulated-world.ts';
import { VirtualRuntime } from './sim/virtual-runtime.ts';

// Who of several operators may act: exactly one at any time, whatever their processes do.

function candidate(api: SimulatedApi, runtime: VirtualRuntime, identity: string): Lease {
  return new Lease({
    api: new RestClient({ transport: api }),
    runtime,
    log: silentLog,
    namespace: 'polyad-system',
    name: 'polyad-operator',
    identity,
  });
}

function setUp() {
  const runtime = new VirtualRuntime();
  const api = new SimulatedApi(() => runtime.clock.now());
  return { runtime, api };
}

test('one of two gets the lease, and the other after it was given back, within 3 s', async () => {
  const { runtime, api } = setUp();
  const first = candidate(api, runtime, 'first');
  const second = candidate(api, runtime, 'second');
  await first.acquire();
  const kept = first.keep();
  const waiting = second.acquire();
  await runtime.advance(60_000);
  assert.equal(first.isHeld(), true);
  assert.equal(second.isHeld(), false);
  const released = first.release();
  await runtime.advance(3000);
  await Promise.all([released, waiting]);
  assert.equal(await kept, false);
  assert.equal(first.isHeld(), false);
  assert.equal(second.isHeld(), true);
});

test('a holder that died is followed within 20 s and never before its time', async () => {
  const { runtime, api } = setUp();
  const first = candidate(api, runtime, 'first');
  const second = candidate(api, runtime, 'second');
  await first.acquire();
  const waiting = second.acquire();
  await runtime.advance(14_000);
  assert.equal(second.isHeld(), false);
  await runtime.advance(6000);
  await waiting;
  assert.equal(second.isHeld(), true);
});

test('a process that slept past its deadline knows that it may not write', async () => {
  const { runtime, api } = setUp();
  const first = candidate(api, runtime, 'first');
  await first.acquire();
  runtime.skip(10_001);
  assert.equal(first.isHeld(), false);
});

test('a holder that cannot reach the API server gives up before another may follow', async () => {
  const { runtime, api } = setUp();
  const first = candidate(api, runtime, 'first');
  await first.acquire();
  const lost = first.keep();
  api.faultBefore = () => ({ status: 500 });
  await runtime.advance(9000);
  assert.equal(first.isHeld(), true);
  await runtime.advance(4000);
  assert.equal(await lost, true);
  assert.equal(first.isHeld(), false);
});

test('two that ask at the same moment do not both get it', async () => {
  const { runtime, api } = setUp();
  const leases = ['a', 'b', 'c'].map((name) => candidate(api, runtime, name));
  const acquiring = leases.map((lease) => lease.acquire());
  await runtime.advance(1000);
  assert.equal(leases.filter((lease) => lease.isHeld()).length, 1);
  for (const lease of leases) await lease.release();
  await runtime.advance(30_000);
  await Promise.all(acquiring);
});
