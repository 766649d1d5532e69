import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Proposed } from '#cluster/consensus-port.ts';
import { GroupCommit } from '#cluster/replication/group-commit.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { UnknownOutcome } from '#transaction/commit/unknown-outcome.ts';
import { defaultBounds } from '../support/replicated-servers.ts';

const { clock, timers } = systemRuntime;

test('a stop ends what the log has not given a place yet: nobody waits for ever, and nothing stays held', async () => {
  const asked: { readonly batch: readonly Uint8Array[]; answer(outcome: Proposed): void }[] = [];
  const propose = (batch: readonly Uint8Array[]) =>
    new Promise<Proposed>((answer) => void asked.push({ batch, answer }));
  const commits = new GroupCommit({ port: { propose }, bounds: defaultBounds, clock, timers });
  commits.lead(1);
  const order = { seat: undefined, bytes: new Uint8Array(8), isNumbered: false, term: 1 };
  const { answer } = commits.propose(order);
  await timers.yield();
  assert.equal(asked.length, 1);
  commits.close();
  await assert.rejects(answer, (error) => error instanceof UnknownOutcome);
  const { fate } = (await answer.catch((error: unknown) => error)) as UnknownOutcome;
  assert.equal(await fate, undefined);
  // An answer that comes later is nobody's any more.
  asked[0]?.answer({ kind: 'accepted', firstIndex: 1, term: 1 });
  await timers.yield();
  assert.equal(
    commits.committed({ index: 1, term: 1, kind: 'normal', data: order.bytes }),
    undefined,
  );
});
