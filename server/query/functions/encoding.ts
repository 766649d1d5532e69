import { createHash } from 'node:crypto';
import { textOf } from '#core/text-form.ts';
import type { Value } from '#core/value.ts';
import type { ScalarFunction } from '../evaluate/function-definition.ts';
import { describe, refusal, textArgument, wordArgument } from './arguments.ts';
import { boundedText, requireBytes } from './bounds.ts';
import { method, nullSafe } from './define.ts';
import { withoutMarks } from './namespaced/text-case.ts';
import { replacePattern } from './regular-expression.ts';

/** Bytes as text, text as bytes, and digests (sql-functions.md 3, `.hash` of 11.2). */
export const encodingFunctions: readonly ScalarFunction[] = [
  nullSafe('encode(v, fmt)', [2, 2], (args, context) => {
    const format = wordArgument(args[1], 'encode()', encodings);
    const value = args[0] as Value;
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    if (!(bytes instanceof Uint8Array)) return null;
    requireBytes(Math.ceil(bytes.length / 3) * 4, context);
    return asBuffer(bytes).toString(format);
  }),
  nullSafe('decode(text, fmt)', [2, 2], (args) => {
    const format = wordArgument(args[1], 'decode()', encodings);
    return decoded(args[0] as Value, format);
  }),
];

export const encodingMethods: readonly ScalarFunction[] = [
  method('hash([alg])', [0, 1], (args, context) => {
    const algorithm = args[1] === undefined ? 'SHA-256' : textArgument(args[1], 'hash()');
    const value = args[0] as Value;
    const content = value instanceof Uint8Array ? value : textOf(value, context.formats);
    return digest(content, algorithm, 'hash()').toUpperCase();
  }),
  method('normalize([form [, regex]])', [0, 2], (args, context) => {
    const form = wordArgument(args[1] ?? 'NFD', 'normalize()', ['NFD', 'NFC', 'NFKD', 'NFKC']);
    const text = textOf(args[0] as Value, context.formats).normalize(form);
    const expression = args[2] ?? null;
    if (expression === null) return boundedText(withoutMarks(text), context);
    return replacePattern(text, textArgument(expression, 'normalize()'), '', context);
  }),
];

const encodings = ['base64', 'base64url'] as const;

const alphabets = {
  base64: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/,
  base64url: /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?$/,
} as const;

function decoded(value: Value, format: 'base64' | 'base64url'): Uint8Array {
  const text = value instanceof Uint8Array ? asBuffer(value).toString('latin1') : value;
  if (typeof text !== 'string') throw refusal(`decode() requires a text, not ${describe(value)}`);
  if (!alphabets[format].test(text)) throw refusal(`decode(): ${describe(text)} is not ${format}`);
  return new Uint8Array(Buffer.from(text, format));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** By name without punctuation, since `SHA-256` and `SHA256` are both common. */
const algorithms: ReadonlyMap<string, string> = new Map([
  ['MD5', 'md5'],
  ['SHA', 'sha1'],
  ['SHA1', 'sha1'],
  ['SHA224', 'sha224'],
  ['SHA256', 'sha256'],
  ['SHA384', 'sha384'],
  ['SHA512', 'sha512'],
  ['SHA512224', 'sha512-224'],
  ['SHA512256', 'sha512-256'],
  ['SHA3224', 'sha3-224'],
  ['SHA3256', 'sha3-256'],
  ['SHA3384', 'sha3-384'],
  ['SHA3512', 'sha3-512'],
]);

/**
 * Lower-case hex.
 * @throws DatabaseError `IllegalArgument` for an unknown algorithm
 */
export function digest(content: string | Uint8Array, algorithm: string, what: string): string {
  const name = algorithms.get(algorithm.toUpperCase().replace(/[-_/]/g, ''));
  if (name === undefined)
    throw refusal(
      `${what}: unknown algorithm '${algorithm.slice(0, 40)}'; use MD5, SHA-1, SHA-256, SHA-384, SHA-512 or SHA3-256`,
    );
  return createHash(name).update(content).digest('hex');
}
