import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { refusal, shown } from './refusal.ts';

/** A text that may be an object: what is written in braces. */
export function looksLikeObject(text: string): boolean {
  return /^\s*\{/.test(text);
}

/**
 * The object that an argument holds: JSON, or JSON with single quotes and bare keys (redis.md 4.2).
 * @throws DatabaseError `IllegalArgument`
 */
export function objectOf(text: string): ValueMap {
  const value = parsed(text);
  if (isMap(value)) return value;
  throw refusal(`expected a JSON object, not ${shown(text)}`);
}

/** The list that a composite key is. @throws DatabaseError `IllegalArgument` */
export function listOf(text: string): readonly Value[] {
  const value = parsed(text);
  if (Array.isArray(value)) return value;
  throw refusal(`the key of several properties is a JSON array, not ${shown(text)}`);
}

function parsed(text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    const strict = strictForm(text);
    if (strict === undefined || !(error instanceof DatabaseError)) throw error;
    try {
      return parseJson(strict);
    } catch {
      // The places of the first error are those of the text.
      throw error;
    }
  }
}

const token =
  /"(?:[^"\\]|\\.)*"|'((?:[^'\\]|\\.)*)'|([A-Za-z_$][\w$-]*)(?=\s*:)|[^"'A-Za-z_$]+|[A-Za-z_$][\w$-]*/gsy;

/** The text with its single quotes doubled and its bare keys quoted; undefined when there is nothing to change. */
function strictForm(text: string): string | undefined {
  let strict = '';
  token.lastIndex = 0;
  let end = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [whole, single, key] = match;
    if (single !== undefined) strict += doubleQuoted(single);
    else strict += key === undefined ? whole : JSON.stringify(key);
    end = token.lastIndex;
  }
  return end < text.length || strict === text ? undefined : strict;
}

/** The inside of a text in single quotes as a text in double ones. */
function doubleQuoted(inside: string): string {
  const text = inside.replace(/\\'|"/g, (part) => (part === '"' ? '\\"' : "'"));
  return `"${text}"`;
}
