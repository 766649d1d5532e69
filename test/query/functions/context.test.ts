import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { evaluateText } from './expression-text.ts';
import { sampleContext, sampleRuntime } from './sample-context.ts';

/** What functions may use and make. limits.md 9: every value and every collection that a function makes has a limit; at the limit it works, one beyond it does not. */
const valueBytesMax = 1_000;
const elementCountMax = 10;
const small = sampleContext({
  limits: { valueBytesMax, elementCountMax, rangeSizeMax: 10 },
});

function refused(text: string, setting: string): void {
  assert.throws(
    () => evaluateText(text, small, null),
    (error: unknown) =>
      error instanceof DatabaseError &&
      error.code === 'IllegalArgument' &&
      error.message.includes(setting),
    text,
  );
}

function works(text: string): void {
  assert.doesNotThrow(() => evaluateText(text, small, null), text);
}

const half = `'${'x'.repeat(valueBytesMax / 2)}'`;
const size = 'service.queryMaxValueSize';
const count = 'service.queryMaxHeapElementsAllowedPerOp';

test('texts stop at the value size', () => {
  works(`${half}.append(${half})`);
  refused(`${half}.append(${half}, 'x')`, size);
  refused(`${half}.append(${half}).prefix('x')`, size);
  works(`format('%1000s', 'x')`);
  refused(`format('%1001s', 'x')`, size);
  refused(`format('%s%s%s', ${half}, ${half}, 'x')`, size);
  refused(`'x'.format('%1001s')`, size);
  works(`text.lpad('x', 1000, '0')`);
  refused(`text.lpad('x', 1001, '0')`, size);
  refused(`text.rpad('x', 1001, '0')`, size);
  refused(`${half}.replace('x', 'abc')`, size);
  refused(`text.replace(${half}, 'x', 'abc')`, size);
  refused(`text.regexReplace(${half}, 'x', 'abc')`, size);
  refused(`[${half}, ${half}].join(', ')`, size);
  refused(`text.join([${half}, ${half}], ', ')`, size);
  refused(`encode(${half}.append(${half}), 'base64')`, size);
  refused(`util.decompress('${bomb()}')`, size);
});

/** 1 MB of zeros, compressed to a kilobyte. */
function bomb(): string {
  const zeros = '0'.repeat(1_000_000);
  const context = sampleContext();
  return evaluateText(`util.compress('${zeros}')`, context, null) as string;
}

test('lists and maps stop at the number of elements or at the value size', () => {
  works(`'a,a,a,a,a,a,a,a,a,a'.split(',')`);
  refused(`'a,a,a,a,a,a,a,a,a,a,a'.split(',')`, count);
  refused(`'abcdefghijk'.split('')`, count);
  refused('list([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11])', count);
  refused('unionAll([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11])', count);
  refused('set([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11])', count);
  refused('coll.unionAll([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11])', count);
  refused('coll.insert([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0, 0)', count);
  refused(`coll.flatten([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11]])`, count);
  refused(`map('a', ${half}, 'b', ${half})`, size);
  refused(`list(${half}, ${half})`, size);
  refused(`map.merge({a: ${half}}, {b: ${half}})`, size);
});

const bigRows: readonly (readonly [name: string, row: (i: number) => readonly Value[]])[] = [
  ['list', (i) => [i]],
  ['set', (i) => [i]],
  ['unionAll', (i) => [[i]]],
  ['map', (i) => [new Map([[`k${i}`, i]])]],
  ['mode', (i) => [i]],
  ['median', (i) => [i]],
  ['percentile', (i) => [i, 0.5]],
  ['symmetricDifference', (i) => [[i]]],
  ['ts.first', (i) => [i, i]],
  ['ts.correlate', (i) => [i, i]],
  ['ts.rowNumber', (i) => [i]],
];

for (const [name, row] of bigRows)
  test(`${name} keeps ${elementCountMax} elements and refuses one more`, () => {
    const accumulator = functionRegistry.aggregate(name)?.create();
    for (let i = 0; i < elementCountMax; i++) accumulator?.add(row(i), small);
    assert.doesNotThrow(() => accumulator?.result(small));
    assert.throws(
      () => accumulator?.add(row(elementCountMax), small),
      (error: unknown) => error instanceof DatabaseError && error.message.includes(count),
    );
  });

test('what collecting aggregates keep is charged to the statement', () => {
  let reserved = 0;
  const context = sampleContext({
    memory: {
      reserve: (bytes) => {
        reserved += bytes;
      },
      release() {},
    },
  });
  const accumulator = functionRegistry.aggregate('list')?.create();
  for (let i = 0; i < 100; i++) accumulator?.add([i], context);
  assert.ok(reserved >= 100 * 8);
});

test('replacing by a regular expression takes time from the budget of the statement', () => {
  let now = 0;
  const runtime = sampleRuntime();
  const context = sampleContext({
    runtime: {
      ...runtime,
      clock: {
        ...runtime.clock,
        monotonicMs: () => {
          now += 5;
          return now;
        },
      },
    },
    regexBudget: { remainingMs: 8 },
  });
  evaluateText(`text.regexReplace('aaa', 'a', 'b')`, context, null);
  assert.equal(context.regexBudget.remainingMs, 3);
  assert.throws(
    () => evaluateText(`text.regexReplace('aaa', 'a', 'b')`, context, null),
    /command\.regexTimeout/,
  );
});

test('eval hands its text and the current record to the language of the statement', () => {
  const asked: unknown[] = [];
  const context = sampleContext({
    evaluateCondition: (text, current) => {
      asked.push(text, current);
      return text === 'unknown' ? null : true;
    },
  });
  const ada = evaluateText('@#1:0', context, null);
  assert.equal(evaluateText(`eval('age > 18')`, context, ada), true);
  assert.equal(evaluateText(`eval('unknown')`, context, ada), null);
  assert.equal(evaluateText('eval(null)', context, ada), null);
  assert.equal(evaluateText(`eval('1 = 1')`, context, null), true);
  assert.deepEqual(asked, ['age > 18', ada, 'unknown', ada, '1 = 1', new Map()]);
});

test('a path search ends with the time of its statement', () => {
  const runtime = sampleRuntime();
  const context = sampleContext({
    deadlineMs: 10,
    runtime: { ...runtime, clock: { ...runtime.clock, monotonicMs: () => 11 } },
    view: wideView(),
  });
  assert.throws(
    () => evaluateText(`shortestPath(#1:0, #1:1, 'OUT')`, context, null),
    (error: unknown) => error instanceof DatabaseError && error.code === 'Timeout',
  );
});

/** A vertex with 10,000 edges to #1:2. */
function wideView(): EvaluationContext['view'] {
  const { view } = sampleContext();
  const wide = {
    count: 10_000,
    edges: new Float64Array(10_000).fill(5),
    vertices: new Float64Array(10_000).fill(2 ** 37 + 2),
  };
  return {
    catalog: view.catalog,
    record: view.record,
    adjacency: () => wide,
  } as unknown as EvaluationContext['view'];
}
