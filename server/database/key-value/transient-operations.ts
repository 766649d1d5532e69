import { DatabaseError } from '#core/errors.ts';
import type { ByteText } from '#core/text/byte-text.ts';
import {
  addDecimals,
  decimalOfDouble,
  decimalText,
  decimalToNumber,
  normalizeDecimal,
  parseDecimal,
} from '#core/value/decimal.ts';
import { parseDouble } from '#core/value/number-text.ts';
import { int64Max, int64Min, integer } from '#core/value/value.ts';
import { integerOf } from '#language/redis/integers.ts';
import type { Reply, TransientCommand } from '#query/algebra/commands.ts';
import type { Keys, Stored } from './key-value-store.ts';

/** What a command is about to do with a key. */
export type Touch = 'read' | 'write' | 'delete';

/** A key without the name of its database, and the map in which it lives. */
export interface Located {
  readonly keys: Keys;
  readonly key: ByteText;
}

/** Where a key as it was written lives. @throws DatabaseError for keys that the caller may not use */
export type Locate = (written: ByteText, touch: Touch) => Located;

/** Carries out one command, at once and as a whole. @throws DatabaseError, with nothing changed */
export function runTransient(command: TransientCommand, locate: Locate): Reply {
  switch (command.kind) {
    case 'get': {
      const { keys, key } = locate(command.key, 'read');
      return shownValue(keys.get(key));
    }
    case 'set':
      return set(command, locate);
    case 'take': {
      const { keys, key } = locate(command.key, 'delete');
      const old = keys.get(key);
      if (old !== undefined) keys.remove(key);
      return shownValue(old);
    }
    case 'exists':
      return countKeys(command.keys, locate);
    case 'delete':
      return deleteKeys(command.keys, locate);
    case 'add': {
      const { keys, key } = locate(command.key, 'write');
      const value = sumOf(keys.get(key), command.by);
      keys.put(key, value);
      return value;
    }
    default:
      return addFloat(command, locate);
  }
}

/** The key that decides what a command waits for; its others are only looked at. */
export function keysOf(command: TransientCommand): readonly ByteText[] {
  return 'keys' in command ? command.keys : [command.key];
}

function shownValue(value: Stored | undefined): ByteText | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : String(value);
}

function set(command: TransientCommand & { kind: 'set' }, locate: Locate): Reply {
  const { keys, key } = locate(command.key, 'write');
  const { only, givesOld } = command;
  if (only === undefined && !givesOld) {
    keys.put(key, command.value);
    return 'OK';
  }
  const old = keys.get(key);
  const isVetoed = only !== undefined && (only === 'absent') !== (old === undefined);
  if (!isVetoed) keys.put(key, command.value);
  if (givesOld) return shownValue(old);
  return isVetoed ? null : 'OK';
}

function countKeys(written: readonly ByteText[], locate: Locate): number {
  let count = 0;
  for (const one of written) {
    const { keys, key } = locate(one, 'read');
    if (keys.get(key) !== undefined) count += 1;
  }
  return count;
}

function deleteKeys(written: readonly ByteText[], locate: Locate): number {
  const located = written.map((one) => locate(one, 'delete'));
  let count = 0;
  for (const { keys, key } of located) {
    if (keys.get(key) === undefined) continue;
    keys.remove(key);
    count += 1;
  }
  return count;
}

function sumOf(old: Stored | undefined, by: number | bigint): number | bigint {
  if (typeof old === 'number' && typeof by === 'number' && Number.isSafeInteger(old + by))
    return old + by;
  const sum = integerIn(old) + BigInt(by);
  if (sum > int64Max || sum < int64Min) throw refusal('increment or decrement would overflow');
  return integer(sum);
}

function integerIn(value: Stored | undefined): bigint {
  if (value === undefined) return 0n;
  if (typeof value !== 'string') return BigInt(value);
  const n = integerOf(value);
  if (n === undefined) throw refusal('value is not an integer or out of range');
  return n;
}

/**
 * A 64-bit float: the one next to the exact sum, so that 0.1 and 0.2 make 0.3. Printed without an exponent or trailing zeros
 * (redis.md 3, house decision 69).
 */
function addFloat(command: TransientCommand & { kind: 'addFloat' }, locate: Locate): Reply {
  const { keys, key } = locate(command.key, 'write');
  const old = shownValue(keys.get(key)) ?? '0';
  const summands = [old, command.by].map((text) =>
    parseDouble(text) === undefined ? undefined : parseDecimal(text),
  );
  const [before, by] = summands;
  if (before === undefined || by === undefined) throw refusal('value is not a valid float');
  const sum = decimalToNumber(addDecimals(before, by));
  const decimal = Number.isFinite(sum) ? decimalOfDouble(sum) : undefined;
  if (decimal === undefined) throw refusal('increment would produce NaN or Infinity');
  const text = decimalText(normalizeDecimal(decimal));
  keys.put(key, text);
  return text;
}

function refusal(message: string): DatabaseError {
  return new DatabaseError('IllegalArgument', message);
}
