import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import { type Warning, warningsMax } from '#core/warnings.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Expression as Computed, Output, Slot } from '#query/algebra/expression.ts';
import type { AggregateColumn, Column, LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import { Dependencies } from '#query/binder/dependencies.ts';
import type { Row } from '#query/binder/row.ts';
import type { Binding, Scope } from '#query/binder/scope.ts';
import { SlotAllocator } from '#query/binder/slot-allocator.ts';
import { ValueTypes } from '#query/binder/value-type.ts';
import type { FunctionRegistry } from '#query/evaluate/function-definition.ts';
import type { ParseLimits, VariableNames } from '../../frontend.ts';
import { syntaxError } from '../../syntax-error.ts';
import { errorPositionAt } from '../../text-cursor.ts';
import type { Expression } from '../ast.ts';
import type { Statement } from '../statements.ts';

/** A statement as a part of a plan. */
export interface AnalyzedQuery {
  readonly plan: LogicalPlan;
  readonly output: Output;
  /** What the rows carry beside their columns (`$depth`, `$path`), for the query around. */
  readonly metadata: ReadonlyMap<string, Binding>;
  readonly statementLimit: QueryProgram['statementLimit'];
}

/** The mutually recursive functions of the analyzer, so that its files need not import each other in circles. */
export interface AnalyzerHeart {
  expression(analysis: Analysis, node: Expression, env: Environment): Computed;
  query(analysis: Analysis, statement: Statement, parent: Scope | undefined): AnalyzedQuery;
}

/** Where an expression stands. */
export interface Environment {
  readonly scope: Scope;
  /** What plain names are looked up in: the row of the scope, unless the stage has another one. */
  readonly row: Row;
  /** Names that come before those of the row: aliases in ORDER BY, the variable of a list comprehension. */
  readonly names: ReadonlyMap<string, Computed> | undefined;
  /** Set where aggregates are allowed and rows are groups. */
  readonly aggregation: Aggregation | undefined;
  /** True in branches that may not be evaluated: writes in them are not lifted out. */
  readonly isLazy: boolean;
}

/**
 * Expressions over groups (sql.md 7.7). Aggregate calls become columns of the Aggregate node; what holds no aggregate is a
 * grouping key when it means the same as one, and otherwise the value of the group's first row.
 */
export interface Aggregation {
  /** Slots of grouping keys by what they mean (`identityOf`). */
  readonly keys: ReadonlyMap<string, Slot>;
  /** GROUP BY without any aggregate: only the keys are there, everything else of the row is null. */
  readonly keysOnly: boolean;
  /** Syntax nodes that are or contain an aggregate call. */
  readonly aggregating: ReadonlySet<Expression>;
  /** How the arguments of aggregates and first values see the row. */
  readonly rowEnvironment: Environment;
  readonly first: Column[];
  readonly firstByIdentity: Map<string, Slot>;
  readonly aggregates: AggregateColumn[];
  readonly aggregateByIdentity: Map<string, Slot>;
}

export interface AnalysisOptions {
  readonly text: string;
  readonly catalog: Catalog;
  readonly variables: VariableNames;
  readonly parameters: ReadonlyMap<string, Value>;
  readonly functions: FunctionRegistry;
  readonly parseLimits: ParseLimits;
  readonly heart: AnalyzerHeart;
}

/** What the analysis of one statement shares. */
export class Analysis {
  readonly text: string;
  readonly catalog: Catalog;
  readonly variables: VariableNames;
  readonly functions: FunctionRegistry;
  /** For texts inside the statement. */
  readonly parseLimits: ParseLimits;
  readonly slots = new SlotAllocator();
  readonly dependencies = new Dependencies();
  /** True when a parameter gave a name, so that the program is good for this call only. */
  dependsOnParameters = false;
  /** With the offset where each is first read. */
  readonly readParameters = new Map<string, number>();
  readonly #warnings: Warning[] = [];
  readonly #parameters: ReadonlyMap<string, Value>;
  /** Number of writing nodes made so far. */
  writeCount = 0;
  /** For the automatic aliases of MATCH. */
  aliasCount = 0;
  readonly #heart: AnalyzerHeart;
  /** Of the plan that was asked for last. */
  #types: { readonly plan: LogicalPlan; readonly values: ValueTypes } | undefined;

  constructor(options: AnalysisOptions) {
    this.text = options.text;
    this.catalog = options.catalog;
    this.variables = options.variables;
    this.functions = options.functions;
    this.parseLimits = options.parseLimits;
    this.#parameters = options.parameters;
    this.#heart = options.heart;
  }

  /** A parameter in the text; null when the call does not give it. */
  parameter({ name, at }: { readonly name: string; readonly at: number }): Computed {
    if (!this.readParameters.has(name)) this.readParameters.set(name, at);
    return { op: 'Parameter', name };
  }

  /** No edge is of a type that does not exist (house decision 84). */
  warnOfEdgeType(name: string, at: number): void {
    const isTold = this.#warnings.some(({ position }) => position?.offset === at);
    if (isTold || this.#warnings.length >= warningsMax) return;
    const help = didYouMean(name, this.#edgeTypeNames());
    const hint = help === undefined ? '' : `; ${help}`;
    this.#warnings.push({
      code: 'UnknownEdgeType',
      message: `there is no edge type '${name}', so nothing is found along it${hint}`,
      position: errorPositionAt(this.text, at),
    });
  }

  #edgeTypeNames(): readonly string[] {
    return this.catalog.types().flatMap(({ kind, name }) => (kind === 'edge' ? [name] : []));
  }

  /** What a program tells of its analysis beside its plan. */
  remarks(): Pick<QueryProgram, 'dependsOnParameters' | 'readParameters' | 'warnings'> {
    return {
      ...(this.dependsOnParameters ? { dependsOnParameters: true } : undefined),
      ...(this.readParameters.size > 0 ? { readParameters: this.readParameters } : undefined),
      ...(this.#warnings.length > 0 ? { warnings: this.#warnings } : undefined),
    };
  }

  expression(node: Expression, env: Environment): Computed {
    return this.#heart.expression(this, node, env);
  }

  query(statement: Statement, parent: Scope | undefined): AnalyzedQuery {
    return this.#heart.query(this, statement, parent);
  }

  /**
   * What a parameter holds that stands for a name.
   * @throws DatabaseError `IllegalArgument` when the call does not give it
   */
  nameParameter(name: string): Value {
    this.dependsOnParameters = true;
    const value = this.#parameters.get(name);
    if (value !== undefined && value !== null) return value;
    throw new DatabaseError('IllegalArgument', `parameter '${name}' must give a name here`);
  }

  /** What a parameter holds that becomes a part of the program; null when the call does not give it. */
  parameterValue(name: string): Value {
    this.dependsOnParameters = true;
    return this.#parameters.get(name) ?? null;
  }

  /** @throws DatabaseError `Schema` `Type with name '<t>' was not found` */
  type(name: string): TypeDefinition {
    const type = this.catalog.typeNamed(name);
    if (type !== undefined) return type;
    const help = didYouMean(
      name,
      this.catalog.types().map((known) => known.name),
    );
    throw new DatabaseError(
      'Schema',
      `Type with name '${name}' was not found`,
      help === undefined ? {} : { help },
    );
  }

  typeWithSubtypes(name: string): readonly TypeId[] {
    return this.catalog.withSubtypes(this.type(name).id);
  }

  /** What is known of values in the rows of a plan, perhaps of one that is still made. */
  valueTypes(plan: LogicalPlan): ValueTypes {
    if (this.#types?.plan !== plan)
      this.#types = { plan, values: new ValueTypes(plan, this.catalog) };
    return this.#types.values;
  }

  /** An error about the shape of the statement, with its place. */
  fault(at: number, problem: string, suggestion?: string): DatabaseError {
    return syntaxError({ text: this.text, offset: at, problem, suggestion });
  }
}

/** Expressions of a stage that sees the scope's own row. */
export function rowEnvironment(scope: Scope): Environment {
  return { scope, row: scope.row, names: undefined, aggregation: undefined, isLazy: false };
}

/** @throws always `NotSupported`, naming the thing */
export function notSupportedYet(thing: string): DatabaseError {
  return new DatabaseError('NotSupported', `not supported yet: ${thing}`);
}

export const nullConstant: Computed = { op: 'Constant', value: null };
