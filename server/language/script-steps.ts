import type { QueryProgram } from '#query/algebra/plan.ts';
import type { OperationProgram, ScriptProgram, ScriptStep } from '#query/algebra/program.ts';
import type { AnalysisContext } from './frontend.ts';
import type { StatementSource } from './name-place.ts';

/** What a script does, step by step; `database/script/runner.ts` runs it (sql.md 17). */
export type Step =
  | QueryStep
  | (ScriptStep & {
      readonly kind: 'let';
      readonly items: readonly { readonly name: string; readonly value: Part }[];
    })
  | (ScriptStep & { readonly kind: 'setGlobal'; readonly name: string; readonly value: Part })
  /** undefined: plain RETURN. */
  | (ScriptStep & { readonly kind: 'return'; readonly value: Part | undefined })
  | (ScriptStep & {
      readonly kind: 'if';
      readonly condition: Part;
      readonly taken: Block;
      readonly otherwise: Block;
    })
  | (ScriptStep & { readonly kind: 'while'; readonly condition: Part; readonly body: Block })
  | (ScriptStep & {
      readonly kind: 'forEach';
      readonly variable: string;
      readonly list: Part;
      readonly body: Block;
    })
  | (ScriptStep & { readonly kind: 'break' | 'rollback' })
  /** `needsOpen`: an error outside of a session and of what BEGIN opened. */
  | (ScriptStep & { readonly kind: 'commit'; readonly needsOpen?: true })
  | (ScriptStep & { readonly kind: 'begin'; readonly isolation: ScriptIsolation })
  | RetryStep
  | (ScriptStep & {
      readonly kind: 'lock';
      readonly what: 'type' | 'bucket';
      readonly names: readonly string[];
      readonly source: StatementSource;
    })
  | (ScriptStep & { readonly kind: 'profile'; readonly name: string; readonly body: Block })
  | (ScriptStep & { readonly kind: 'sleep'; readonly millis: Part })
  | OperationStep
  | (ScriptStep & { readonly kind: 'console'; readonly level: string; readonly message: Part });

export type Block = readonly Step[];
export type ScriptIsolation = 'READ_COMMITTED' | 'REPEATABLE_READ';

/** A statement whose rows may be the result of the script. */
export interface QueryStep extends ScriptStep {
  readonly kind: 'query';
  readonly query: Part;
}

/** BACKUP, EXPORT or IMPORT DATABASE: outside of transactions, with one row. */
export interface OperationStep extends ScriptStep {
  readonly kind: 'operate';
  /** @throws DatabaseError `IllegalArgument` */
  analyze(context: AnalysisContext): OperationProgram;
}

/** BEGIN ... COMMIT RETRY: the block between them is run until it commits, `attemptCount` times in all. */
export interface RetryStep extends ScriptStep {
  readonly kind: 'retry';
  readonly isolation: ScriptIsolation;
  readonly body: Block;
  readonly attemptCount: number;
  readonly otherwise: Block;
  readonly goesOn: boolean;
}

/**
 * A statement or an expression of a script. It is analyzed when it is run, since a step before it may have made the type that
 * it names, or put the type's name into a variable.
 */
export interface Part {
  /**
   * rows: a statement; its value is the list of its rows. value: an expression, one row with one value. map: an expression
   * that is written as a map, which RETURN tells from a row.
   */
  readonly gives: 'rows' | 'value' | 'map';
  /** @throws DatabaseError `Schema`, `Syntax`, ..., with line and column in the whole script */
  analyze(context: AnalysisContext): QueryProgram;
}

/** The program of a script; it depends on no catalog. */
export interface SqlScript extends ScriptProgram {
  readonly steps: Block;
  /** Every statement and expression, those of branches that may not be taken too. */
  readonly parts: readonly Part[];
  /** Names that the script assigns, without `$`. */
  readonly names: ReadonlySet<string>;
  readonly effects: ScriptEffects;
}

/** What a script may do, read off all of its branches (house decision 47). */
export interface ScriptEffects {
  readonly writes: boolean;
  /** BEGIN, COMMIT, ROLLBACK, LOCK or SET GLOBAL. */
  readonly changesState: boolean;
  /** LOCK or SET GLOBAL: whoever may change nothing may not do these, either. */
  readonly affectsOthers: boolean;
  /** BACKUP, EXPORT or IMPORT DATABASE. */
  readonly operates: boolean;
  /** Names of the functions that are called, in lower case. */
  readonly functions: ReadonlySet<string>;
}
