import type { Expression, Output, Slot } from '../algebra/expression.ts';

/** What stands behind the names of a row. */
export type Row =
  /** There is no row: names are null. */
  | { readonly kind: 'none' }
  /** One value: a record or a map; its properties are known when the plan runs. */
  | { readonly kind: 'value'; readonly slot: Slot }
  /** Named columns that are known at analysis. */
  | { readonly kind: 'columns'; readonly columns: ReadonlyMap<string, Slot> };

export const noRow: Row = { kind: 'none' };

/** The row that a plan with this output gives to the query around it. */
export function rowOfOutput(output: Output): Row {
  if (output.kind === 'value') return { kind: 'value', slot: output.slot };
  return {
    kind: 'columns',
    columns: new Map(output.columns.map((column) => [column.name, column.slot])),
  };
}

/** The inverse of `rowOfOutput`. */
export function outputOfRow(row: Row): Output {
  if (row.kind === 'value') return { kind: 'value', slot: row.slot };
  return { kind: 'columns', columns: row.kind === 'none' ? [] : columnsOf(row.columns) };
}

/** Columns of an output, in order. */
export function columnsOf(
  columns: ReadonlyMap<string, Slot>,
): readonly { readonly name: string; readonly slot: Slot }[] {
  return [...columns].map(([name, slot]) => ({ name, slot }));
}

/** The row as one value: the record itself, or a map of the columns. */
export function valueOfRow(row: Row): Expression {
  switch (row.kind) {
    case 'none':
      return { op: 'Constant', value: null };
    case 'value':
      return { op: 'Slot', slot: row.slot };
    default:
      return {
        op: 'Map',
        entries: columnsOf(row.columns).map(({ name, slot }) => ({
          key: name,
          value: { op: 'Slot', slot },
        })),
      };
  }
}
