import type { EpochMs } from '#core/runtime.ts';
import type { ActiveStatementInfo } from '#database/bounds/active-statements.ts';
import type { ProgressEntry } from '#database/progress/progress-registry.ts';
import type { RunningWork } from '#database/progress/running-work.ts';

/** Which tasks somebody asks for. */
export interface RunningFilter {
  /** Undefined: those of all users. */
  readonly user: string | undefined;
  /** Undefined: those on all databases. */
  readonly database: string | undefined;
}

function matches(
  about: { readonly user: string; readonly database: string },
  { user, database }: RunningFilter,
): boolean {
  return (
    (user === undefined || about.user === user) &&
    (database === undefined || about.database === database)
  );
}

/** The statements that run, oldest first, as the answers show them. */
export function statementReport(
  work: RunningWork,
  filter: RunningFilter,
  now: EpochMs,
): readonly unknown[] {
  return work.statements
    .list()
    .filter((about) => matches(about, filter))
    .map((about) => statementToJson(about, now));
}

/** The operations that run or have ended within the last hour, oldest first. */
export function operationReport(
  work: RunningWork,
  filter: RunningFilter,
  now: EpochMs,
): readonly unknown[] {
  return [...work.operations.ended(), ...work.operations.running()]
    .filter((about) => matches(about, filter))
    .map((about) => operationToJson(about, now));
}

function statementToJson(about: ActiveStatementInfo, now: EpochMs): unknown {
  return {
    id: about.id,
    requestId: about.requestId ?? null,
    database: about.database,
    user: about.user,
    language: about.language,
    command: about.text,
    inSession: about.isInSession,
    startedOn: about.startedAt,
    elapsedMs: Math.max(0, Math.round(now - about.startedAt)),
  };
}

function operationToJson(entry: ProgressEntry, now: EpochMs): unknown {
  return {
    ...progressToJson(entry, now),
    requestId: entry.requestId ?? null,
    user: entry.user,
    state: entry.state,
    counts: entry.counts,
    reason: entry.reason ?? null,
  };
}

/** An entry of `GET /progress/{database}`, with the fields of the contract. */
export function progressToJson(entry: ProgressEntry, now: EpochMs) {
  return {
    id: entry.id,
    database: entry.database,
    operation: entry.operation,
    stepName: entry.step,
    stepIndex: entry.stepIndex,
    totalSteps: entry.stepCount,
    done: entry.done,
    total: entry.total,
    percentage: entry.percentage,
    startedOn: entry.startedAt,
    elapsedMs: Math.max(0, Math.round((entry.endedAt ?? now) - entry.startedAt)),
  };
}
