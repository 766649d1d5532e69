import { bucketUnder } from '#transaction/read/holding-bucket.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { requireView } from '#catalog/change/view.ts';
import type { ViewDefinition } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { type BucketId, bucketOf, type Rid, type TypeId } from '#core/value/rid.ts';
import type { EpochMs } from '#core/runtime.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import type { MaintenanceOrder } from '../statement/context.ts';
import type { RefreshServices } from './refresh-services.ts';
import { refreshChanged, refreshView } from './view-refresh.ts';
import { viewRow, ViewState } from './view-state.ts';

/** The kinds of work that are done here. */
export type ViewWork = Extract<
  Maintenance,
  { kind: 'create-view' | 'alter-view' | 'refresh-view' | 'drop-view' }
>;

export interface MaterializedViewsOptions extends RefreshServices {
  readonly databaseName: string;
  /** The schema of the newest committed state. */
  readonly catalog: () => Catalog;
  readonly log: Log;
  /** As it was stored with the rows. */
  readonly lastRefreshTime: (view: ViewDefinition) => EpochMs | undefined;
}

/** Between a commit and the refresh that it asks for: commits that follow each other closely share one. */
const debounceMs = 20;
/** Refreshes take at most half of the time: after a long one there is a pause of the same length, up to this. */
const pauseMsMax = 30_000;
/** After a failed refresh. */
const retryMs = 5_000;
/** How long a statement that reads a view waits for the refreshes that commits before it have asked for. */
const freshnessWaitMs = 5_000;

/**
 * The materialized views of one database (sql.md 14.3). INCREMENTAL ones are refreshed after commits that touched their sources:
 * off the path of the writer, soon after one another, one refresh at a time for each view. A statement that names a view waits
 * for what the commits before it have asked for, so a reader never misses what was acknowledged; it waits no longer than
 * `freshnessWaitMs` and then reads what is there. `EVERY n` runs by a timer that a restart starts again.
 */
export class MaterializedViews {
  readonly #options: MaterializedViewsOptions;
  readonly #states = new Map<TypeId, ViewState>();
  #catalogVersion = -1;
  /** Views whose sources have changed since their newest refresh began, and refreshes that run. */
  #behindCount = 0;
  #runningCount = 0;
  #isClosed = false;
  /** Another server refreshes. */
  #isPassive = false;

  constructor(options: MaterializedViewsOptions) {
    this.#options = options;
  }

  /** After a start: schedules, and what commits before the stop may have left undone. */
  start(): void {
    this.#lookAtSchema();
    for (const view of this.#views()) {
      const state = this.#state(view);
      if (view.refreshMode === 'INCREMENTAL') this.#markBehind(view, state);
      else if (view.refreshMode === 'MANUAL') state.status = 'VALID';
      state.lastRefreshTime = this.#options.lastRefreshTime(view);
    }
  }

  /** In a cluster only the leader refreshes; nobody knows what the one before has missed. */
  lead(): void {
    this.#isPassive = false;
    this.#catalogVersion = -1;
    this.start();
  }

  follow(): void {
    this.#isPassive = true;
    this.#behindCount = 0;
    for (const state of this.#states.values()) {
      state.cancelTimer?.();
      state.isBehind = false;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const state of this.#states.values()) state.cancelTimer?.();
    await Promise.all([...this.#states.values()].map((state) => state.running));
  }

  /** Rows of `schema:materializedviews`. */
  rows(catalog: Catalog): readonly ValueMap[] {
    return catalog.definitions.parts.views.map((view) => viewRow(view, this.#state(view)));
  }

  /** Carries a statement out. @returns its rows */
  async perform(work: ViewWork, order: MaintenanceOrder): Promise<readonly ValueMap[]> {
    if (work.kind === 'refresh-view') return this.#refreshNow(work.name, order.pause);
    const rows = await order.transaction.alter(work.change, order.pause);
    this.#lookAtSchema();
    if (work.kind === 'alter-view') this.#catchUpAltered(work.change.name);
    if (work.kind !== 'create-view' || rows.length === 0) return rows;
    try {
      await this.#refreshNow(work.change.name, order.pause);
    } catch (error) {
      // A view that cannot be filled is none.
      await order.transaction.alter({ kind: 'drop-view', name: work.change.name, ifExists: true });
      this.#lookAtSchema();
      throw error;
    }
    return rows;
  }

  /** A view that becomes INCREMENTAL has missed what was committed before. */
  #catchUpAltered(name: string): void {
    const view = this.#options.catalog().definitions.view(name);
    if (view?.refreshMode === 'INCREMENTAL') this.#markBehind(view, this.#state(view));
  }

  /**
   * A commit has changed records in these buckets. Cheap when there are no views.
   * @param records all of them; undefined when that is not known
   */
  committed(buckets: Iterable<BucketId>, records: readonly Rid[] | undefined): void {
    const views = this.#views();
    if (views.length === 0 || this.#isClosed) return;
    this.#lookAtSchema();
    const touched = [...buckets];
    for (const view of views) {
      if (view.refreshMode !== 'INCREMENTAL') continue;
      const state = this.#state(view);
      const { buckets: own } = this.#options.catalog().typeWithId(view.type);
      const isTouched = touched.some((bucket) =>
        state.sources === undefined ? !own.includes(bucket) : state.sources.has(bucket),
      );
      if (!isTouched) continue;
      noteChanges(state, records);
      this.#markBehind(view, state);
    }
  }

  /** The schema may have changed. */
  schemaChanged(): void {
    if (!this.#isClosed) this.#lookAtSchema();
  }

  /** False: all views show what was committed. */
  get isPending(): boolean {
    return this.#behindCount + this.#runningCount > 0;
  }

  /** The views with something to catch up on that the text names. */
  pendingIn(text: string): readonly string[] {
    return this.incrementalIn(text)
      .filter((view) => this.#isPending(view))
      .map((view) => view.name);
  }

  /** A view on a view that is behind will be. */
  #isPending(view: ViewDefinition): boolean {
    const state = this.#states.get(view.type);
    if (state?.isBehind === true || state?.running !== undefined) return true;
    return this.#innerViews(view).some((inner) => this.#isPending(inner));
  }

  #innerViews(view: ViewDefinition): readonly ViewDefinition[] {
    const { definitions } = this.#options.catalog();
    return view.sourceTypes.flatMap((source) => {
      const inner = definitions.view(source);
      return inner?.refreshMode === 'INCREMENTAL' ? [inner] : [];
    });
  }

  /** The views that follow their sources and that the text names. */
  incrementalIn(text: string): readonly ViewDefinition[] {
    return this.#views().filter(
      (view) => view.refreshMode === 'INCREMENTAL' && holdsWord(text, view.name),
    );
  }

  /** Resolves when these views show what was committed before, or after a while. */
  async caughtUp(names: readonly string[]): Promise<void> {
    const { timers } = this.#options.runtime;
    let cancel: () => void = () => {};
    const patience = new Promise<void>((resolve) => {
      cancel = timers.after(freshnessWaitMs, resolve);
    });
    const { definitions } = this.#options.catalog();
    const views = names.map((name) => definitions.view(name)).filter((view) => view !== undefined);
    await Promise.race([Promise.all(views.map((view) => this.#catchUp(view))), patience]);
    cancel();
  }

  async #catchUp(view: ViewDefinition): Promise<void> {
    // Views on views: the sources first.
    for (const inner of this.#innerViews(view)) await this.#catchUp(inner);
    const state = this.#state(view);
    // A refresh that runs already counts only when nothing was committed since it began.
    const wanted = state.isBehind ? state.startedCount + 1 : state.startedCount;
    while (state.finishedCount < wanted && this.#states.get(view.type) === state) {
      if (state.running !== undefined) await state.running;
      else if (state.isBehind && state.status !== 'ERROR') await this.#refreshQuietly(view);
      else return;
    }
  }

  #views(): readonly ViewDefinition[] {
    return this.#options.catalog().definitions.parts.views;
  }

  #state(view: ViewDefinition): ViewState {
    let state = this.#states.get(view.type);
    if (state === undefined) {
      state = new ViewState();
      this.#states.set(view.type, state);
    }
    return state;
  }

  /** Follows created, altered and dropped views, and sources that came, went or grew. */
  #lookAtSchema(): void {
    const catalog = this.#options.catalog();
    if (catalog.version === this.#catalogVersion) return;
    this.#catalogVersion = catalog.version;
    const views = this.#views();
    for (const [type, state] of this.#states) {
      if (views.some((view) => view.type === type)) continue;
      state.cancelTimer?.();
      if (state.isBehind) this.#behindCount -= 1;
      this.#states.delete(type);
    }
    for (const view of views) {
      const state = this.#state(view);
      const before = state.sources;
      state.sources = sourceBuckets(catalog, view);
      if (view.refreshMode !== 'INCREMENTAL') state.rows = undefined;
      if (view.refreshMode === 'PERIODIC') this.#schedule(view, state, view.refreshIntervalMs);
      else if (!state.isBehind) state.cancelTimer?.();
      const isKnown = state.refreshCount > 0 && before !== undefined;
      if (!isKnown || isSameSet(before, state.sources)) continue;
      state.rows = undefined;
      if (view.refreshMode === 'INCREMENTAL') this.#markBehind(view, state);
    }
  }

  #markBehind(view: ViewDefinition, state: ViewState): void {
    if (this.#isPassive) return;
    if (!state.isBehind) this.#behindCount += 1;
    state.isBehind = true;
    if (state.status === 'VALID') state.status = 'STALE';
    if (state.running === undefined && state.cancelTimer === undefined)
      this.#schedule(view, state, debounceMs);
  }

  #schedule(view: ViewDefinition, state: ViewState, delayMs: number): void {
    state.cancelTimer?.();
    if (this.#isClosed || this.#isPassive) return;
    const cancel = this.#options.runtime.timers.after(delayMs, () => {
      state.cancelTimer = undefined;
      void this.#refreshQuietly(view);
    });
    state.cancelTimer = () => {
      cancel();
      state.cancelTimer = undefined;
    };
  }

  async #refreshNow(name: string, pause: () => Promise<void>): Promise<readonly ValueMap[]> {
    const view = requireView(this.#options.catalog(), name);
    const state = this.#state(view);
    await state.running;
    // The statement's own clock and its client are looked at when the slice is over.
    let ended: unknown;
    let isOver = false;
    const watch = async (): Promise<void> => {
      while (!isOver) {
        await this.#options.runtime.timers.sleep(5);
        if (!isOver) await pause();
      }
    };
    void watch().catch((error: unknown) => {
      ended = error;
    });
    try {
      await this.#refresh(view, () => {
        if (ended !== undefined) throw ended;
      });
    } finally {
      isOver = true;
    }
    const operation = 'refresh materialized view';
    return [
      new Map<string, Value>([
        ['operation', operation],
        ['name', view.name],
      ]),
    ];
  }

  /** A refresh that nobody waits for: what goes wrong is told by the view's status and the log. */
  async #refreshQuietly(view: ViewDefinition): Promise<void> {
    const { log, databaseName } = this.#options;
    const state = this.#state(view);
    if (this.#isClosed || this.#states.get(view.type) !== state) return;
    if (state.running !== undefined) return state.running;
    try {
      await this.#refresh(view, nothing);
    } catch (error) {
      if (this.#isClosed) return;
      const reason = error instanceof Error ? error.message : String(error);
      log.warn('a materialized view could not be refreshed', {
        database: databaseName,
        view: view.name,
        reason,
      });
    }
  }

  #scheduleNext(view: ViewDefinition, state: ViewState, mayPass: boolean): void {
    const current = this.#options.catalog().definitions.view(view.name);
    if (this.#isClosed || current === undefined || current.type !== view.type) return;
    if (current.refreshMode === 'PERIODIC')
      this.#schedule(current, state, current.refreshIntervalMs);
    else if (state.isBehind && mayPass) {
      const rest = Math.min(pauseMsMax, Math.max(debounceMs, state.lastMs));
      this.#schedule(current, state, state.status === 'ERROR' ? retryMs : rest);
    }
  }

  #refresh(view: ViewDefinition, check: () => void): Promise<void> {
    const state = this.#state(view);
    state.cancelTimer?.();
    const run = this.#refreshOnce(view, state, check);
    const ended = (error?: unknown): void => {
      state.running = undefined;
      // A source that is gone comes back by a change of the schema, if at all.
      const mayPass = !(error instanceof DatabaseError && error.code === 'Schema');
      this.#scheduleNext(view, state, mayPass);
    };
    const running = run.then(() => ended(), ended);
    state.running = running;
    return run;
  }

  /** The rows of changed records alone, where that is possible and less work; else all of them. */
  async #write(view: ViewDefinition, state: ViewState, check: () => void): Promise<void> {
    const { rows, changed } = state;
    // What changes from here on belongs to the next refresh.
    state.rows = undefined;
    // Changes are noted for INCREMENTAL views alone; the mode may have been altered meanwhile.
    const { refreshMode } = this.#options.catalog().definitions.view(view.name) ?? view;
    const isFollowed = view.isSimple && refreshMode === 'INCREMENTAL';
    state.changed = isFollowed ? new Set() : undefined;
    const isFew =
      rows !== undefined && changed !== undefined && changed.size * 4 <= rows.size + 400;
    if (!isFew) {
      const written = await refreshView(view, this.#options, check);
      state.rows = isFollowed ? written : undefined;
      return;
    }
    try {
      await refreshChanged(view, this.#options, { rows, changed: [...changed], check });
      state.rows = rows;
    } catch (error) {
      const isDuplicate = error instanceof DatabaseError && error.code === 'DuplicatedKey';
      if (!isDuplicate) throw error;
      state.rows = await refreshView(view, this.#options, check);
    }
  }

  async #refreshOnce(view: ViewDefinition, state: ViewState, check: () => void): Promise<void> {
    const { clock } = this.#options.runtime;
    const startedMs = clock.monotonicMs();
    const wasBehind = state.isBehind;
    if (wasBehind) this.#behindCount -= 1;
    // What is committed from here on asks for another one.
    state.isBehind = false;
    state.startedCount += 1;
    this.#runningCount += 1;
    const number = state.startedCount;
    state.status = 'BUILDING';
    try {
      await this.#write(view, state, () => {
        if (this.#isClosed) throw new DatabaseError('DatabaseClosed', 'the database is closing');
        check();
      });
      state.succeeded(clock.now(), clock.monotonicMs() - startedMs);
    } catch (error) {
      state.failed(error instanceof Error ? error.message : String(error));
      if (wasBehind && !state.isBehind && this.#states.get(view.type) === state) {
        state.isBehind = true;
        this.#behindCount += 1;
      }
      throw error;
    } finally {
      state.finishedCount = number;
      this.#runningCount -= 1;
    }
  }
}

/** More changed records than this, or than a quarter of the rows, are not looked up one by one. */
const changedMax = 20_000;

function noteChanges(state: ViewState, records: readonly Rid[] | undefined): void {
  const { sources, changed } = state;
  if (sources === undefined || changed === undefined) return;
  if (records === undefined || records.length + changed.size > changedMax) {
    state.changed = undefined;
    return;
  }
  for (const rid of records) if (sources.has(bucketOf(rid))) changed.add(rid);
}

/** Whether the name stands in the text and is not a part of a longer word. */
function holdsWord(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
    if (!isWordCode(text.charCodeAt(at - 1)) && !isWordCode(text.charCodeAt(at + name.length)))
      return true;
  return false;
}

function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95
  );
}

function nothing(): void {}

/** The buckets of the source types and their subtypes as they are now; undefined: any. */
function sourceBuckets(catalog: Catalog, view: ViewDefinition): ReadonlySet<number> | undefined {
  if (view.readsAnyType) return undefined;
  const buckets = new Set<number>();
  for (const name of view.sourceTypes) {
    const type = catalog.typeNamed(name);
    const all = type === undefined ? [] : catalog.withSubtypes(type.id);
    for (const id of all)
      for (const bucket of catalog.typeWithId(id).buckets) {
        buckets.add(bucket);
        buckets.add(bucketUnder(catalog, bucket));
      }
  }
  return buckets;
}

function isSameSet(
  a: ReadonlySet<number> | undefined,
  b: ReadonlySet<number> | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.size !== b.size) return false;
  for (const item of a) if (!b.has(item)) return false;
  return true;
}
