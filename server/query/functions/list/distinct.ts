import { valueKey } from '#core/value/equality.ts';
import type { Value } from '#core/value/value.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { ValueTable } from '../../evaluate/comparison/value-table.ts';

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

/** As `distinct`, in turns. */
export function* distinctInTurns(
  list: readonly Value[],
  meter: WorkMeter,
): PausingWork<readonly Value[]> {
  const seen = new ValueTable();
  const result: Value[] = [];
  for (let i = 0; i < list.length; i++) {
    const element = list[i] as Value;
    if (seen.add(valueKey(element)) === result.length) result.push(element);
    if (isLookDue(i, element) && meter.isSpent(unitsPerLook)) yield;
  }
  return result;
}

/** Each 256 elements, and behind texts that take long to hash. */
export function isLookDue(i: number, element: Value): boolean {
  return (i & 255) === 255 || (typeof element === 'string' && element.length > 4_096);
}

export const unitsPerLook = 48;
