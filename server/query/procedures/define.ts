import { languageError, type DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { ExecutionContext } from '../operators/operator.ts';
import type { Procedure, ProcedureParameter, ProcedureRows } from './procedure.ts';

/** Shapes of procedures that only read. */

export interface Reading {
  readonly name: string;
  readonly description: string;
  readonly parameters?: readonly ProcedureParameter[];
  /** `name: type` */
  readonly columns: Readonly<Record<string, string>>;
  readonly hasMoreColumns?: true;
  /** 'pause' stands for a share of work without a row. */
  rows(args: readonly Value[], context: ExecutionContext): Iterable<ValueMap | 'pause'>;
}

export function reading(of: Reading): Procedure {
  const { name, description, parameters = [], columns, hasMoreColumns, rows } = of;
  return {
    name,
    signature: {
      description,
      parameters,
      columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
      ...(hasMoreColumns && { hasMoreColumns }),
    },
    effects: [],
    start: (args, context) => rowsOf(rows(args, context)),
  };
}

export function rowsOf(rows: Iterable<ValueMap | 'pause'>): ProcedureRows {
  const iterator = rows[Symbol.iterator]();
  return {
    next() {
      const next = iterator.next();
      return next.done === true ? undefined : next.value;
    },
  };
}

/** One row; its columns in the order of the keys. */
export function rowWith(values: Readonly<Record<string, Value>>): ValueMap {
  return new Map(Object.entries(values));
}

export function argumentFault(text: string): DatabaseError {
  return languageError(
    { type: 'ArgumentError', phase: 'runtime', detail: 'InvalidArgumentValue' },
    text,
  );
}
