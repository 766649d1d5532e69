import { type ValueKey, valueKey } from '#core/equality.ts';
import type { Value } from '#core/value.ts';

/** The elements without later ones that equal an earlier one. */
export function distinct(list: readonly Value[]): readonly Value[] {
  const seen = new Set<ValueKey>();
  const result: Value[] = [];
  for (let i = 0; i < list.length; i++) {
    const element = list[i] as Value;
    const key = valueKey(element);
    if (seen.has(key)) continue;
    seen.add(key);
    result.push(element);
  }
  return result;
}
