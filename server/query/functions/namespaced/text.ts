import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { doneWork } from '../../evaluate/turns/done-work.ts';
import {
  describe,
  integerArgument,
  isNumeric,
  listArgument,
  refusal,
  textArgument,
  wordArgument,
} from '../arguments.ts';
import { boundedText, requireBytes } from '../number/bounds.ts';
import { characterAt, characterCount, charactersBetween, positionOf } from '../text/characters.ts';
import { joined, joinedInTurns } from '../list/collections.ts';
import {
  ANY_NUMBER,
  type ArgumentCount,
  inTurns,
  nullSafe,
  nullSafeInTurns,
  volatileScalar,
} from '../define.ts';
import { printf } from '../text/printf.ts';
import { randomBelow } from '../number/random.ts';
import { replacePattern } from '../text/regular-expression.ts';
import { replaceAll, replaceAllInTurns, splitText, splitTextInTurns } from '../text/text.ts';
import { spelledInTurns } from '../text/text-turns.ts';
import {
  camelCase,
  capitalize,
  capitalizeAll,
  decapitalize,
  decapitalizeAll,
  slug,
  snakeCase,
  upperCamelCase,
} from './text-case.ts';
import {
  hammingDistance,
  jaroWinklerSimilarity,
  levenshteinDistance,
  levenshteinSimilarity,
  sorensenDiceSimilarity,
} from './text-similarity.ts';
import { double } from '#core/value/value.ts';

const charsets = ['UTF-8', 'UTF-16', 'UTF-16LE', 'UTF-16BE', 'ISO-8859-1', 'US-ASCII'] as const;
const encodings: Readonly<Record<(typeof charsets)[number], BufferEncoding>> = {
  'UTF-8': 'utf8',
  'UTF-16': 'utf16le',
  'UTF-16LE': 'utf16le',
  'UTF-16BE': 'utf16le',
  'ISO-8859-1': 'latin1',
  'US-ASCII': 'latin1',
};

/** `text.*` (sql-functions.md 9). Null as first argument gives null; a null among the texts to compare or replace does too. */
export const textFunctions: readonly ScalarFunction[] = [
  onText('byteCount(s [, charset])', [1, 2], (text, args) => {
    const charset = wordArgument(args[1] ?? 'UTF-8', 'text.byteCount()', charsets);
    return Buffer.byteLength(text, encodings[charset]);
  }),
  onText('camelCase(s)', [1, 1], camelCase, function* (text, _args, _context, meter) {
    return decapitalize(yield* spelledInTurns(text, upperCamelCase, meter));
  }),
  spelling('upperCamelCase(s)', upperCamelCase),
  spelling('snakeCase(s)', snakeCase, '_'),
  onText(
    "slug(s [, '-'])",
    [1, 2],
    (text, args, context) => slug(text, textArgument(args[1] ?? '-', 'text.slug()'), context),
    (text, args, context, meter) => {
      const separator = textArgument(args[1] ?? '-', 'text.slug()');
      return spelledInTurns(
        text,
        (piece) => slug(piece, separator, context),
        meter,
        separator.toLowerCase(),
      );
    },
  ),
  onText('capitalize(s)', [1, 1], (text) => capitalize(text)),
  spelling('capitalizeAll(s)', capitalizeAll),
  onText('decapitalize(s)', [1, 1], (text) => decapitalize(text)),
  spelling('decapitalizeAll(s)', decapitalizeAll),
  onText('charAt(s, i)', [2, 2], (text, args) => {
    return characterAt(text, integerArgument(args[1], 'text.charAt()'));
  }),
  onText('code(c)', [1, 1], (text) => text.codePointAt(0) ?? null),
  nullSafe('text.hexValue(n)', [1, 1], (args, context) => hexOf(args[0] as Value, context)),
  onText('indexOf(s, sub [, from])', [2, 3], (text, args) => {
    if (args[1] === null) return null;
    const from = args[2] === undefined ? 0 : integerArgument(args[2], 'text.indexOf()');
    return positionOf(text, textArgument(args[1], 'text.indexOf()'), from);
  }),
  inTurns(
    nullSafe('text.join(list, delim)', [2, 2], (args, context) => {
      const delimiter = textArgument(args[1] ?? '', 'text.join()');
      return joined(listArgument(args[0], 'text.join()'), delimiter, context);
    }),
    ([list, given], context, meter) => {
      const delimiter = textArgument(given ?? '', 'text.join()');
      return joinedInTurns(listArgument(list, 'text.join()'), delimiter, context, meter);
    },
  ),
  onText(
    'split(s, delim)',
    [2, 2],
    (text, args, context) =>
      args[1] === null ? null : splitText(text, textArgument(args[1], 'text.split()'), context),
    function* (text, args, context, meter) {
      if (args[1] === null) return null;
      const separator = textArgument(args[1], 'text.split()');
      return yield* splitTextInTurns(text, separator, context, meter);
    },
  ),
  onText(
    'replace(s, a, b)',
    [3, 3],
    (text, args, context) => {
      if (args[1] === null || args[2] === null) return null;
      const from = textArgument(args[1], 'text.replace()');
      return replaceAll(text, from, textArgument(args[2], 'text.replace()'), context);
    },
    function* (text, args, context, meter) {
      if (args[1] === null || args[2] === null) return null;
      const words = {
        from: textArgument(args[1], 'text.replace()'),
        to: textArgument(args[2], 'text.replace()'),
      };
      return yield* replaceAllInTurns(text, words, context, meter);
    },
  ),
  onText('regexReplace(s, re, b)', [3, 3], (text, args, context) => {
    if (args[1] === null || args[2] === null) return null;
    const pattern = textArgument(args[1], 'text.regexReplace()');
    return replacePattern(text, pattern, textArgument(args[2], 'text.regexReplace()'), context);
  }),
  onText('lpad(s, n, c)', [2, 3], (text, args, context) => padded(text, args, 'start', context)),
  onText('rpad(s, n, c)', [2, 3], (text, args, context) => padded(text, args, 'end', context)),
  onText('format(fmt, args...)', [1, ANY_NUMBER], (format, args, context) =>
    printf(format, args.slice(1), context),
  ),
  volatileScalar('text.random(n [, chars])', [1, 2], (args, context) => {
    if (args[0] === null) return null;
    return randomText(args, context);
  }),
  comparing('levenshteinDistance(a, b)', levenshteinDistance),
  comparing('levenshteinSimilarity(a, b)', (a, b) => double(levenshteinSimilarity(a, b))),
  comparing('hammingDistance(a, b)', (a, b) => {
    const distance = hammingDistance(a, b);
    if (distance === undefined)
      throw refusal(
        `text.hammingDistance() requires texts of one length, not ${a.length} and ${b.length}`,
      );
    return distance;
  }),
  comparing('jaroWinklerDistance(a, b)', (a, b) => double(jaroWinklerSimilarity(a, b))),
  comparing('sorensenDiceSimilarity(a, b)', (a, b) => double(sorensenDiceSimilarity(a, b))),
];

type OnText = (text: string, args: readonly Value[], context: EvaluationContext) => Value;

/** The same in turns, for a long text. */
type OnTextInTurns = (
  text: string,
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
) => LongWork;

function onText(
  syntax: string,
  count: ArgumentCount,
  evaluate: OnText,
  begin?: OnTextInTurns,
): ScalarFunction {
  const what = `text.${syntax.slice(0, syntax.indexOf('('))}()`;
  const atOnce = (args: readonly Value[], context: EvaluationContext): Value => {
    const result = evaluate(textArgument(args[0], what), args, context);
    return typeof result === 'string' ? boundedText(result, context) : result;
  };
  if (begin === undefined) return nullSafe(`text.${syntax}`, count, atOnce);
  return nullSafeInTurns(`text.${syntax}`, count, atOnce, function* (args, context, meter) {
    const result = yield* begin(textArgument(args[0], what), args, context, meter);
    return typeof result === 'string' ? boundedText(result, context) : result;
  });
}

function spelling(syntax: string, spell: (text: string) => string, between = ''): ScalarFunction {
  return onText(syntax, [1, 1], spell, (text, _args, _context, meter) =>
    spelledInTurns(text, spell, meter, between),
  );
}

/** The cost of comparing grows with the product of the lengths. */
const comparedLengthMax = 10_000;
/** Pairs of characters that are compared in the time of a unit. */
const comparedPerUnit = 2_048;

function comparing(syntax: string, compare: (a: string, b: string) => Value): ScalarFunction {
  const what = `text.${syntax.slice(0, syntax.indexOf('('))}()`;
  return nullSafe(`text.${syntax}`, [2, 2], (args) => {
    if (args[1] === null) return null;
    const a = textArgument(args[0], what);
    const b = textArgument(args[1], what);
    if (Math.max(a.length, b.length) > comparedLengthMax)
      throw refusal(`${what} compares texts of at most ${comparedLengthMax} characters`);
    doneWork.units += ((a.length * b.length) / comparedPerUnit) | 0;
    return compare(a, b);
  });
}

/** Lower-case hex: of an integer (64 bits when negative), of bytes, of the units of a text. */
function hexOf(value: Value, context: EvaluationContext): Value {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
    return BigInt.asUintN(64, BigInt(value)).toString(16);
  if (value instanceof Uint8Array) {
    requireBytes(value.length * 2, context);
    return Buffer.from(value).toString('hex');
  }
  if (isNumeric(value) || typeof value !== 'string')
    throw refusal(`text.hexValue() requires an integer, not ${describe(value)}`);
  requireBytes(value.length * 4, context);
  return Buffer.from(value, 'utf16le').swap16().toString('hex');
}

function padded(
  text: string,
  args: readonly Value[],
  side: 'start' | 'end',
  context: EvaluationContext,
): Value {
  const what = side === 'start' ? 'text.lpad()' : 'text.rpad()';
  if (args[1] === null) return null;
  const length = integerArgument(args[1], what);
  const fill = textOf(args[2] ?? ' ', context.formats);
  const missing = length - characterCount(text);
  if (missing <= 0) return text;
  requireBytes(length, context);
  if (fill === '') throw refusal(`${what} requires something to pad with`);
  const copies = Math.ceil(missing / characterCount(fill));
  requireBytes(copies * fill.length, context);
  const padding = charactersBetween(fill.repeat(copies), 0, missing);
  return side === 'start' ? padding + text : text + padding;
}

const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const randomLengthMax = 100_000;

/** Characters drawn from a set; `A-Z` in the set stands for the range. */
function randomText(args: readonly Value[], context: EvaluationContext): string {
  const length = integerArgument(args[0], 'text.random()');
  if (length < 0 || length > randomLengthMax)
    throw refusal(`text.random() makes 0 to ${randomLengthMax} characters, not ${length}`);
  const set = expandRanges(textArgument(args[1] ?? alphanumeric, 'text.random()'));
  if (set.length === 0) throw refusal('text.random() requires characters to draw from');
  let text = '';
  for (let i = 0; i < length; i++)
    text += set[randomBelow(set.length, context.runtime.random)] as string;
  return text;
}

function expandRanges(characters: string): readonly string[] {
  const expanded = characters.replace(/([0-9A-Za-z])-([0-9A-Za-z])/g, (_, from, to) => {
    let range = '';
    for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++)
      range += String.fromCharCode(code);
    return range;
  });
  return [...expanded];
}
