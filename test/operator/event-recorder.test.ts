import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventRecorder } from '../../operator/act/event-recorder.ts';
import type { EventNote } from '../../operator/api/decision.ts';
import type { KubernetesObject } from '../../operator/api/kubernetes-object.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import type { KubernetesApi } from '../../operator/kubernetes/port.ts';
import { silentLog } from './sim/simulated-world.ts';
import { VirtualRuntime } from './sim/virtual-runtime.ts';

// operator.md 10.7: of one object a burst of 25, then one in five minutes; what needs a person is never among what is left out.

function bench() {
  const runtime = new VirtualRuntime();
  const told: string[] = [];
  const repeated: string[] = [];
  const faults: Error[] = [];
  const fail = () => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
  };
  const api = {
    create: async (event: KubernetesObject & { readonly note?: string }) => {
      fail();
      told.push(event.note ?? '');
      return event;
    },
    mergePatch: async ({ name }: { readonly name: string }) => {
      fail();
      repeated.push(name);
    },
  } as unknown as KubernetesApi;
  const recorder = new EventRecorder({ api, runtime, log: silentLog, instance: 'test' });
  return { runtime, told, repeated, faults, recorder };
}

const objectOf = (uid: string) =>
  ({ apiVersion: 'v1', kind: 'Cluster', metadata: { name: uid, uid } }) as KubernetesObject;
const noted = (note: string, reason: EventNote['reason'] = 'MemberAdded'): EventNote => ({
  type: 'Normal',
  reason,
  note,
});

test('a burst of 25, then one in five minutes, for each object by itself', async () => {
  const { runtime, told, recorder } = bench();
  for (let at = 0; at < 40; at++) await recorder.record(objectOf('a'), noted(`a${at}`));
  await recorder.record(objectOf('b'), noted('b'));
  assert.equal(told.length, 26);
  assert.equal(told.at(-1), 'b');
  for (let minute = 0; minute < 20; minute++) {
    runtime.skip(60_000);
    await recorder.record(objectOf('a'), noted(`later ${minute}`));
  }
  assert.equal(told.filter((note) => note.startsWith('later')).length, 4);
});

test('what goes its way leaves room for warnings', async () => {
  const { told, recorder } = bench();
  for (let at = 0; at < 40; at++) await recorder.record(objectOf('a'), noted(`a${at}`));
  const warning: EventNote = { type: 'Warning', reason: 'EvictionBlocked', note: 'a budget' };
  await recorder.record(objectOf('a'), warning);
  assert.equal(told.at(-1), 'a budget');
  for (let at = 0; at < 40; at++)
    await recorder.record(objectOf('a'), { ...warning, note: `w${at}` });
  assert.equal(told.length, 50);
});

test('what stalls a Cluster, and its end, is told after any burst', async () => {
  const { told, recorder } = bench();
  for (let at = 0; at < 40; at++) await recorder.record(objectOf('a'), noted(`a${at}`));
  const stalled = ['UpgradeFailed', 'StallEnded', 'QuorumLost', 'QuorumRestored'] as const;
  for (const reason of stalled) await recorder.record(objectOf('a'), noted(reason, reason));
  assert.deepEqual(told.slice(25), stalled);
});

test('of one thing that stalls a Cluster in ever other words a burst is told', async () => {
  const { told, runtime, recorder } = bench();
  const other = (at: number) =>
    recorder.record(objectOf('a'), noted(`${at} nodes`, 'Unschedulable'));
  for (let at = 0; at < 40; at++) await other(at);
  // The first is always told.
  assert.equal(told.length, 26);
  await recorder.record(objectOf('a'), noted('x', 'SecretMissing'));
  runtime.skip(301_000);
  await other(40);
  assert.deepEqual(told.slice(26), ['x', '40 nodes']);
});

test('an event that could not be recorded is told with the next chance, in order and once', async () => {
  const { told, faults, recorder } = bench();
  const down = () =>
    new KubernetesError({ code: 503, reason: 'ServiceUnavailable', message: 'no' });
  faults.push(down(), down());
  await recorder.record(objectOf('a'), noted('x', 'InvalidSpec'));
  assert.equal(recorder.isBehind, true);
  await recorder.record(objectOf('a'), noted('y', 'StallEnded'));
  assert.deepEqual(told, []);
  await recorder.catchUp();
  assert.deepEqual(told, ['x', 'y']);
  assert.equal(recorder.isBehind, false);
  await recorder.catchUp();
  assert.equal(told.length, 2);
});

test('what the API server refuses for good is not tried again', async () => {
  const { told, faults, recorder } = bench();
  faults.push(new KubernetesError({ code: 403, reason: 'Forbidden', message: 'no' }));
  await recorder.record(objectOf('a'), noted('x', 'InvalidSpec'));
  assert.equal(recorder.isBehind, false);
  await recorder.record(objectOf('a'), noted('y', 'InvalidSpec'));
  assert.deepEqual(told, ['y']);
});

test('the same note again within five minutes counts up the one that is there', async () => {
  const { runtime, told, repeated, recorder } = bench();
  for (let at = 0; at < 3; at++) await recorder.record(objectOf('a'), noted('same'));
  assert.deepEqual([told.length, repeated.length], [1, 2]);
  runtime.skip(301_000);
  await recorder.record(objectOf('a'), noted('same'));
  assert.equal(told.length, 2);
});
