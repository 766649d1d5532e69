import type { Action } from '../api/decision.ts';
import { KubernetesError } from '../kubernetes/kubernetes-error.ts';
import { MemberError } from '../observe/database-client.ts';

/** Answers that will be the same next time: reported in the status instead of being tried again and again. */
const lastingCodes = new Set([400, 403, 405, 413, 415, 422]);

/** Parts of an action that were refused for good, by what they were about; its other parts were carried out. */
export class Refusals extends Error {
  readonly byTarget: ReadonlyMap<string, KubernetesError>;

  constructor(byTarget: ReadonlyMap<string, KubernetesError>) {
    super([...byTarget].map(([target, error]) => `${target}: ${error.message}`).join('; '));
    this.name = 'Refusals';
    this.byTarget = byTarget;
  }
}

/** What was refused for a reason that time alone does not mend. */
export function isLasting(
  error: unknown,
  kind: Action['kind'],
): error is KubernetesError | MemberError {
  if (error instanceof MemberError) return error.status >= 400 && error.status < 500;
  if (!(error instanceof KubernetesError)) return false;
  // Too many requests: a budget that refuses an eviction, or else a busy API server.
  if (error.code === 429) return kind === 'evict' && error.isByBudget;
  return lastingCodes.has(error.code);
}
