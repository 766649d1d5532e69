import type { Condition } from '../../api/cluster-status.ts';
import { mergeConditions } from '../../api/conditions.ts';
import type { WantedCondition } from '../../api/conditions.ts';

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** How far an object is that runs once and ends. */
export interface Progress {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
}

export const iso = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

export function isFinished(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Ready when it succeeded, Reconciling while it goes on, Stalled when it failed: as tools of kstatus expect. */
export function conditionsOf(
  { phase, reason, message }: Progress,
  present: readonly Condition[] | undefined,
  at: { readonly now: number; readonly generation: number },
): Condition[] {
  const wanted: WantedCondition[] = [
    { type: 'Ready', status: phase === 'Succeeded' ? 'True' : 'False', reason, message },
  ];
  if (phase === 'Failed') wanted.push({ type: 'Stalled', status: 'True', reason, message });
  else if (phase !== 'Succeeded')
    wanted.push({ type: 'Reconciling', status: 'True', reason, message });
  return mergeConditions(wanted, present ?? [], { ...at, now: iso(at.now) });
}

/** What the status of such an object says: what is begun while it goes on, when it ended and why it failed. */
export function statusWith<S extends { readonly begun?: unknown }>(
  draft: S,
  progress: Progress,
  present: readonly Condition[] | undefined,
  at: { readonly now: number; readonly generation: number },
) {
  const { begun, ...rest } = draft;
  const isEnd = isFinished(progress.phase);
  return {
    ...rest,
    ...(isEnd || begun === undefined ? undefined : { begun: begun as NonNullable<S['begun']> }),
    ...(isEnd ? { finishedAt: iso(at.now) } : undefined),
    ...(progress.phase === 'Failed' ? { error: progress.message.slice(0, 1024) } : undefined),
    observedGeneration: at.generation,
    phase: progress.phase,
    conditions: conditionsOf(progress, present, at),
  };
}
