import { compareExtended, isExtended, keyOfExtended } from './extended-value.ts';
import { compareDecimals, decimalText, decimalToNumber, exactDecimalOfDouble } from './decimal.ts';
import { normalizeDecimal } from './decimal.ts';
import type { Decimal } from './decimal.ts';
import type { EmbeddedDocument, Value, ValueMap } from './value.ts';
import { integer, int64Max, int64Min } from './value.ts';

/**
 * Strict value equality: what DISTINCT, GROUP BY, sets and `CASE x WHEN y` mean by equal, and keys for hash tables that
 * agree with it.
 *
 * Numbers are equal by value whatever their type (1, 1.0 and decimal 1.00; a double is what `exactDecimalOfDouble` says);
 * NaN equals NaN, -0 equals 0. Records and links are equal by record id. Lists are equal element-wise, maps whatever the
 * order of their keys, embedded documents by type and properties. Values of different kinds are never equal. Null equals
 * null here; where SQL wants it unknown, the caller looks first.
 */
export function valuesEqual(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  if (typeof a === 'number' && typeof b === 'number') return Number.isNaN(a) && Number.isNaN(b);
  if (a === null || b === null || typeof a === 'boolean' || typeof b === 'boolean') return false;
  if (Array.isArray(a)) return Array.isArray(b) && listsEqual(a, b);
  if (a instanceof Map) return b instanceof Map && mapsEqual(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && bytesEqual(a, b);
  if (Array.isArray(b) || b instanceof Map || b instanceof Uint8Array) return false;
  const x = numericKey(a);
  if (x !== undefined) {
    const y = numericKey(b);
    return x === y || (typeof x === 'number' && Number.isNaN(x) && Number.isNaN(y as number));
  }
  return taggedEqual(a as Tagged, b as Tagged);
}

type Tagged = Exclude<
  Value,
  null | boolean | number | bigint | string | Uint8Array | readonly Value[] | ValueMap
>;

function taggedEqual(a: Tagged, b: Tagged): boolean {
  if (typeof b !== 'object') return false;
  switch (a.valueKind) {
    case 'link':
    case 'record':
      return (b.valueKind === 'link' || b.valueKind === 'record') && a.rid === b.rid;
    case 'date':
      return b.valueKind === 'date' && a.epochDay === b.epochDay;
    case 'datetime':
      return b.valueKind === 'datetime' && a.epochMs === b.epochMs && a.nanosOfMs === b.nanosOfMs;
    case 'duration':
      return b.valueKind === 'duration' && a.seconds === b.seconds && a.nanos === b.nanos;
    case 'embedded':
      return (
        b.valueKind === 'embedded' &&
        a.typeName === b.typeName &&
        mapsEqual(a.properties, b.properties)
      );
    case 'float':
    case 'decimal':
      return false; // numbers were compared by their keys
    default:
      return isExtended(b) && compareExtended(a, b) === 0;
  }
}

function listsEqual(a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!valuesEqual(a[i] as Value, b[i] as Value)) return false;
  return true;
}

function mapsEqual(a: ValueMap, b: ValueMap): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !valuesEqual(value, other)) return false;
  }
  return true;
}

function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** A key for `Map` and `Set`: two values have the same key exactly when `valuesEqual`. */
export type ValueKey = string | number | bigint | boolean | null;

/**
 * The hash table key of a value. Plain text (the common case) is its own key at no cost, and so are numbers; the keys of
 * other kinds start with U+0000, and so does the key of text that starts with it.
 */
export function valueKey(value: Value): ValueKey {
  if (typeof value === 'string') return value.charCodeAt(0) === 0 ? `\u0000s${value}` : value;
  if (typeof value === 'number') return value === 0 ? 0 : value;
  if (value === null || typeof value === 'boolean') return value;
  const number = numericKey(value);
  if (number !== undefined) return number;
  return `\u0000${encode(value)}`;
}

/** The key of several values as one, for grouping by a list of expressions. */
export function valuesKey(values: readonly Value[]): ValueKey {
  if (values.length === 0) return null;
  if (values.length === 1) return valueKey(values[0] as Value);
  return `\u0000${encode(values)}`;
}

/**
 * One primitive per number: integral values within the safe range as `number`, beyond it as `bigint`, fractions as
 * `number` when a double's shortest text names them, other decimals as their normalized text.
 */
function numericKey(value: Value): number | bigint | string | undefined {
  if (typeof value === 'number') return value === 0 ? 0 : value;
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'object' || value === null || !('valueKind' in value)) return undefined;
  if (value.valueKind === 'float') return doubleKey(value.number);
  return value.valueKind === 'decimal' ? decimalKey(value) : undefined;
}

function doubleKey(n: number): number | bigint | string {
  if (n === 0) return 0;
  return !Number.isInteger(n) || Number.isSafeInteger(n) ? n : integralKey(BigInt(n));
}

function integralKey(n: bigint): number | bigint | string {
  return n >= int64Min && n <= int64Max ? integer(n) : `\u0000n${n}`;
}

function decimalKey(decimal: Decimal): number | bigint | string {
  const normal = normalizeDecimal(decimal);
  if (normal.scale === 0) return integralKey(normal.unscaled);
  const n = decimalToNumber(normal);
  const named = exactDecimalOfDouble(n);
  if (named !== undefined && compareDecimals(named, normal) === 0) return n;
  return `\u0000n${decimalText(normal)}`;
}

/** Text that tells all values apart: a kind letter, then the content; texts carry their length. */
function encode(value: Value): string {
  if (value === null) return 'z';
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (typeof value === 'boolean') return value ? 't' : 'f';
  const number = numericKey(value);
  if (number !== undefined) return `n${number};`;
  if (Array.isArray(value)) return encodeList(value);
  if (value instanceof Map) return encodeMap(value);
  if (value instanceof Uint8Array)
    return `b${Buffer.from(value).toString('latin1').length}:${Buffer.from(value).toString('latin1')}`;
  return encodeTagged(value as Tagged);
}

function encodeTagged(value: Tagged): string {
  switch (value.valueKind) {
    case 'link':
    case 'record':
      return `#${value.rid};`;
    case 'date':
      return `d${value.epochDay};`;
    case 'datetime':
      return `m${value.epochMs}.${value.nanosOfMs};`;
    case 'duration':
      return `p${value.seconds}.${value.nanos};`;
    case 'embedded':
      return encodeEmbedded(value);
    case 'float':
    case 'decimal':
      return ''; // were encoded as numbers
    default:
      return keyOfExtended(value);
  }
}

function encodeEmbedded(value: EmbeddedDocument): string {
  return `e${value.typeName.length}:${value.typeName}${encodeMap(value.properties)}`;
}

function encodeList(list: readonly Value[]): string {
  let text = '[';
  for (let i = 0; i < list.length; i++) text += encode(list[i] as Value);
  return `${text}]`;
}

function encodeMap(map: ValueMap): string {
  let text = '{';
  for (const key of [...map.keys()].sort()) text += encode(key) + encode(map.get(key) ?? null);
  return `${text}}`;
}
