import { valueKey } from '#core/value/equality.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import { ValueTable } from '../../evaluate/comparison/value-table.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { requireElements } from '../number/bounds.ts';
import { isLookDue, unitsPerLook } from '../list/distinct.ts';

/** What an entry of a hash table costs beside key and value. */
export const bytesPerKey = 48;

/** What a kept element costs a statement's memory account: its place, and the value, which nobody else keeps. */
export function bytesOfElement(value: Value): number {
  return 16 + (typeof value === 'number' ? 0 : approximateBytes(value));
}

/** Distinct values in the order in which they came; nulls are never among them. */
export class KeyedElements {
  readonly #what: string;
  readonly #table = new ValueTable();
  /** By their numbers in the table; null for what was removed. */
  readonly #elements: Value[] = [];
  #size = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** The elements of a list, or the value itself. */
  addAll(value: Value, context: EvaluationContext): void {
    if (!isList(value)) this.add(value, context);
    else for (let i = 0; i < value.length; i++) this.add(value[i] as Value, context);
  }

  *addAllInTurns(value: Value, context: EvaluationContext, meter: WorkMeter): PausingWork<void> {
    if (!isList(value)) this.add(value, context);
    else
      for (let i = 0; i < value.length; i++) {
        const element = value[i] as Value;
        this.add(element, context);
        if (isLookDue(i, element) && meter.isSpent(unitsPerLook)) yield;
      }
  }

  /**
   * One that was removed comes back to its place.
   * @throws DatabaseError `IllegalArgument` above `queryMaxHeapElementsAllowedPerOp`
   */
  add(element: Value, context: EvaluationContext): void {
    if (element === null) return;
    const place = this.#table.add(valueKey(element));
    if (place < this.#elements.length && this.#elements[place] !== null) return;
    requireElements(this.#size + 1, this.#what, context);
    context.memory.reserve(bytesPerKey + bytesOfElement(element));
    this.#elements[place] = element;
    this.#size += 1;
  }

  removeAll(value: Value): void {
    if (!isList(value)) this.#remove(value);
    else for (let i = 0; i < value.length; i++) this.#remove(value[i] as Value);
  }

  *removeAllInTurns(value: Value, meter: WorkMeter): PausingWork<void> {
    if (!isList(value)) this.#remove(value);
    else
      for (let i = 0; i < value.length; i++) {
        const element = value[i] as Value;
        this.#remove(element);
        if (isLookDue(i, element) && meter.isSpent(unitsPerLook)) yield;
      }
  }

  #remove(element: Value): void {
    const place = this.#table.find(valueKey(element));
    if (place < 0 || this.#elements[place] === null) return;
    this.#elements[place] = null;
    this.#size -= 1;
  }

  /** Removes what is not in a list, or is not the value itself. */
  keepOnly(value: Value): void {
    const isKept = new Uint8Array(this.#elements.length);
    for (const element of isList(value) ? value : [value]) this.#mark(element, isKept);
    this.#keepMarked(isKept);
  }

  *keepOnlyInTurns(value: Value, meter: WorkMeter): PausingWork<void> {
    const isKept = new Uint8Array(this.#elements.length);
    const list = isList(value) ? value : [value];
    for (let i = 0; i < list.length; i += 1) {
      const element = list[i] as Value;
      this.#mark(element, isKept);
      if (isLookDue(i, element) && meter.isSpent(unitsPerLook)) yield;
    }
    this.#keepMarked(isKept);
  }

  #mark(element: Value, isKept: Uint8Array): void {
    const place = element === null ? -1 : this.#table.find(valueKey(element));
    if (place >= 0) isKept[place] = 1;
  }

  #keepMarked(isKept: Uint8Array): void {
    for (let place = 0; place < isKept.length; place += 1) {
      if (isKept[place] === 1 || this.#elements[place] === null) continue;
      this.#elements[place] = null;
      this.#size -= 1;
    }
  }

  values(): readonly Value[] {
    if (this.#size === this.#elements.length) return this.#elements.slice();
    return this.#elements.filter((element) => element !== null);
  }
}
