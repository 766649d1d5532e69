import { type Effect, isReadOnly } from '#core/effects.ts';
import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Access } from '#core/principal.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { fullName } from '#catalog/definitions.ts';
import {
  accessesInSteps,
  accessesOf,
  effectsInSteps,
  type WritingNames,
} from '#query/algebra/effects.ts';
import type { CommandsProgram, RecordContext, RecordStep } from '#query/algebra/commands.ts';
import type { MissingType } from '#query/algebra/missing-type.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import type { OperationProgram, Program } from '#query/algebra/program.ts';
import type { AnalysisContext } from '#language/frontend.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Estimate } from '#query/optimizer/estimates.ts';
import type { PhysicalOperator } from '#query/operators/operator.ts';
import type { OperatorNodes } from '#query/physical/operator-nodes.ts';
import type { OperationStep, Part, SqlScript } from '#language/script-steps.ts';
import type { Value } from '#core/value/value.ts';
import {
  type BodyLanguage,
  bodyLanguage,
  bodyProgram,
  requireCypherBody,
} from '../script/body-program.ts';
import { CalledFunctions, type Doings, withEagerSources } from '../script/called-functions.ts';
import { completed, type CompileSteps } from './compile-steps.ts';
import { commandsOf, CompiledCommands } from '../key-value/compiled-commands.ts';
import { CompiledOperation } from './compiled-operation.ts';
import { CompiledScript, type NameValues } from '../script/compiled-script.ts';
import { CompiledStatement } from './compiled-statement.ts';
import { withTypes } from './missing-types.ts';
import { PlanCache } from './plan-cache.ts';
import { factsOfPlan } from './plan-facts.ts';
import type { Statement } from '../session.ts';
import { rowCapVariable, type StatementContext } from './context.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import { sourcedProgram } from '../views/row-source.ts';

/** What the analysis of a part of a script looks at. */
export interface PartContext {
  readonly view: ReadView;
  readonly variables: NameValues;
  readonly parameters: ReadonlyMap<string, Value>;
}

/** A text as it is kept. */
export type Compiled = CompiledStatement | CompiledScript | CompiledOperation | CompiledCommands;

/** How programs become plans that run; the query room's part. */
export interface PlanMaker {
  readonly writing: WritingNames;
  /** @param catalog that of the view, or one that has more types */
  optimize(program: QueryProgram, view: ReadView, catalog: Catalog): CompileSteps<QueryProgram>;
  /** @returns makes the operators of one execution at each call */
  lower(program: QueryProgram, catalog: Catalog): CompileSteps<() => PhysicalOperator>;
  /** As `lower` at once, for operators that somebody will look at. @param nodes gets the node of each of them */
  describe(program: QueryProgram, catalog: Catalog, nodes: OperatorNodes): () => PhysicalOperator;
  /** What is expected of the nodes of an optimized plan. */
  estimates(view: ReadView, catalog: Catalog): (plan: LogicalPlan) => Estimate;
}

/**
 * Text to compiled statement: parse, analyze, judge, optimize, lower, remembered by language and text. A remembered one is
 * used while the catalog is the same and the sizes of things have not changed a lot.
 */
export class StatementCompiler {
  readonly #languages: LanguageRegistry;
  readonly #planner: PlanMaker;
  readonly #makeContext: (slotCount: number) => StatementContext;
  readonly #limits: () => StatementLimits;
  readonly #caches = new Map<string, PlanCache<Compiled>>();
  readonly #keptForNow = new Map<string, { language: string; compiled: Compiled }>();
  readonly #countMax: () => number;
  #compileCount = 0;
  readonly #called: CalledFunctions;

  /** @param options `countMax` is `service.sql.planCacheSize`, for each language */
  constructor(options: {
    languages: LanguageRegistry;
    planner: PlanMaker;
    makeContext: (slotCount: number) => StatementContext;
    limits: () => StatementLimits;
    countMax: () => number;
  }) {
    this.#languages = options.languages;
    this.#planner = options.planner;
    this.#makeContext = options.makeContext;
    this.#limits = options.limits;
    this.#called = new CalledFunctions(
      (body, view, language) => this.#bodyProgram(body, view, language),
      options.planner.writing,
    );
    this.#countMax = options.countMax;
  }

  /**
   * The statement for the state that `view` shows; the optimizer asks it for sizes. Cost of a hit: two map lookups.
   * @throws DatabaseError `Syntax`, `Schema`, ...
   */
  compiled(statement: Statement, view: ReadView): Compiled {
    const { commands } = statement;
    if (commands !== undefined) return CompiledCommands.ofJudged(commands.program);
    return this.#known(statement, view) ?? completed(this.steps(statement, view));
  }

  /** True when `compiled` has nothing to do. */
  isKnown(statement: Statement, view: ReadView): boolean {
    return this.#known(statement, view) !== undefined;
  }

  #known({ language, text }: Statement, view: ReadView): Compiled | undefined {
    const known = this.#caches.get(language)?.get(text);
    if (known !== undefined && holds(known, view)) return known;
    if (this.#keptForNow.size === 0) return undefined;
    const kept = this.#keptForNow.get(text);
    return kept?.language === language && holds(kept.compiled, view) ? kept.compiled : undefined;
  }

  /**
   * `compiled` finds this, too, until the function that is returned is called: for texts that are too long for the cache and
   * took several turns to compile.
   */
  keepForNow({ language, text }: Statement, compiled: Compiled): () => void {
    const kept = { language, compiled };
    this.#keptForNow.set(text, kept);
    return () => {
      if (this.#keptForNow.get(text) === kept) this.#keptForNow.delete(text);
    };
  }

  /**
   * A statement or expression of a script, for the state that `view` shows and the values that variables have now.
   * @param names those that the script assigns
   */
  compiledPart(script: CompiledScript, part: Part, context: PartContext): CompiledStatement {
    return (
      script.known(part, context.view, context.variables) ??
      completed(this.partSteps(script, part, context))
    );
  }

  /** What `compiledPart` does for a part that is not known, step by step. The view must stay open meanwhile. */
  *partSteps(
    script: CompiledScript,
    part: Part,
    context: PartContext,
  ): CompileSteps<CompiledStatement> {
    const { view } = context;
    const asked: [string, Value][] = [];
    const program = part.analyze(this.#contextOfPart(script, context, asked));
    yield;
    const compiled = yield* this.#plan(program, view);
    if (program.dependsOnParameters !== true) script.remember(part, { compiled, asked });
    return compiled;
  }

  /** What an operation of a script is to do, as `compiledPart`. @throws DatabaseError `IllegalArgument` */
  operationOf(script: CompiledScript, step: OperationStep, context: PartContext): OperationProgram {
    return step.analyze(this.#contextOfPart(script, context, []));
  }

  /** @param asked gets the variables that the analysis looks at, with their values */
  #contextOfPart(
    script: CompiledScript,
    { view, variables, parameters }: PartContext,
    asked: [string, Value][],
  ): AnalysisContext {
    const { names } = script.program;
    return {
      catalog: view.catalog,
      variables: {
        has: (name) => names.has(name),
        get: (name) => {
          const value = variables.get(name);
          asked.push([name, value]);
          return value;
        },
      },
      parameters,
      parameterNames: undefined,
      expressionDepthMax: this.#limits().parse.expressionDepthMax,
    };
  }

  /**
   * The body of a trigger or function. Cost of a hit: two map lookups.
   * @throws DatabaseError `Schema`, ...: names in it are looked up now
   */
  compiledBody(text: string, view: ReadView, language: BodyLanguage = 'sql'): CompiledStatement {
    const cache = this.#cache(language === 'sql' ? bodies : cypherBodies);
    const known = cache.get(text);
    if (known?.kind === 'statement' && known.catalogVersion === view.catalog.version)
      if (!known.isStale(view)) return known;
    const compiled = completed(this.#plan(this.#bodyProgram(text, view, language), view));
    cache.set(text, compiled);
    return compiled;
  }

  /**
   * The query of a simple materialized view with the records of its rows (`sourcedProgram`).
   * @throws DatabaseError as `compiled`
   */
  compiledSourced(
    text: string,
    view: ReadView,
    ofChangedOnly: boolean,
  ): CompiledStatement | undefined {
    const cache = this.#cache(ofChangedOnly ? changedRows : sourcedRows);
    const known = cache.get(text);
    if (known?.kind === 'statement' && known.catalogVersion === view.catalog.version)
      if (!known.isStale(view)) return known;
    const program = sourcedProgram(this.#bodyProgram(text, view), ofChangedOnly);
    if (program === undefined) return undefined;
    const compiled = completed(this.#plan(program, view));
    cache.set(text, compiled);
    return compiled;
  }

  clear(): void {
    this.#caches.clear();
  }

  /** Texts that were compiled so far: who finds it unchanged was given a statement that was at hand. */
  get compileCount(): number {
    return this.#compileCount;
  }

  /** What `compiled` does for an unknown text, step by step. The view must stay open meanwhile. */
  *steps(statement: Statement, view: ReadView): CompileSteps<Compiled> {
    this.#compileCount += 1;
    const program = yield* this.#program(statement, view.catalog);
    if (program.kind === 'query' && program.inspect === 'explain' && program.missingTypes)
      return yield* this.#explainedWithTypes(statement, program.missingTypes, view);
    if (program.kind === 'operation') return new CompiledOperation(program);
    if (program.kind === 'commands') return yield* this.#commands(program, statement);
    const compiled =
      program.kind === 'script'
        ? this.#script(program as SqlScript, view)
        : yield* this.#plan(program, view);
    if (program.kind === 'script' || program.dependsOnParameters !== true)
      this.#cache(statement.language).set(statement.text, compiled);
    return compiled;
  }

  /** EXPLAIN makes no types: it tells the plan that there would be after they were made. It is not kept. */
  *#explainedWithTypes(
    statement: Statement,
    types: readonly MissingType[],
    view: ReadView,
  ): CompileSteps<Compiled> {
    const catalog = withTypes(view.catalog, types);
    const program = yield* this.#program(statement, catalog);
    assert(program.kind === 'query', 'what a text is does not change');
    return yield* this.#plan(program, view, { catalog, types });
  }

  *#commands(
    program: CommandsProgram,
    { language, text }: Statement,
  ): CompileSteps<CompiledCommands> {
    const compiled = yield* CompiledCommands.inSteps(program);
    for (const command of commandsOf(program)) {
      // Whoever judges it before its turn comes resolves it.
      if (command.kind !== 'records' || command.prepare === undefined) continue;
      for (const _ of command.prepare()) yield;
    }
    this.#cache(language).set(text, compiled);
    return compiled;
  }

  /** What commands on records are resolved with. */
  recordContext({ catalog }: ReadView, databaseName: string): RecordContext {
    return { catalog, databaseName, formats: this.#limits().formats };
  }

  /** The plan of a command on records. Cost of a hit: two map lookups. @throws DatabaseError `Schema`, ... */
  compiledStep(step: RecordStep, view: ReadView): CompiledStatement {
    const cache = this.#cache(commandSteps);
    const known = cache.get(step.shape);
    if (known?.kind === 'statement' && holds(known, view)) return known;
    const compiled = completed(this.#plan(step.program(), view));
    cache.set(step.shape, compiled);
    return compiled;
  }

  #script(program: SqlScript, view: ReadView): CompiledScript {
    const { functions } = program.effects;
    const writing = [...this.#planner.writing.functions.keys()];
    const { definitions, version } = view.catalog;
    const ofSchema = [...functions].filter((name) => definitions.functionNamed(name) !== undefined);
    const { effects } = this.#called.doingsNamed(ofSchema, view);
    const callsWriting =
      !isReadOnly(effects) || writing.some((name) => functions.has(name.toLowerCase()));
    // A function that is defined later may be one that this script calls.
    return new CompiledScript(
      program,
      callsWriting,
      hasUserFunction(functions) ? version : undefined,
    );
  }

  #bodyProgram(text: string, view: ReadView, language: BodyLanguage = 'sql'): QueryProgram {
    return bodyProgram(this.#parsedBody(text, view, language), text, language);
  }

  #parsedBody(text: string, view: ReadView, language: BodyLanguage): Program {
    const variables = language === 'sql' ? bodyVariables : noVariables;
    return completed(
      this.#program({ language, text, parameters: new Map() }, view.catalog, variables),
    );
  }

  /**
   * What the front end of the statement cannot see: whether a body in Cypher is one, and whether one in SQL writes through
   * functions in Cypher that it calls (house decision 47).
   */
  #requireBody(plan: LogicalPlan, view: ReadView): void {
    if (plan.op !== 'Alter') return;
    const { change } = plan;
    if (change.kind === 'define-function' && bodyLanguage(change.language) === 'cypher') {
      requireCypherBody(fullName(change), () => this.#parsedBody(change.body, view, 'cypher'));
    }
    if (change.kind !== 'create-trigger' || change.event !== 'READ') return;
    if (change.language !== 'SQL' || !this.#writes(change.action, view)) return;
    throw new DatabaseError(
      'IllegalArgument',
      `the action of trigger '${change.name}' writes, which a trigger on READ may not`,
    );
  }

  #writes(action: string, view: ReadView): boolean {
    try {
      return !isReadOnly(this.#doings(this.#bodyProgram(action, view), view).effects);
    } catch {
      // Types that are not there yet: it may not write when it runs, either.
      return false;
    }
  }

  #doings(program: QueryProgram, view: ReadView): Doings {
    return completed(this.#doingsInSteps(program, view, view.catalog));
  }

  /** Beside its own doings: those of the functions it calls. */
  *#doingsInSteps(
    program: QueryProgram,
    view: ReadView,
    catalog: Catalog,
  ): CompileSteps<Doings & { readonly plan: LogicalPlan }> {
    const own = yield* effectsInSteps(program, this.#planner.writing);
    yield;
    const called = this.#called.doingsOf(program.plan, view);
    yield;
    const accesses = yield* accessesInSteps(program, catalog);
    if (called === undefined) return { effects: own, accesses, plan: program.plan };
    const isReading = isReadOnly(called.effects);
    return {
      effects: new Set([...own, ...called.effects]),
      accesses: [...accesses, ...called.accesses],
      plan: isReading ? program.plan : withEagerSources(program.plan),
    };
  }

  /** Whoever makes a trigger or view must be allowed to do what it does, since it runs whoever sets it off. */
  #rightsOfBody(plan: LogicalPlan, view: ReadView): readonly Access[] {
    if (plan.op === 'Maintain' && plan.work.kind === 'create-view') {
      const query: QueryProgram = { ...viewProgram, plan: plan.work.source };
      return accessesOf(query, view.catalog);
    }
    if (plan.op !== 'Alter' || plan.change.kind !== 'create-trigger') return [];
    if (plan.change.language !== 'SQL') return [];
    try {
      const program = this.#bodyProgram(plan.change.action, view);
      return [...this.#doings(program, view).accesses, ...this.#rightsOfBody(program.plan, view)];
    } catch {
      // Types that are not there yet: then the right to everything.
      const effects = new Set<Effect>(['read', 'insert', 'update', 'delete']);
      return [{ effects, types: undefined }];
    }
  }

  /** @param planned the catalog to plan for, with the types of it that are not there yet */
  *#plan(
    program: QueryProgram,
    view: ReadView,
    planned: { readonly catalog: Catalog; readonly types: readonly MissingType[] } = {
      catalog: view.catalog,
      types: [],
    },
  ): CompileSteps<CompiledStatement> {
    const { catalog } = planned;
    this.#requireBody(program.plan, view);
    const doings = yield* this.#doingsInSteps(program, view, catalog);
    const { effects, accesses: done, plan } = doings;
    const accesses = [...done.map(whileItRuns), ...this.#rightsOfBody(program.plan, view)];
    yield;
    const capped = withRowCap({ ...program, plan });
    const optimized = yield* this.#planner.optimize(capped, view, catalog);
    yield;
    const makeOperators = yield* this.#planner.lower(optimized, catalog);
    const makeContext = () => this.#makeContext(optimized.slotCount);
    yield;
    const facts = yield* factsOfPlan(optimized, view, catalog);
    yield;
    return new CompiledStatement({
      program: optimized,
      catalogVersion: view.catalog.version,
      effects,
      accesses,
      instantiate: () => ({ root: makeOperators(), context: makeContext() }),
      describe: () => {
        const nodes: OperatorNodes = new WeakMap();
        const makeDescribed = this.#planner.describe(optimized, catalog, nodes);
        return () => ({ root: makeDescribed(), context: makeContext(), nodes });
      },
      estimates: (now) => this.#planner.estimates(now, catalog),
      typesMade: planned.types,
      facts,
    });
  }

  *#program(
    statement: Statement,
    catalog: Catalog,
    variables: ReadonlyMap<string, Value> = noVariables,
  ): CompileSteps<Program> {
    const frontend = this.#languages.frontend(statement.language);
    const { parse } = this.#limits();
    const ast =
      frontend.parseInSteps === undefined
        ? frontend.parse(statement.text, parse)
        : yield* frontend.parseInSteps(statement.text, parse);
    yield;
    const context: AnalysisContext = {
      catalog,
      variables,
      parameters: statement.parameters,
      parameterNames: undefined,
      expressionDepthMax: parse.expressionDepthMax,
    };
    const program =
      frontend.analyzeInSteps === undefined
        ? frontend.analyze(ast, context)
        : yield* frontend.analyzeInSteps(ast, context);
    yield;
    return program;
  }

  /** By the spelling of the request: there are few, and other ones only miss. */
  #cache(language: string): PlanCache<Compiled> {
    let cache = this.#caches.get(language);
    if (cache === undefined) {
      cache = new PlanCache({ countMax: this.#countMax });
      if (this.#caches.size < 16) this.#caches.set(language, cache);
    }
    return cache;
  }
}

/** The shell of a program whose plan alone is looked at. */
const viewProgram: Omit<QueryProgram, 'plan'> = {
  kind: 'query',
  output: { kind: 'columns', columns: [] },
  slotCount: 0,
  statementLimit: undefined,
  inspect: undefined,
};

/** Whether what was made for another view serves this one. */
function holds(known: Compiled, view: ReadView): boolean {
  if (known.kind === 'script') return known.holdsIn(view);
  if (known.kind === 'operation' || known.kind === 'commands') return true;
  return known.catalogVersion === view.catalog.version && !known.isStale(view);
}

/** The language under which bodies are kept: no request can name it. */
const bodies = 'body of a trigger or function';
const cypherBodies = 'body of a function in cypher';
/** As `bodies`, for commands on records. */
const commandSteps = 'command on records';
/** As `bodies`, for the queries of materialized views. */
const sourcedRows = 'rows of a view';
const changedRows = 'changed rows of a view';
const noVariables: ReadonlyMap<string, Value> = new Map();
/** What a trigger finds set (sql.md 14.1). */
const bodyVariables: ReadonlyMap<string, Value> = new Map([
  ['record', null],
  ['oldRecord', null],
  ['rid', null],
]);

/** Names in a script that may be those of functions of the schema: they have a library. */
function hasUserFunction(names: ReadonlySet<string>): boolean {
  for (const name of names) if (name.includes('.')) return true;
  return false;
}

/**
 * The caller's row cap as a limit of the plan, where that saves work beyond not asking for more rows: a sort needs to keep
 * only so many (http-api.md 6.3, rule 4).
 */
function withRowCap(program: QueryProgram): QueryProgram {
  let node = program.plan;
  while (node.op === 'Project') node = node.input;
  if (node.op !== 'Sort' || node.limit !== undefined) return program;
  const plan: LogicalPlan = {
    op: 'Limit',
    input: program.plan,
    count: { op: 'Variable', name: rowCapVariable },
  };
  return { ...program, plan };
}

/**
 * Records that only the run of a plan finds are judged when they are read or changed (`record-guard.ts`), by the functions that
 * it calls, too.
 */
function whileItRuns(access: Access): Access {
  const { effects, types } = access;
  if (types !== undefined || effects.size !== 1) return access;
  const isJudged = effects.has('read') || effects.has('update') || effects.has('delete');
  return isJudged ? { effects, types: [] } : access;
}
