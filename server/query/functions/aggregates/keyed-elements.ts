import { type ValueKey, valueKey } from '#core/equality.ts';
import { isList, type Value } from '#core/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { approximateBytes } from '../../evaluate/held-bytes.ts';
import { requireElements } from '../bounds.ts';

/** What an entry of a hash table costs beside key and value. */
export const bytesPerKey = 48;

/** What a kept element costs a statement's memory account: its place, and the value, which nobody else keeps. */
export function bytesOfElement(value: Value): number {
  return 16 + (typeof value === 'number' ? 0 : approximateBytes(value));
}

/** Distinct values in the order in which they came; nulls are never among them. */
export class KeyedElements {
  readonly #what: string;
  readonly #elements = new Map<ValueKey, Value>();

  constructor(what: string) {
    this.#what = what;
  }

  /** The elements of a list, or the value itself. */
  addAll(value: Value, context: EvaluationContext): void {
    if (!isList(value)) this.add(value, context);
    else for (let i = 0; i < value.length; i++) this.add(value[i] as Value, context);
  }

  /** @throws DatabaseError `IllegalArgument` above `queryMaxHeapElementsAllowedPerOp` */
  add(element: Value, context: EvaluationContext): void {
    if (element === null) return;
    const key = valueKey(element);
    if (this.#elements.has(key)) return;
    requireElements(this.#elements.size + 1, this.#what, context);
    context.memory.reserve(bytesPerKey + bytesOfElement(element));
    this.#elements.set(key, element);
  }

  removeAll(value: Value): void {
    if (!isList(value)) this.remove(value);
    else for (let i = 0; i < value.length; i++) this.remove(value[i] as Value);
  }

  /** True when it was there. */
  remove(element: Value): boolean {
    return this.#elements.delete(valueKey(element));
  }

  has(element: Value): boolean {
    return this.#elements.has(valueKey(element));
  }

  keepOnly(others: KeyedElements): void {
    for (const key of this.#elements.keys())
      if (!others.#elements.has(key)) this.#elements.delete(key);
  }

  values(): readonly Value[] {
    return [...this.#elements.values()];
  }
}
