import type { LocalDateTime } from '#core/temporal/instants.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { momentOfMillis } from './construct.ts';

/** What the clock showed when an execution first asked. */
const statementClocks = new WeakMap<object, number>();

/** Milliseconds since the epoch, the same in all of an execution of a statement. */
export function statementMillis(context: EvaluationContext): number {
  const known = statementClocks.get(context.regexBudget);
  if (known !== undefined) return known;
  const now = Math.trunc(context.runtime.clock.now());
  statementClocks.set(context.regexBudget, now);
  return now;
}

/** As `statementMillis`. A transaction has the moment of the statement, as it reads anew with each. */
export function statementMoment(context: EvaluationContext): LocalDateTime {
  return momentOfMillis(statementMillis(context));
}
