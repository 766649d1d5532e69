import { createHash } from 'node:crypto';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { textOf } from '#core/text/text-form.ts';
import { endOfPiece, textInTurns, unitsOfText } from '#core/text/text-in-turns.ts';
import type { Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, refusal, textArgument, wordArgument } from '../arguments.ts';
import { boundedText, requireBytes } from '../number/bounds.ts';
import { inTurns, method, methodInTurns, nullSafe } from '../define.ts';
import { spelledInTurns } from './text-turns.ts';
import { withoutMarks } from '../namespaced/text-case.ts';
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
  methodInTurns(
    'hash([alg])',
    [0, 1],
    (args, context) => {
      const algorithm = args[1] === undefined ? 'SHA-256' : textArgument(args[1], 'hash()');
      const value = args[0] as Value;
      const content = value instanceof Uint8Array ? value : textOf(value, context.formats);
      return digest(content, algorithm, 'hash()').toUpperCase();
    },
    function* (args, context, meter) {
      const algorithm = args[1] === undefined ? 'SHA-256' : textArgument(args[1], 'hash()');
      const value = args[0] as Value;
      const content =
        value instanceof Uint8Array ? value : yield* textInTurns(value, context.formats, meter);
      return (yield* digestInTurns(content, algorithm, 'hash()', meter)).toUpperCase();
    },
  ),
  inTurns(
    method('normalize([form [, regex]])', [0, 2], (args, context) => {
      const form = wordArgument(args[1] ?? 'NFD', 'normalize()', forms);
      const text = textOf(args[0] as Value, context.formats).normalize(form);
      const expression = args[2] ?? null;
      if (expression === null) return boundedText(withoutMarks(text), context);
      return replacePattern(text, textArgument(expression, 'normalize()'), '', context);
    }),
    function* (args, context, meter) {
      const form = wordArgument(args[1] ?? 'NFD', 'normalize()', forms);
      const expression = args[2] ?? null;
      const text = yield* textInTurns(args[0] as Value, context.formats, meter);
      const spell = (piece: string): string => {
        const normal = piece.normalize(form);
        return expression === null ? withoutMarks(normal) : normal;
      };
      const normal = yield* spelledInTurns(text, spell, meter);
      if (expression === null) return boundedText(normal, context);
      return replacePattern(normal, textArgument(expression, 'normalize()'), '', context);
    },
  ),
];

const forms = ['NFD', 'NFC', 'NFKD', 'NFKC'] as const;

const encodings = ['base64', 'base64url'] as const;

const alphabets = { base64: /^[A-Za-z0-9+/]*/, base64url: /^[A-Za-z0-9_-]*/ } as const;

/** Signs by four; two or three at the end, filled up or not. A pattern of groups has no room on the stack for long texts. */
function isEncoded(text: string, format: 'base64' | 'base64url'): boolean {
  const length = alphabets[format].exec(text)?.[0].length ?? 0;
  const rest = text.slice(length);
  switch (length % 4) {
    case 0:
      return rest === '';
    case 2:
      return rest === '' || rest === '==';
    case 3:
      return rest === '' || rest === '=';
    default:
      return false;
  }
}

function decoded(value: Value, format: 'base64' | 'base64url'): Uint8Array {
  const text = value instanceof Uint8Array ? asBuffer(value).toString('latin1') : value;
  if (typeof text !== 'string') throw refusal(`decode() requires a text, not ${describe(value)}`);
  if (!isEncoded(text, format)) throw refusal(`decode(): ${describe(text)} is not ${format}`);
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
  return createHash(digestNamed(algorithm, what)).update(content).digest('hex');
}

/** As `digest`, in turns. */
export function* digestInTurns(
  content: string | Uint8Array,
  algorithm: string,
  what: string,
  meter: WorkMeter,
): PausingWork<string> {
  const hash = createHash(digestNamed(algorithm, what));
  for (let from = 0; from < content.length; ) {
    const to =
      typeof content === 'string'
        ? endOfPiece(content, from, unitsOfText)
        : Math.min(content.length, from + 2 * unitsOfText);
    hash.update(content.slice(from, to));
    from = to;
    if (meter.isSpent(unitsPerPiece)) yield;
  }
  return hash.digest('hex');
}

/** A piece of 128 K units takes half a millisecond. */
const unitsPerPiece = 512;

function digestNamed(algorithm: string, what: string): string {
  const name = algorithms.get(algorithm.toUpperCase().replace(/[-_/]/g, ''));
  if (name === undefined)
    throw refusal(
      `${what}: unknown algorithm '${algorithm.slice(0, 40)}'; use MD5, SHA-1, SHA-256, SHA-384, SHA-512 or SHA3-256`,
    );
  return name;
}
