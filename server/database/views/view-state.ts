import type { ViewDefinition } from '#catalog/definitions.ts';
import type { Rid } from '#core/value/rid.ts';
import type { EpochMs } from '#core/runtime.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ViewRows } from './view-refresh.ts';

/** STALE: a source has changed since the last refresh; ERROR: the last refresh failed, the rows before it stay. */
export type ViewStatus = 'VALID' | 'STALE' | 'BUILDING' | 'ERROR';

/** What is known of one materialized view beside its definition; kept in memory. */
export class ViewState {
  status: ViewStatus = 'STALE';
  lastRefreshTime: EpochMs | undefined;
  lastError: string | undefined;
  /** True when a commit has changed a source since the newest refresh began. */
  isBehind = false;
  /** Refreshes that were begun, and the number of the newest one that has ended; there is one at a time. */
  startedCount = 0;
  finishedCount = 0;
  /** The refresh that runs. */
  running: Promise<void> | undefined;
  /** Ends the wait for the next refresh. */
  cancelTimer: (() => void) | undefined;
  /** Buckets of the sources when the schema was last looked at; undefined: any bucket. */
  sources: ReadonlySet<number> | undefined;
  /** Where the rows of a simple view are; undefined: not known, so the next refresh is one of the whole. */
  rows: ViewRows | undefined;
  /** Records that have changed since the newest refresh began; undefined: too many, or not known which. */
  changed: Set<Rid> | undefined;
  refreshCount = 0;
  errorCount = 0;
  totalMs = 0;
  minMs = 0;
  maxMs = 0;
  lastMs = 0;

  succeeded(now: EpochMs, durationMs: number): void {
    this.status = this.isBehind ? 'STALE' : 'VALID';
    this.lastRefreshTime = now;
    this.lastError = undefined;
    const took = Math.round(durationMs);
    this.minMs = this.refreshCount === 0 ? took : Math.min(this.minMs, took);
    this.maxMs = Math.max(this.maxMs, took);
    this.refreshCount += 1;
    this.totalMs += took;
    this.lastMs = took;
  }

  failed(reason: string): void {
    this.status = 'ERROR';
    this.lastError = reason;
    this.errorCount += 1;
  }
}

/** The row of `schema:materializedviews` (sql.md 7.12). */
export function viewRow(view: ViewDefinition, state: ViewState): ValueMap {
  const { refreshCount: count } = state;
  return new Map<string, Value>([
    ['name', view.name],
    ['query', view.query],
    ['backingType', view.name],
    ['refreshMode', view.refreshMode],
    ['refreshInterval', view.refreshIntervalMs],
    ['simpleQuery', view.isSimple],
    ['lastRefreshTime', state.lastRefreshTime ?? null],
    ['status', state.status],
    ['sourceTypes', view.sourceTypes],
    ['refreshCount', count],
    ['refreshTotalTimeMs', state.totalMs],
    ['refreshMinTimeMs', state.minMs],
    ['refreshMaxTimeMs', state.maxMs],
    ['refreshAvgTimeMs', count === 0 ? 0 : Math.round(state.totalMs / count)],
    ['errorCount', state.errorCount],
    ['lastRefreshDurationMs', state.lastMs],
    ...(state.lastError === undefined
      ? []
      : [['lastError', state.lastError] satisfies [string, Value]]),
  ]);
}
