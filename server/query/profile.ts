import type { Clock } from '#core/runtime.ts';
import {
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operators/operator.ts';

/** What PROFILE measured of one operator. */
export interface Measurement {
  /** Nanoseconds in this operator and below it. */
  totalNanos: number;
  rowCount: number;
}

export type Measurements = ReadonlyMap<PhysicalOperator, Measurement>;

/**
 * Measures every operator of a plan from now on. Operators know each other directly, so the methods of each object are
 * shadowed by measuring ones: plans that are not profiled pay nothing. Operators measured once are not to be used again.
 */
export function measureOperators(root: PhysicalOperator, clock: Clock): Measurements {
  const measurements = new Map<PhysicalOperator, Measurement>();
  measure(root, clock, measurements);
  return measurements;
}

function measure(
  operator: PhysicalOperator,
  clock: Clock,
  measurements: Map<PhysicalOperator, Measurement>,
): void {
  if (measurements.has(operator)) return;
  const measurement: Measurement = { totalNanos: 0, rowCount: 0 };
  measurements.set(operator, measurement);
  const open = operator.open.bind(operator);
  const next = operator.next.bind(operator);
  Object.assign(operator, {
    fill: undefined,
    open(context: ExecutionContext): void {
      const startMs = clock.monotonicMs();
      open(context);
      measurement.totalNanos += (clock.monotonicMs() - startMs) * 1e6;
    },
    next(): Pulled {
      const startMs = clock.monotonicMs();
      const pulled = next();
      measurement.totalNanos += (clock.monotonicMs() - startMs) * 1e6;
      if (pulled === ROW) measurement.rowCount += 1;
      return pulled;
    },
  });
  for (const input of operator.inputs) measure(input, clock, measurements);
}
