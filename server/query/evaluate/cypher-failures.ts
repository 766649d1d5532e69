import { type DatabaseError, languageError } from '#core/errors.ts';
import { kindOf, type Value, type ValueKind } from '#core/value/value.ts';

/** Failures of dialect cypher while a statement runs, by the names of its suite (cypher.md 16.2). */

export function typeError(detail: string, text: string): DatabaseError {
  return languageError({ type: 'TypeError', phase: 'runtime', detail }, text);
}

export function argumentError(detail: string, text: string): DatabaseError {
  return languageError({ type: 'ArgumentError', phase: 'runtime', detail }, text);
}

/** `expected a list, not a string` */
export function notA(what: string, value: Value): DatabaseError {
  return typeError('InvalidArgumentType', `expected ${what}, not ${kindName(value)}`);
}

/** A value's kind as the language calls it, with its article. */
export function kindName(value: Value): string {
  if (typeof value === 'object' && value !== null && 'kind' in value) {
    if (value.kind === 'vertex') return 'a node';
    if (value.kind === 'edge') return 'a relationship';
  }
  const kind = kindOf(value);
  const own = ownNames.get(kind);
  if (own !== undefined) return own;
  if (kind === 'double' || kind === 'decimal') return 'a float';
  if (kind === 'null') return 'null';
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** Kinds whose names in the language are others. */
const ownNames: ReadonlyMap<ValueKind, string> = new Map([
  ['localTime', 'a local time'],
  ['zonedTime', 'a zoned time'],
  ['localDateTime', 'a local datetime'],
  ['zonedDateTime', 'a zoned datetime'],
  ['cypherDuration', 'a duration'],
]);

/** An operand where only a boolean may stand. */
export function requireCondition(value: Value): boolean | null {
  if (value === null || typeof value === 'boolean') return value;
  throw notA('a boolean', value);
}
