import assert from 'node:assert/strict';
import { test } from 'node:test';
import { saysVolumeIsNowhere } from '../../operator/reconcile/steps/guard-record.ts';
import type { Pod } from '../../operator/api/kubernetes-object.ts';
import { lastFailure, podProblem } from '../../operator/resources/pod-state.ts';

// What a container said last, as the cause that people read in a condition.

function crashed(message: string, reason = 'Error'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'orders-0' },
    status: {
      containerStatuses: [
        {
          name: 'server',
          restartCount: 2,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 134, message, reason } },
        },
      ],
    },
  };
}

const causes: readonly (readonly [said: string, cause: RegExp])[] = [
  [
    `<--- Last few GCs --->

[1:0x2c] 30 ms: Mark-Compact 3.9 (5.0) -> 3.9 (6.0) MB

FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
----- Native stack trace -----

 1: 0xe36196 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]
16: 0x1add9b6  [node]
`,
    /server ended with code 134: the heap is too small: raise spec\.resources/,
  ],
  ['starting\nport 2480 is taken\n', /: port 2480 is taken$/],
  ['Error: broken\n    at main (file:///app/server/main.ts:1:2)\n', /: Error: broken$/],
  [' 1: 0xe36196 [node]\n', /: Error$/],
  ['', /: Error$/],
];

test('the cause of a crash is a sentence, never a stack frame', () => {
  for (const [said, cause] of causes) assert.match(podProblem(crashed(said))?.message ?? '', cause);
});

test('of a server that starts once more the last failure is known, of one that ended well there is none', () => {
  const startedAgain = (exitCode: number): Pod => ({
    ...crashed(''),
    status: {
      containerStatuses: [
        {
          name: 'server',
          restartCount: 1,
          state: { running: {} },
          lastState: { terminated: { exitCode, message: "unknown setting 'service.noSuch'" } },
        },
      ],
    },
  });
  assert.equal(podProblem(startedAgain(78)), undefined);
  assert.equal(
    lastFailure(startedAgain(78)),
    "server ended with code 78: unknown setting 'service.noSuch'",
  );
  assert.equal(lastFailure(startedAgain(0)), undefined);
  assert.equal(lastFailure(undefined), undefined);
});

test('a volume is nowhere when every node lacks it, not when one is away, cordoned or full', () => {
  const available = (reasons: string) =>
    saysVolumeIsNowhere(
      `0/4 nodes are available: ${reasons}. preemption: 0/4 nodes are available.`,
    );
  const control = '1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }';
  const elsewhere = '2 node(s) had volume node affinity conflict';
  assert.equal(available(`${control}, ${elsewhere}`), true);
  assert.equal(available("3 node(s) didn't match PersistentVolume's node affinity"), true);
  for (const other of [
    '1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }',
    '1 node(s) were unschedulable',
    '1 Insufficient memory',
    "1 node(s) didn't match pod anti-affinity rules",
  ])
    assert.equal(available(`${control}, ${other}, ${elsewhere}`), false, other);
  assert.equal(available(control), false);
  assert.equal(saysVolumeIsNowhere('persistentvolume "pvc-1" not found'), true);
  assert.equal(saysVolumeIsNowhere(''), false);
});
