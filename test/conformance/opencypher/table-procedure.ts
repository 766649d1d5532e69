import { double, type Value, type ValueMap } from '#core/value/value.ts';
import { compareForCypher } from '#core/value/cypher-order.ts';
import type { Procedure } from '#query/procedures/procedure.ts';
import type { TableProcedure } from './scenario-run.ts';

/** A procedure of the server that answers from the table of a scenario. */
export function tableProcedure(table: TableProcedure): Procedure {
  const { name, inputs, outputs, rows } = table;
  return {
    name,
    signature: { description: 'of a scenario', parameters: inputs, columns: outputs },
    effects: [],
    start(args) {
      const found = rows.filter((row) => args.every((value, at) => isSame(value, row[at] ?? null)));
      const given: ValueMap[] =
        outputs.length === 0
          ? [new Map()]
          : found.map((row) => rowOf(outputs, row.slice(inputs.length)));
      return { next: () => given.shift() };
    },
  };
}

/** An integer is as good as the float it stands for. */
function isSame(given: Value, expected: Value): boolean {
  return compareForCypher(given, expected) === 0;
}

function rowOf(outputs: TableProcedure['outputs'], values: readonly Value[]): ValueMap {
  return new Map(
    outputs.map(({ name, type }, at) => {
      const value = values[at] ?? null;
      const isFloat = type.startsWith('FLOAT') && typeof value === 'number';
      return [name, isFloat && Number.isInteger(value) ? double(value) : value];
    }),
  );
}
