import { findLastText, findText } from '#core/text/find-text.ts';

/**
 * Texts by their characters, that is code points, as LIKE and the bounds of properties count them (sql.md 6.4, 13.6). Nothing
 * here takes a surrogate pair apart: half a pair cannot be stored (limits.md 12).
 * Cost: one search for surrogates, and a walk through the text when there are some.
 */

const surrogates = /[\ud800-\udfff]/;

/** Number of characters. */
export function characterCount(text: string): number {
  return surrogates.test(text) ? charactersBefore(text, text.length) : text.length;
}

/** The character at a position from 0; null outside. */
export function characterAt(text: string, position: number): string | null {
  if (position < 0) return null;
  const at = unitOf(text, position);
  const code = text.codePointAt(at);
  return code === undefined ? null : String.fromCodePoint(code);
}

/** The characters from one position to another one, exclusive; positions beyond the end are the end. */
export function charactersBetween(text: string, from: number, to: number): string {
  if (from >= to) return '';
  if (from >= text.length) return '';
  if (!surrogates.test(text)) return text.slice(from, to);
  const start = advanced(text, 0, from);
  return text.slice(start, to >= text.length ? text.length : advanced(text, start, to - from));
}

/** The last characters of a text, all of them when there are not as many. */
export function lastCharacters(text: string, count: number): string {
  if (count >= text.length) return text;
  if (!surrogates.test(text)) return text.slice(text.length - count);
  let unit = text.length;
  for (let left = count; left > 0 && unit > 0; left -= 1)
    unit -= (text.charCodeAt(unit - 1) & 0xfc00) === 0xdc00 ? 2 : 1;
  return text.slice(unit);
}

/** Where `sought` stands first at or behind a position; -1 when nowhere. */
export function positionOf(text: string, sought: string, from: number): number {
  return positionOfUnit(text, findText(text, sought, unitOf(text, Math.max(from, 0))));
}

/** Where `sought` stands last at or before a position; -1 when nowhere. */
export function lastPositionOf(text: string, sought: string, from: number): number {
  return from < 0 ? -1 : positionOfUnit(text, findLastText(text, sought, unitOf(text, from)));
}

/** The UTF-16 unit at which the character of a position from 0 begins. */
function unitOf(text: string, position: number): number {
  if (position >= text.length) return text.length;
  return surrogates.test(text) ? advanced(text, 0, position) : position;
}

/** The unit so many characters behind the beginning of another one. */
function advanced(text: string, from: number, count: number): number {
  let unit = from;
  for (let left = count; left > 0 && unit < text.length; left -= 1)
    unit += isFirstHalf(text, unit) ? 2 : 1;
  return Math.min(unit, text.length);
}

function positionOfUnit(text: string, unit: number): number {
  return unit <= 0 || !surrogates.test(text) ? unit : charactersBefore(text, unit);
}

function charactersBefore(text: string, end: number): number {
  let count = 0;
  for (let unit = 0; unit < end; unit += isFirstHalf(text, unit) ? 2 : 1) count += 1;
  return count;
}

/** There are whole pairs only, so that the second half need not be looked at. */
function isFirstHalf(text: string, unit: number): boolean {
  return (text.charCodeAt(unit) & 0xfc00) === 0xd800;
}
