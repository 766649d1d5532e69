import type { Effect } from '#core/effects.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ExecutionContext } from '../operators/operator.ts';

/** A procedure that `Call` runs by name: gives rows, in bounded steps. */
export interface Procedure {
  readonly name: string;
  /** Absent: known to languages by its name alone. */
  readonly signature?: ProcedureSignature;
  /** What it does beyond reading. */
  readonly effects: readonly Effect[];
  /** @throws DatabaseError `IllegalArgument` for arguments it cannot use */
  start(args: readonly Value[], context: ExecutionContext): ProcedureRows;
}

/** What is checked before a statement runs, and what lists of procedures show. */
export interface ProcedureSignature {
  readonly description: string;
  readonly parameters: readonly ProcedureParameter[];
  /** None: it is void, and gives one row without values for each call. */
  readonly columns: readonly ProcedureColumn[];
  /** YIELD may name others, which the rows have or not: those of the records that it finds. */
  readonly hasMoreColumns?: true;
}

export interface ProcedureParameter extends ProcedureColumn {
  /** What stands for it when it is left out; absent: it may not be. */
  readonly default?: Value;
}

export interface ProcedureColumn {
  readonly name: string;
  /** As the language writes types: `STRING`, `INTEGER`, `NUMBER`, `NODE`, `MAP`, `LIST`, `ANY`. */
  readonly type: string;
}

export interface ProcedureRows {
  /** A row, 'pause' after a share of work (some 1,024 steps) without one, or undefined at the end. */
  next(): ValueMap | 'pause' | undefined;
  /** Nobody asks for more; absent: it holds nothing. */
  close?(): void;
}

/** All procedures by name; lookup ignores case. */
export interface ProcedureRegistry {
  procedure(name: string): Procedure | undefined;
}

/** `db.labels() :: (label :: STRING)` */
export function signatureText({ name, signature }: Procedure): string {
  if (signature === undefined) return `${name}()`;
  const parameters = signature.parameters.map((parameter) => {
    const isOptional = 'default' in parameter;
    return `${parameter.name}${isOptional ? ' = null' : ''} :: ${parameter.type}`;
  });
  const columns = signature.columns.map((column) => `${column.name} :: ${column.type}`);
  return `${name}(${parameters.join(', ')}) :: ${columns.length === 0 ? 'VOID' : `(${columns.join(', ')})`}`;
}
