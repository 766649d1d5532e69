import { int64Max, int64Min } from '#core/value/value.ts';
import { refusal } from './refusal.ts';

const integerShape = /^(?:0|-?[1-9]\d{0,18})$/;

/** A 64-bit integer as it must be written: no sign `+`, blanks or leading zeros. Undefined for anything else. */
export function integerOf(text: string): bigint | undefined {
  if (!integerShape.test(text)) return undefined;
  const n = BigInt(text);
  return n > int64Max || n < int64Min ? undefined : n;
}

/** @throws DatabaseError `IllegalArgument` */
export function requireInteger(text: string): bigint {
  const n = integerOf(text);
  if (n === undefined) throw refusal('value is not an integer or out of range');
  return n;
}
