import { compareDecimals, decimalToNumber, exactDecimalOfDouble } from '#core/value/decimal.ts';
import type { Decimal } from '#core/value/decimal.ts';
import type { Rid } from '#core/value/rid.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import { componentCut } from '#storage/format/ordered-key.ts';
import type { IndexCursor } from '#transaction/read/read-view.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import type { KeyComponent } from './index-key.ts';

/**
 * How far the order of keys is that of their values (`storage/format/ordered-key.ts`): always; but for long texts, whose keys are cut;
 * or also but for decimals between two doubles, which share a key.
 */
export type KeyPrecision = 'exact' | 'cut' | 'rounded';

export function keyPrecisionOf(components: readonly KeyComponent[]): KeyPrecision {
  if (components.some(({ type }) => type === 'DECIMAL')) return 'rounded';
  return components.some(({ type }) => type === 'STRING' || type === 'BINARY') ? 'cut' : 'exact';
}

/** Characters that every cut key holds of its text, whatever bytes they need. */
const cutLength = Math.floor(componentCut / 4);
/** Whole numbers below this have keys of their own. */
const wholeMax = 2 ** 60;

export interface RunEntry {
  readonly rid: Rid;
  /** Where it stands in scan order (`CreatedRecords.placeOf`). */
  readonly place: Rid;
  readonly values: readonly Value[];
}

const entryCountMax = 1_024;
const bytesMax = 1024 * 1024;

/**
 * Neighbours in an index that may stand out of order, since their keys tell too little. They are gathered and sorted by their
 * values; equal ones stand in scan order.
 */
export class KeyRun {
  #entries: RunEntry[] = [];
  #bytes = 0;
  #given = 0;
  #isSorted = false;

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** It is sorted and gives its entries. */
  get isSorted(): boolean {
    return this.#isSorted;
  }

  /** More than one turn may sort. */
  get isTooLarge(): boolean {
    return this.#entries.length > entryCountMax || this.#bytes > bytesMax;
  }

  /** Whether the next entry may belong in front of one of these. */
  takes(values: readonly Value[]): boolean {
    const last = this.#entries.at(-1);
    return last === undefined || areClose(last.values, values);
  }

  add(entry: RunEntry): void {
    this.#entries.push(entry);
    this.#bytes += approximateBytes(entry.values);
  }

  sort(order: 'ascending' | 'descending'): void {
    const sign = order === 'ascending' ? 1 : -1;
    this.#entries.sort((a, b) => compareKeys(a.values, b.values) * sign || a.place - b.place);
    this.#isSorted = true;
  }

  /** The next record; after the last one the run is empty again. */
  take(): Rid | undefined {
    const entry = this.#entries[this.#given];
    this.#given += 1;
    if (entry === undefined) this.clear();
    return entry?.rid;
  }

  clear(): void {
    this.#entries = [];
    this.#bytes = 0;
    this.#given = 0;
    this.#isSorted = false;
  }
}

/** The values of the current entry when its key does not tell where it belongs among its neighbours; undefined when it does. */
export function misleadingKey(
  cursor: IndexCursor,
  precision: KeyPrecision,
): readonly Value[] | undefined {
  if (precision === 'exact') return undefined;
  const isCut = cursor.keyBytes > componentCut;
  if (!isCut && precision === 'cut') return undefined;
  const values = cursor.keyValues();
  if (values.length === 0) return undefined;
  return isCut || values.some(isRounded) ? values : undefined;
}

function isRounded(value: Value): boolean {
  if (kindOf(value) !== 'decimal') return false;
  const decimal = value as Decimal;
  const nearest = decimalToNumber(decimal);
  const exact = exactDecimalOfDouble(nearest);
  if (exact === undefined) return true;
  if (decimal.scale === 0 && Math.abs(nearest) < wholeMax) return false;
  return compareDecimals(exact, decimal) !== 0;
}

/** Whether both keys may be written alike, or cut where they are alike, in the first component that tells them apart. */
function areClose(a: readonly Value[], b: readonly Value[]): boolean {
  for (let at = 0; at < a.length; at += 1) {
    const [one, other] = [a[at] as Value, b[at] as Value];
    if (compareValues(one, other) === 0) continue;
    return startAlike(one, other) || areNeighbours(one, other);
  }
  return true;
}

function startAlike(a: Value, b: Value): boolean {
  if (typeof a === 'string' && typeof b === 'string')
    return a.length >= cutLength && a.slice(0, cutLength) === b.slice(0, cutLength);
  if (!(a instanceof Uint8Array && b instanceof Uint8Array)) return false;
  return (
    a.length >= cutLength &&
    Buffer.compare(a.subarray(0, cutLength), b.subarray(0, cutLength)) === 0
  );
}

/** No double lies between them, or at most one. */
function areNeighbours(a: Value, b: Value): boolean {
  if (kindOf(a) !== 'decimal' || kindOf(b) !== 'decimal') return false;
  const [x, y] = [decimalToNumber(a as Decimal), decimalToNumber(b as Decimal)];
  if (x === y) return true;
  const distance = Math.abs(x - y);
  return distance <= Math.max(Math.abs(x), Math.abs(y)) * Number.EPSILON || distance < 2 ** -1021;
}

function compareKeys(a: readonly Value[], b: readonly Value[]): number {
  for (let at = 0; at < a.length; at += 1) {
    const order = compareValues(a[at] as Value, b[at] as Value);
    if (order !== 0) return order;
  }
  return 0;
}
