import type { BucketId, TypeId } from '#core/rid.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { accessesOf, effectsOf, type WritingNames } from '#query/algebra/effects.ts';
import { walkPlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import type { Program } from '#query/algebra/program.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import type { ReadView } from '#transaction/read-view.ts';
import type { PhysicalOperator } from '#query/operators/operator.ts';
import type { Part, SqlScript } from '#language/sql/script/steps.ts';
import type { Value } from '#core/value.ts';
import { CompiledScript, type NameValues } from './compiled-script.ts';
import { CompiledStatement, type PlannedSizes } from './compiled-statement.ts';
import { PlanCache } from './plan-cache.ts';
import type { Statement } from './session.ts';
import { rowCapVariable, type StatementContext } from './statement-context.ts';
import type { StatementLimits } from './statement-limits.ts';

/** A text as it is kept. */
export type Compiled = CompiledStatement | CompiledScript;

/** How programs become plans that run; the query room's part. */
export interface PlanMaker {
  readonly writing: WritingNames;
  optimize(program: QueryProgram, view: ReadView): QueryProgram;
  /** @returns makes the operators of one execution at each call */
  lower(program: QueryProgram, catalog: Catalog): () => PhysicalOperator;
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
  readonly #countMax: () => number;

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
    this.#countMax = options.countMax;
  }

  /**
   * The statement for the state that `view` shows; the optimizer asks it for sizes. Cost of a hit: two map lookups.
   * @throws DatabaseError `Syntax`, `Schema`, ...; `NotSupported` for programs that no part of this server runs
   */
  compiled(statement: Statement, view: ReadView): Compiled {
    const known = this.#caches.get(statement.language)?.get(statement.text);
    if (known !== undefined) {
      if (known.kind === 'script') return known;
      if (known.catalogVersion === view.catalog.version && !known.isStale(view)) return known;
    }
    return this.#compile(statement, view);
  }

  /**
   * A statement or expression of a script, for the state that `view` shows and the values that variables have now.
   * @param names those that the script assigns
   */
  compiledPart(
    script: CompiledScript,
    part: Part,
    context: {
      readonly view: ReadView;
      readonly variables: NameValues;
      readonly parameters: ReadonlyMap<string, Value>;
    },
  ): CompiledStatement {
    const { view, variables, parameters } = context;
    const known = script.known(part, view, variables);
    if (known !== undefined) return known;
    const asked: [string, Value][] = [];
    const { names } = script.program;
    const program = part.analyze({
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
    });
    const compiled = this.#plan(program, view);
    if (program.dependsOnParameters !== true) script.remember(part, { compiled, asked });
    return compiled;
  }

  clear(): void {
    this.#caches.clear();
  }

  #compile(statement: Statement, view: ReadView): Compiled {
    const program = this.#program(statement, view.catalog);
    if (program.kind === 'operation')
      throw new DatabaseError('NotSupported', `not supported: ${program.name}`);
    const compiled =
      program.kind === 'script' ? this.#script(program as SqlScript) : this.#plan(program, view);
    if (program.kind === 'script' || program.dependsOnParameters !== true)
      this.#cache(statement.language).set(statement.text, compiled);
    return compiled;
  }

  #script(program: SqlScript): CompiledScript {
    const writing = this.#planner.writing.functions;
    const callsWriting = [...writing.keys()].some((name) =>
      program.effects.functions.has(name.toLowerCase()),
    );
    return new CompiledScript(program, callsWriting);
  }

  #plan(program: QueryProgram, view: ReadView): CompiledStatement {
    const effects = effectsOf(program, this.#planner.writing);
    const accesses = accessesOf(program, view.catalog);
    const optimized = this.#planner.optimize(withRowCap(program), view);
    const makeOperators = this.#planner.lower(optimized, view.catalog);
    return new CompiledStatement({
      program: optimized,
      catalogVersion: view.catalog.version,
      effects,
      accesses,
      instantiate: () => ({
        root: makeOperators(),
        context: this.#makeContext(optimized.slotCount),
      }),
      sizes: sizesSeen(optimized.plan, view),
    });
  }

  #program(statement: Statement, catalog: Catalog): Program {
    const frontend = this.#languages.frontend(statement.language);
    const { parse } = this.#limits();
    const ast = frontend.parse(statement.text, parse);
    return frontend.analyze(ast, {
      catalog,
      variables: new Map(),
      parameters: statement.parameters,
      parameterNames: undefined,
      expressionDepthMax: parse.expressionDepthMax,
    });
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

/** The record counts that a plan was made for. */
function sizesSeen(plan: LogicalPlan, view: ReadView): PlannedSizes {
  const buckets = new Set<BucketId>();
  const addTypes = (types: readonly TypeId[]): void => {
    for (const type of types) {
      for (const bucket of view.catalog.typeWithId(type).buckets) buckets.add(bucket);
    }
  };
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'TypeScan' || node.op === 'IndexSearch') addTypes(node.types);
    },
    expression() {},
  });
  const counted = [...buckets].slice(0, 64);
  const seen = counted.map((bucket) => view.recordCount(bucket));
  return {
    areStale: (now) =>
      counted.some((bucket, at) => hasMovedALot(seen[at] ?? 0, now.recordCount(bucket))),
  };
}

/** Small types grow fast and cost little: a factor alone would plan again and again. */
function hasMovedALot(before: number, now: number): boolean {
  const few = Math.min(before, now);
  return Math.max(before, now) > few * 4 + 1000;
}
