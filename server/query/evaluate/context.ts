import type { RegexBudget } from '#core/text/regular-expression.ts';
import type { PausingWork, Replay, Wait, WorkMeter } from '#core/pausing-work.ts';
import type { Clock, Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';

/** The frame: one value per slot of the statement. Operators write their own slots; nobody else does. */
export type Frame = Value[];

/** What expressions and operators may use while one statement runs. */
export interface EvaluationContext {
  readonly frame: Frame;
  readonly view: ReadView;
  readonly parameters: ReadonlyMap<string, Value>;
  readonly variables: VariableScope;
  readonly runtime: Runtime;
  readonly formats: TemporalFormats;
  readonly limits: EvaluationLimits;
  /** Accounts what a statement holds (sorts, groups, lists). @throws DatabaseError `TooLarge` naming `queryMaxMemory` */
  readonly memory: MemoryAccount;
  /** The turn ends with an error when `madeBytes` gets there, as nothing else bounds what one expression makes; absent: never. */
  madeBytesMax?: number;
  /**
   * Milliseconds left for regular expressions of this statement, shared by all of them. A fresh object per execution: values
   * that stay the same during one execution are kept under it.
   */
  readonly regexBudget: RegexBudget;
  /**
   * `clock.monotonicMs()` at which the statement's time is over, for the few functions that work long in one call (paths);
   * absent when there is no limit.
   */
  readonly deadlineMs?: number;
  /** Set while an expression is evaluated that may take several turns (`long-calls.ts`). */
  longCalls?: LongCallRunner | undefined;
  /** Whoever evaluates catches `suspended` and then evaluates in turns: set only while an expression is computed (`patience.ts`). */
  mayBeSuspended?: boolean;
  /** What the next turn waits for, where the evaluation is in turns. */
  readonly pending?: { wait: Wait | undefined } | undefined;
  readonly databaseName: string;
  readonly serverVersion: string;
  /**
   * `eval(text)`: a condition of the statement's language on the current record. The database room wires it, since it needs
   * a language; without it `eval` is refused.
   */
  readonly evaluateCondition?: (text: string, current: Value) => boolean | null;
  /** A function of the schema, by `library.name`; wired by the database room like the one above. */
  readonly callFunction?: (name: string, args: readonly Value[]) => LongWork;
}

export interface VariableScope {
  get(name: string): Value;
}

export interface EvaluationLimits {
  /** `queryMaxHeapElementsAllowedPerOp` */
  readonly elementCountMax: number;
  /** `queryMaxRangeSize` */
  readonly rangeSizeMax: number;
  /** `queryMaxValueSize`, bytes of one text, list or map. */
  readonly valueBytesMax: number;
  /** `queryMaxMemory`, or more where it is small: what one turn may make, garbage included (`madeBytesMax`). */
  readonly turnBytesMax?: number;
  /** `command.regexMaxSize`, characters of a pattern; default 64 K. */
  readonly patternLengthMax?: number;
  /** `fullText.maxClauses`: words of a full-text query. */
  readonly textClausesMax?: number;
  /** `fullText.maxExpandedTerms`: terms that its prefixes, wildcards and fuzzy words stand for. */
  readonly textTermsMax?: number;
  /** `algorithms.graphViewMaxSize`: bytes of the graph views that are kept of a database. */
  readonly graphViewBytesMax?: number;
}

export interface MemoryAccount {
  reserve(bytes: number): void;
  release(bytes: number): void;
}

export type { WorkMeter };
export type LongWork = PausingWork<Value>;

/** Long calls of an expression count their work together. */
export interface LongCallRunner extends WorkMeter, Replay {
  /** Tells evaluations apart, and the times that one of them is done anew. */
  readonly evaluation: number;
  readonly pass: number;
  /** As `once`, for work that may take milliseconds: its time counts in the turn. */
  remembered<T>(site: object, compute: () => T, clock: Pick<Clock, 'monotonicMs'>): T;
}
