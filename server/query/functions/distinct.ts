import { valueKey } from '#core/equality.ts';
import type { Value } from '#core/value.ts';
import { ValueTable } from '../evaluate/value-table.ts';

/** The elements without later ones that equal an earlier one. */
export function distinct(list: readonly Value[]): readonly Value[] {
  const seen = new ValueTable();
  const result: Value[] = [];
  for (let i = 0; i < list.length; i++) {
    const element = list[i] as Value;
    if (seen.add(valueKey(element)) === result.length) result.push(element);
  }
  return result;
}
