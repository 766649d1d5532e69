import { decimalToNumber } from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Link, StoredRecord } from '#core/value/record.ts';
import { parseRid, type Rid } from '#core/value/rid.ts';
import {
  type Float,
  isList,
  isMap,
  kindOf,
  type Value,
  type ValueList,
} from '#core/value/value.ts';

/** Reading arguments: numbers, texts, collections, and the refusals when they are something else. */

export function refusal(message: string): DatabaseError {
  return new DatabaseError('IllegalArgument', message);
}

/** `'abc' (string)`: a value and its kind for error messages, cut to a readable length. */
export function describe(value: Value): string {
  const kind = kindOf(value);
  switch (kind) {
    case 'string':
      return `'${shortened(value as string)}' (string)`;
    case 'integer':
    case 'boolean':
      return `${String(value)} (${kind})`;
    case 'double':
      return `${toDouble(value)} (double)`;
    case 'null':
      return 'null';
    case 'bytes':
      return 'bytes';
    default:
      return kind === 'embedded' ? 'an embedded document' : `a ${kind}`;
  }
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}

/** Integer, double or decimal. Cost: one to three type tests. */
export function isNumeric(value: Value): boolean {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return true;
    case 'object': {
      if (value === null) return false;
      const kind = (value as { valueKind?: string }).valueKind;
      return kind === 'float' || kind === 'decimal';
    }
    default:
      return false;
  }
}

/** The nearest double of a value that `isNumeric`. */
export function toDouble(value: Value): number {
  switch (typeof value) {
    case 'number':
      return value;
    case 'bigint':
      return Number(value);
    default: {
      const number = value as Float | Parameters<typeof decimalToNumber>[0];
      return number.valueKind === 'float' ? number.number : decimalToNumber(number);
    }
  }
}

const numberShape = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/;

/**
 * A number, or text that is one, as a double. `what` names the function and argument.
 * @throws DatabaseError `IllegalArgument` for anything else, null included
 */
export function numberArgument(value: Value | undefined, what: string): number {
  if (typeof value === 'number') return value;
  if (value !== undefined && isNumeric(value)) return toDouble(value);
  if (typeof value === 'string') {
    const text = value.trim();
    if (text.length <= 400 && numberShape.test(text)) return Number(text);
  }
  throw refusal(`${what} requires a number, not ${describe(value ?? null)}`);
}

/**
 * As `numberArgument`, the fraction dropped; beyond the safe integers it saturates, which is past every length and index.
 * @throws DatabaseError `IllegalArgument`, for NaN too
 */
export function integerArgument(value: Value | undefined, what: string): number {
  const number = numberArgument(value, what);
  if (Number.isNaN(number)) throw refusal(`${what} requires an integer, not NaN`);
  const whole = Math.trunc(number) + 0;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, whole));
}

/**
 * As `integerArgument` where the value itself counts, as that of a moment: what is beyond the safe integers is refused.
 * @throws DatabaseError `IllegalArgument`
 */
export function exactIntegerArgument(value: Value | undefined, what: string): number {
  return requireExact(Math.trunc(numberArgument(value, what)) + 0, what);
}

/** @throws DatabaseError `IllegalArgument` for a result that is no safe integer */
export function requireExact(whole: number, what: string): number {
  if (Number.isSafeInteger(whole)) return whole;
  throw refusal(`${what}: ${whole} is out of range`);
}

/** @throws DatabaseError `IllegalArgument` for anything but text */
export function textArgument(value: Value | undefined, what: string): string {
  if (typeof value === 'string') return value;
  throw refusal(`${what} requires a text, not ${describe(value ?? null)}`);
}

/** @throws DatabaseError `IllegalArgument` for anything but a boolean */
export function booleanArgument(value: Value | undefined, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw refusal(`${what} requires a boolean, not ${describe(value ?? null)}`);
}

/** @throws DatabaseError `IllegalArgument` for anything but a list */
export function listArgument(value: Value | undefined, what: string): ValueList {
  if (value !== undefined && isList(value)) return value;
  throw refusal(`${what} requires a list, not ${describe(value ?? null)}`);
}

/** @throws DatabaseError `IllegalArgument` for anything but a map */
export function mapArgument(value: Value | undefined, what: string): ReadonlyMap<string, Value> {
  if (value !== undefined && isMap(value)) return value;
  throw refusal(`${what} requires a map, not ${describe(value ?? null)}`);
}

/**
 * A trailing map of options, checked strictly: keys are case-sensitive and unknown ones are refused by name
 * (sql-functions.md 0.5).
 */
export function optionsArgument(
  value: Value | undefined,
  what: string,
  allowed: readonly string[],
): ReadonlyMap<string, Value> {
  const options = mapArgument(value, `${what} options`);
  for (const key of options.keys())
    if (!allowed.includes(key))
      throw refusal(`${what}: unknown option '${shortened(key)}'; allowed: ${allowed.join(', ')}`);
  return options;
}

/** One of the words, in any case; the canonical spelling comes back. */
export function wordArgument<Word extends string>(
  value: Value | undefined,
  what: string,
  words: readonly Word[],
): Word {
  const text = textArgument(value, what).toUpperCase();
  const word = words.find((candidate) => candidate.toUpperCase() === text);
  if (word === undefined)
    throw refusal(`${what}: '${shortened(String(value))}' is none of ${words.join(', ')}`);
  return word;
}

/** The record id of a link, a record or RID-shaped text (sql.md 1.2); undefined for anything else. */
export function ridArgument(value: Value): Rid | undefined {
  if (typeof value === 'string')
    return value.length > 3 && value.charCodeAt(0) === 35 ? parseRid(value) : undefined;
  if (value === null || typeof value !== 'object') return undefined;
  const tagged = value as Link | StoredRecord;
  return tagged.valueKind === 'link' || tagged.valueKind === 'record' ? tagged.rid : undefined;
}
