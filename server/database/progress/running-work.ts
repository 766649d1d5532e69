import type { ActiveStatements } from '../bounds/active-statements.ts';
import type { ProgressRegistry } from './progress-registry.ts';

/** What runs now on all databases. Statements and operations share one sequence of ids. */
export interface RunningWork {
  readonly statements: ActiveStatements;
  readonly operations: ProgressRegistry;
}

/** One thing that runs and can be ended by its id. */
export interface RunningTask {
  readonly id: number;
  readonly kind: 'statement' | 'operation';
  readonly database: string;
  readonly user: string;
}

/**
 * What an id stands for: the number that lists show, or the `X-Request-Id` of the request that runs it.
 * @param user only what this user runs; undefined: what anybody runs
 */
export function findRunning(
  work: RunningWork,
  id: string,
  user: string | undefined,
): RunningTask | undefined {
  const isWanted = (about: { readonly id: number; readonly user: string }, requestId?: string) =>
    (String(about.id) === id || requestId === id) && (user === undefined || about.user === user);
  for (const { id: found, database, user: owner, requestId } of work.statements.list())
    if (isWanted({ id: found, user: owner }, requestId))
      return { id: found, kind: 'statement', database, user: owner };
  for (const { id: found, database, user: owner, requestId } of work.operations.running())
    if (isWanted({ id: found, user: owner }, requestId))
      return { id: found, kind: 'operation', database, user: owner };
  return undefined;
}

/** Tells a task to end; it does so within 2 s, unless its commit has begun (limits.md 6). */
export function cancelRunning(work: RunningWork, { id }: RunningTask, by: string): void {
  const reason = `cancelled by user '${by}'`;
  if (!work.statements.cancel(id, reason)) work.operations.cancel(id, reason);
}
