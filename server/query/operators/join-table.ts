import { valueKey, type ValueKey } from '#core/equality.ts';
import { kindOf, type Value } from '#core/value.ts';

/** Bytes that one row costs here, about. */
export const joinEntryBytes = 64;

/** Values of one class are equal in SQL exactly when their keys are; across classes conversions may make them equal. */
type KeyClass = 'number' | 'text' | 'boolean' | 'record' | 'other';

const classes: readonly KeyClass[] = ['number', 'text', 'boolean', 'record', 'other'];

/**
 * Finds rows by the value of one expression, for joins: `candidates` are all rows that can be equal to a value by the rules
 * of SQL (sql.md 6.3), in their order, and few others, so the comparison must be made on each of them.
 */
export class JoinTable {
  readonly #byKey = new Map<ValueKey, number[]>();
  readonly #ofClass = new Map<KeyClass, number[]>();

  /** Rows come in ascending order. Null equals nothing. */
  add(row: number, value: Value): void {
    if (value === null) return;
    const found = classOf(value);
    const ofClass = this.#ofClass.get(found);
    if (ofClass === undefined) this.#ofClass.set(found, [row]);
    else ofClass.push(row);
    if (found === 'other') return;
    const key = valueKey(value);
    const rows = this.#byKey.get(key);
    if (rows === undefined) this.#byKey.set(key, [row]);
    else rows.push(row);
  }

  candidates(value: Value): readonly number[] {
    if (value === null) return none;
    const wanted = classOf(value);
    const lists: (readonly number[])[] = [];
    for (const name of classes) {
      const rows = this.#ofClass.get(name);
      if (rows === undefined) continue;
      if (name !== wanted || wanted === 'other') lists.push(rows);
      else lists.push(this.#byKey.get(valueKey(value)) ?? none);
    }
    if (lists.length === 1) return lists[0] as readonly number[];
    return lists.flat().sort((a, b) => a - b);
  }

  clear(): void {
    this.#byKey.clear();
    this.#ofClass.clear();
  }
}

const none: readonly number[] = [];

function classOf(value: Value): KeyClass {
  if (typeof value === 'number') return isExact(value) ? 'number' : 'other';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  switch (kindOf(value)) {
    case 'double':
      return isExact((value as { readonly number: number }).number) ? 'number' : 'other';
    case 'record':
    case 'link':
      return 'record';
    default:
      return 'other';
  }
}

/** Beyond 2^53 integers and doubles meet after rounding, and NaN equals nothing. */
function isExact(number: number): boolean {
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER;
}
