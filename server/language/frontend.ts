import type { Catalog } from '#catalog/catalog.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { NumberLimits } from '#core/value/number-text.ts';
import type { Value } from '#core/value/value.ts';
import type { Program } from '#query/algebra/program.ts';

/** One language: text to program. Pure; both functions throw DatabaseError. */
export interface LanguageFrontend<Ast> {
  readonly name: string;
  readonly aliases: readonly string[];
  /** @throws DatabaseError `Syntax` with line and column */
  parse(text: string, limits: ParseLimits): Ast;
  /** As `parse`, for long texts, with places to pause. */
  parseInSteps?(text: string, limits: ParseLimits): PausingWork<Ast>;
  /** Names to ids and slots. @throws DatabaseError `Schema`, `Syntax`, ... */
  analyze(ast: Ast, context: AnalysisContext): Program;
  /** As `analyze`, with places to pause in what is long. */
  analyzeInSteps?(ast: Ast, context: AnalysisContext): PausingWork<Program>;
}

export interface ParseLimits {
  /** `sql.maxExpressionDepth` */
  readonly expressionDepthMax: number;
  /** Bytes, `sql.maxStatementSize`. */
  readonly statementBytesMax: number;
  /** Default: those of the formats. */
  readonly numbers?: NumberLimits;
}

/** Script variables; a `Map` is one. */
export interface VariableNames {
  has(name: string): boolean;
  /** Asked only where the value stands for a name or a constant of a schema statement. */
  get(name: string): Value | undefined;
}

export interface AnalysisContext {
  readonly catalog: Catalog;
  /** The names of the variables in scope and, inside scripts, their values (a type name may come from one). */
  readonly variables: VariableNames;
  /**
   * The parameters of this call, for statements in which one gives a name (`type: :t`, `INTO bucket::b`). A program that was made
   * with such a value says so in `dependsOnParameters` and is not remembered; nothing else may look at values.
   */
  readonly parameters?: ReadonlyMap<string, Value>;
  /** Optimizers and analyzers may look at parameter types, never at values: plans are cached by text. */
  readonly parameterNames: readonly string[] | undefined;
  readonly expressionDepthMax: number;
}
