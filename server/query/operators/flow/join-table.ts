import { valueKey, type ValueKey } from '#core/value/equality.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import { textBytes } from '../../evaluate/turns/held-bytes.ts';

/** Places of a row in the tables below, and of its key. */
const rowBytes = 72;

/** Values of one class are equal in SQL exactly when their keys are; across classes conversions may make them equal. */
type KeyClass = 'number' | 'text' | 'boolean' | 'record' | 'other';

const classes: readonly KeyClass[] = ['number', 'text', 'boolean', 'record', 'other'];

/**
 * Finds rows by the value of one expression, for joins: `candidates` are all rows that can be equal to a value by the rules
 * of SQL (sql.md 6.3), in their order, and few others, so the comparison must be made on each of them. Rows of one key are a
 * chain, from the last one back: a list for each key would cost several times as much when keys are unique.
 */
export class JoinTable {
  readonly #lastByKey = new Map<ValueKey, number>();
  /** By row: the row before it with the same key, or -1. */
  #previous: number[] = [];
  readonly #ofClass = new Map<KeyClass, number[]>();

  /** Rows come in ascending order, each once. Null equals nothing. @returns bytes that keeping the entry costs, about */
  add(row: number, value: Value): number {
    while (this.#previous.length <= row) this.#previous.push(-1);
    if (value === null) return 8;
    const found = classOf(value);
    const ofClass = this.#ofClass.get(found);
    if (ofClass === undefined) this.#ofClass.set(found, [row]);
    else ofClass.push(row);
    if (found === 'other') return rowBytes;
    const key = valueKey(value);
    const last = this.#lastByKey.get(key);
    if (last !== undefined) this.#previous[row] = last;
    this.#lastByKey.set(key, row);
    return typeof key === 'string' ? rowBytes + textBytes(key) : rowBytes;
  }

  candidates(value: Value): readonly number[] {
    if (value === null) return none;
    const wanted = classOf(value);
    const lists: (readonly number[])[] = [];
    for (const name of classes) {
      const rows = this.#ofClass.get(name);
      if (rows === undefined) continue;
      lists.push(name !== wanted || wanted === 'other' ? rows : this.#rowsOf(valueKey(value)));
    }
    if (lists.length === 1) return lists[0] as readonly number[];
    return lists.flat().sort((a, b) => a - b);
  }

  #rowsOf(key: ValueKey): readonly number[] {
    const last = this.#lastByKey.get(key);
    if (last === undefined) return none;
    const rows: number[] = [];
    for (let row = last; row >= 0; row = this.#previous[row] as number) rows.push(row);
    return rows.reverse();
  }

  clear(): void {
    this.#lastByKey.clear();
    this.#previous = [];
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
