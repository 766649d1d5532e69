import type { Condition } from './cluster-status.ts';

/** What a condition should say; absent ones are removed (kstatus: abnormal-true conditions vanish when not true). */
export interface WantedCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

const messageLengthMax = 1024;

/** Carries over `lastTransitionTime` of conditions whose status did not change. */
export function mergeConditions(
  wanted: readonly WantedCondition[],
  present: readonly Condition[],
  at: { readonly now: string; readonly generation: number },
): Condition[] {
  return wanted.map(({ type, status, reason, message }) => {
    const before = present.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: message.slice(0, messageLengthMax),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : at.now,
      observedGeneration: at.generation,
    };
  });
}

export function conditionOf(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
