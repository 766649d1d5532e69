import type { Effect } from '#core/effects.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ExecutionContext } from '../operators/operator.ts';

/** A procedure that `Call` runs by name: gives rows, in bounded steps. */
export interface Procedure {
  readonly name: string;
  /** What it does beyond reading. */
  readonly effects: readonly Effect[];
  /** @throws DatabaseError `IllegalArgument` for arguments it cannot use */
  start(args: readonly Value[], context: ExecutionContext): ProcedureRows;
}

export interface ProcedureRows {
  /** A row, 'pause' after a share of work (some 1,024 steps) without one, or undefined at the end. */
  next(): ValueMap | 'pause' | undefined;
}

/** All procedures by name; lookup ignores case. */
export interface ProcedureRegistry {
  procedure(name: string): Procedure | undefined;
}
