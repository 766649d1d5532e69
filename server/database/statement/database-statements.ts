import { assert } from '#core/assert.ts';
import { sqlPlanCacheSize, truncateBatchSize } from '#config/settings.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { WatchedView } from '#transaction/read/watched-view.ts';
import { BodyRunner } from '../script/body-runner.ts';
import type { CompiledStatement } from './compiled-statement.ts';
import { plainCounts } from '../catalogue/counters.ts';
import type { DatabaseSettings } from '../catalogue/database-settings.ts';
import { GlobalVariables } from '../script/global-variables.ts';
import { shownUsers } from '../operations/change-user.ts';
import { requireFilesOf } from '../operations/csv-file.ts';
import { maintain } from '../operations/maintenance.ts';
import type { MaintenanceRoom } from '../operations/task.ts';
import { planMaker } from './plan-maker.ts';
import { type SchemaFacts, schemaRows } from '../catalogue/schema-source.ts';
import type { Statement } from '../session.ts';
import { ScriptBodies } from '../script/bodies.ts';
import { StatementCompiler } from './compiler.ts';
import { StatementContext, type StatementSurroundings } from './context.ts';
import { TextEvaluator } from './text-evaluator.ts';
import { MaterializedViews } from '../views/materialized-views.ts';
import { storedRefreshTime } from '../views/view-refresh.ts';
import type { DatabaseSurroundings } from '../surroundings.ts';

/** How statements of one database are compiled and what they see beside records; transactions evaluate defaults with it. */
export class DatabaseStatements {
  readonly compiler: StatementCompiler;
  readonly evaluator: TextEvaluator;
  readonly bodies: BodyRunner;
  readonly views: MaterializedViews;
  readonly globals = new GlobalVariables();
  /** Set once, before the first statement. */
  state: DatabaseState | undefined;
  /** Persists a setting of the database; set like `state`. */
  changeSetting: ((key: string, text: string) => Promise<unknown>) | undefined;

  constructor(
    name: string,
    path: string,
    options: {
      readonly surroundings: DatabaseSurroundings;
      readonly own: DatabaseSettings;
      readonly engine: StorageEngine;
    },
  ) {
    const { surroundings, own, engine } = options;
    const { runtime, serverVersion, languages, counters } = surroundings;
    const facts: SchemaFacts = {
      databaseName: name,
      path,
      sizeBytes: () => engine.sizeBytes(),
      formats: () => own.limits.formats,
      settings: () => own.values.report('database'),
      counters: () => plainCounts(counters),
      now: () => runtime.clock.now(),
      propertyNames: () => engine.shapes.propertyNames(),
      viewRows: (catalog) => this.views.rows(catalog),
    };
    const ofStatements: StatementSurroundings = {
      runtime,
      databaseName: name,
      serverVersion,
      defaults: (source) => this.evaluator.default(source),
      schemaSource: (view, kind, object) => schemaRows(view, facts, { kind, name: object }),
      evaluateCondition: (text, current, view) => this.evaluator.condition(text, current, view),
      globals: this.globals,
      watched: (view) =>
        new WatchedView(view, (...read) => this.bodies.fireInPlace(...read), runtime.clock),
      callFunction: (called, args, place) => this.bodies.call(called, args, place),
      maintain: (work, order) => maintain(work, order, this.#room(name, options)),
      openRows: (order, asker) => {
        const { operations, authorizer } = surroundings;
        const requireFiles = () => requireFilesOf(asker, authorizer, name);
        return operations.rowFile({ ...order, requireFiles });
      },
      users: (asker) => shownUsers(asker, surroundings.users),
    };
    this.compiler = new StatementCompiler({
      languages,
      planner: planMaker,
      limits: () => own.limits,
      countMax: () => own.values.get(sqlPlanCacheSize),
      makeContext: (slotCount) => new StatementContext(slotCount, ofStatements, own.limits),
    });
    this.views = new MaterializedViews({
      databaseName: name,
      compile: (text, view) => this.#compiledQuery(text, view),
      compileSourced: (text, view, ofChangedOnly) =>
        this.compiler.compiledSourced(text, view, ofChangedOnly),
      begin: () => this.#opened().beginRefresh(),
      view: () => this.view(),
      catalog: () => this.#opened().catalog,
      lastRefreshTime: (view) => storedRefreshTime(engine, view),
      limits: () => own.limits,
      memory: surroundings.memory,
      runtime,
      log: surroundings.log,
    });
    this.bodies = new BodyRunner({
      compile: (body, view, language) => this.compiler.compiledBody(body, view, language),
      limits: () => own.limits,
      memory: surroundings.memory,
      runtime,
      globals: this.globals,
      scripts: new ScriptBodies(surroundings.scripts, name),
    });
    this.evaluator = new TextEvaluator({
      compiler: this.compiler,
      limits: () => own.limits,
      view: () => this.view(),
    });
  }

  view(): ReadView {
    assert(this.state !== undefined, 'the database is open before its first statement');
    return this.state.view();
  }

  /** Whether the statement reads one of these types; of a script, whether it may. */
  reads(statement: Statement, types: readonly string[]): boolean {
    using view = this.view();
    try {
      const compiled = this.compiler.compiled(statement, view);
      if (compiled.kind !== 'statement') return compiled.kind !== 'operation';
      return compiled.accesses.some(
        (access) =>
          access.effects.has('read') && access.types?.some((name) => types.includes(name)),
      );
    } catch {
      // It will be refused.
      return false;
    }
  }

  #compiledQuery(text: string, view: ReadView): CompiledStatement {
    const compiled = this.compiler.compiled({ language: 'sql', text, parameters: new Map() }, view);
    assert(compiled.kind === 'statement', 'the query of a view is no script');
    return compiled;
  }

  #opened(): DatabaseState {
    assert(this.state !== undefined, 'the database is open before its first statement');
    return this.state;
  }

  #room(
    databaseName: string,
    options: {
      readonly surroundings: DatabaseSurroundings;
      readonly own: DatabaseSettings;
      readonly engine: StorageEngine;
    },
  ): MaintenanceRoom {
    const { surroundings, own, engine } = options;
    const { state, changeSetting } = this;
    assert(state !== undefined, 'the database is open before its first statement');
    assert(changeSetting !== undefined, 'the database is open before its first statement');
    return {
      databaseName,
      state,
      engine,
      runtime: surroundings.runtime,
      progress: surroundings.progress,
      users: surroundings.users,
      views: this.views,
      settings: { get: (spec) => own.values.get(spec), change: changeSetting },
      truncateBatchSize: () => own.values.get(truncateBatchSize),
    };
  }
}
