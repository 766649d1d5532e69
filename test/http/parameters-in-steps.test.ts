// Goal: parameters of long bodies are decoded in steps as those of short ones are at once. Method: random values with markers among them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { toEnd } from '#core/pausing-work.ts';
import type { Value } from '#core/value/value.ts';
import { parametersInSteps, statementParameters } from '#http/request/typed-parameters.ts';

const depthMax = 8;

const arbitraryParameter = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<Value>(null, 1, 'text', true),
    fc.constantFrom<Value>(new Map([['$bytes', 'AQI=']]), new Map([['$int8', [1, -2]]])),
    fc.array(tie('value'), { maxLength: 5 }),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', 'c', '$bytes'), tie('value')), { maxLength: 4 })
      .map((entries) => new Map(entries) as Value),
  ),
})).value;

/** What it gives, or the message of what it throws. */
function outcome(give: () => unknown): unknown {
  try {
    return give();
  } catch (error) {
    return String(error);
  }
}

test('parameters decoded in steps are what they are at once, faults included', () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryParameter, fc.constant(undefined)), (given) => {
      const atOnce = outcome(() => statementParameters(given, depthMax));
      assert.deepEqual(
        outcome(() => toEnd(parametersInSteps(given, depthMax))),
        atOnce,
      );
    }),
    { numRuns: 500 },
  );
});

test('long lists of maps are places to pause, wherever they are', () => {
  const rows = Array.from({ length: 10_000 }, (_, k) => new Map<string, Value>([['k', k]]));
  const given = new Map<string, Value>([['batch', new Map<string, Value>([['rows', rows]])]]);
  let pauses = 0;
  const steps = parametersInSteps(given, depthMax);
  while (steps.next().done !== true) pauses += 1;
  assert.ok(pauses >= 9, `${pauses} pauses`);
});
