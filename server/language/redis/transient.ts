import { parseDouble } from '#core/value/number-text.ts';
import { int64Min, integer } from '#core/value/value.ts';
import type { TransientCommand } from '#query/algebra/commands.ts';
import { requireInteger } from './integers.ts';
import { refusal } from './refusal.ts';

/** Commands on transient keys, from their words (the name first), whose number has been checked (redis.md 3). */

type Words = readonly string[];

const expiries: ReadonlySet<string> = new Set(['EX', 'PX', 'EXAT', 'PXAT', 'KEEPTTL']);

/** @throws DatabaseError `IllegalArgument` */
export function readSet(words: Words): TransientCommand {
  let only: 'absent' | 'present' | undefined;
  let givesOld = false;
  for (let at = 3; at < words.length; at += 1) {
    const option = wordAt(words, at).toUpperCase();
    if (expiries.has(option))
      throw refusal(`unsupported SET option '${option}': transient keys have no expiry`);
    const condition = option === 'NX' ? 'absent' : option === 'XX' ? 'present' : undefined;
    if (condition === undefined && option !== 'GET') throw refusal('syntax error');
    if (condition === undefined) givesOld = true;
    else if (only === undefined || only === condition) only = condition;
    else throw refusal('syntax error');
  }
  return { kind: 'set', key: wordAt(words, 1), value: wordAt(words, 2), only, givesOld };
}

export function readGet(words: Words): TransientCommand {
  return { kind: 'get', key: wordAt(words, 1) };
}

export function readGetDel(words: Words): TransientCommand {
  return { kind: 'take', key: wordAt(words, 1) };
}

export function readExists(words: Words): TransientCommand {
  return { kind: 'exists', keys: words.slice(1) };
}

/** INCR and DECR. */
export function readStep(by: 1 | -1): (words: Words) => TransientCommand {
  return (words) => ({ kind: 'add', key: wordAt(words, 1), by });
}

export function readIncrBy(words: Words): TransientCommand {
  return { kind: 'add', key: wordAt(words, 1), by: integer(requireInteger(wordAt(words, 2))) };
}

/** The negative of -2^63 is no 64-bit integer. */
export function readDecrBy(words: Words): TransientCommand {
  const by = requireInteger(wordAt(words, 2));
  if (by === int64Min) throw refusal('decrement would overflow');
  return { kind: 'add', key: wordAt(words, 1), by: integer(-by) };
}

export function readIncrByFloat(words: Words): TransientCommand {
  const by = wordAt(words, 2);
  if (parseDouble(by) === undefined) throw refusal('value is not a valid float');
  return { kind: 'addFloat', key: wordAt(words, 1), by };
}

export function wordAt(words: Words, at: number): string {
  return words[at] ?? '';
}
