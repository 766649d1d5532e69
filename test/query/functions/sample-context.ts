import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { SampleGraph } from './sample-graph.ts';

/** 2024-05-01 10:20:30.123 UTC. */
export const sampleNow = 1_714_558_830_123;

/** A runtime that stands still and draws the same numbers each time. */
export function sampleRuntime(): Runtime {
  let drawn = 0;
  return {
    clock: { now: () => sampleNow, monotonicMs: () => 0 },
    timers: {
      after: () => () => {},
      sleep: () => Promise.resolve(),
      yield: () => Promise.resolve(),
    },
    random: {
      uint32: () => (drawn = (drawn * 1_664_525 + 1_013_904_223) % 2 ** 32),
      bytes: (length) => Uint8Array.from({ length }, (_, i) => i),
      uuid: () => '00000000-0000-4000-8000-000000000000',
    },
  };
}

export function sampleContext(changes: Partial<EvaluationContext> = {}): EvaluationContext {
  return {
    frame: [],
    view: new SampleGraph().view,
    parameters: new Map<string, Value>(),
    variables: { get: () => null },
    runtime: sampleRuntime(),
    formats: defaultTemporalFormats,
    limits: { elementCountMax: 500_000, rangeSizeMax: 10_000_000, valueBytesMax: 64 * 2 ** 20 },
    memory: { reserve() {}, release() {} },
    regexBudget: { remainingMs: 1_000 },
    databaseName: 'test',
    serverVersion: '26.10.1',
    ...changes,
  };
}
