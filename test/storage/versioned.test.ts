import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LogIndex } from '#core/value/rid.ts';
import { heldStates, Versioned } from '#storage/read/versioned.ts';

function state(index: number): { readonly index: LogIndex } {
  return { index: index as LogIndex };
}

test('each held state shows its value, whatever comes and is let go meanwhile', () => {
  const step = fc.record({ changes: fc.boolean(), takes: fc.boolean(), lets: fc.nat(60) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      let versions = new Versioned(0, 0 as LogIndex);
      const held = new Map<number, number>();
      for (const [at, { changes, takes, lets }] of steps.entries()) {
        if (takes) held.set(at, versions.value);
        if (changes) {
          const since = (at + 1) as LogIndex;
          versions = versions.replacedBy(at + 1, since, heldStates([...held.keys()].map(state)));
        }
        held.delete(at - lets);
        for (const [index, value] of held)
          assert.equal(versions.at(index as LogIndex), value, `state ${index} at ${at}`);
      }
    }),
  );
});

test('values before the oldest state that is held are forgotten, also when the newest one is always held', () => {
  let versions = new Versioned(0, 0 as LogIndex);
  for (let index = 1; index <= 10_000; index += 1)
    versions = versions.replacedBy(index, index as LogIndex, heldStates([state(index - 1)]));
  assert.equal(versions.at(9_999 as LogIndex), 9_999);
  assert.equal(versions.at(9_900 as LogIndex), undefined);
});
