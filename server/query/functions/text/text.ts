import { findText } from '#core/text/find-text.ts';
import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { integerArgument } from '../arguments.ts';
import {
  characterAt,
  characterCount,
  charactersBetween,
  lastCharacters,
  lastPositionOf,
  positionOf,
} from './characters.ts';
import { codeAt } from './character-classes.ts';
import { capitalizeAll } from '../namespaced/text-case.ts';
import { TextWriter } from './text-writer.ts';
import { boundedText, requireBytes, requireElements } from '../number/bounds.ts';
import { ANY_NUMBER, type ArgumentCount, methodInTurns } from '../define.ts';
import { casedInTurns, replacedInTurns, spelledInTurns, splitInTurns } from './text-turns.ts';
import { largeText } from '../../evaluate/turns/large.ts';
import { textInTurns } from '#core/text/text-in-turns.ts';
import type { WorkMeter } from '#core/pausing-work.ts';

/**
 * Methods on texts (sql-functions.md 11.2). Values that are no text are used through their text form. Lengths and
 * positions count characters.
 */
export const textMethods: readonly ScalarFunction[] = [
  textMethod('append(s...)', [1, ANY_NUMBER], (text, args, context) => {
    let joined = text;
    for (let i = 1; i < args.length; i++) {
      const part = args[i] as Value;
      if (part !== null) joined = boundedText(joined + textOf(part, context.formats), context);
    }
    return joined;
  }),
  textMethod('prefix(s)', [1, 1], (text, args, context) => {
    const prefix = args[1] as Value;
    return prefix === null ? text : textOf(prefix, context.formats) + text;
  }),
  textMethod('trimPrefix(s)', [1, 1], (text, args, context) => {
    const prefix = args[1] as Value;
    if (prefix === null) return text;
    const start = textOf(prefix, context.formats);
    return text.startsWith(start) ? text.slice(start.length) : text;
  }),
  textMethod('trimSuffix(s)', [1, 1], (text, args, context) => {
    const suffix = args[1] as Value;
    if (suffix === null) return text;
    const end = textOf(suffix, context.formats);
    return text.endsWith(end) ? text.slice(0, text.length - end.length) : text;
  }),
  spelling('capitalize()', (text) => capitalizeAll(text.toLowerCase())),
  spelling('toLowerCase()', (text) => text.toLowerCase(), casedInTurns),
  spelling('toUpperCase()', (text) => text.toUpperCase(), casedInTurns),
  textMethod('trim()', [0, 0], (text) => text.trim()),
  textMethod('charAt(i)', [1, 1], (text, args) => {
    return characterAt(text, integerArgument(args[1], 'charAt()'));
  }),
  textMethod('indexOf(s [, from])', [1, 2], (text, args, context) => {
    const sought = args[1] as Value;
    if (sought === null) return null;
    const from = args[2] === undefined ? 0 : integerArgument(args[2], 'indexOf()');
    return positionOf(text, textOf(sought, context.formats), from);
  }),
  textMethod('lastIndexOf(s [, from])', [1, 2], (text, args, context) => {
    const sought = args[1] as Value;
    if (sought === null) return null;
    const from = args[2] === undefined ? text.length : integerArgument(args[2], 'lastIndexOf()');
    return lastPositionOf(text, textOf(sought, context.formats), from);
  }),
  textMethod('left(n)', [1, 1], (text, args) =>
    charactersBetween(text, 0, integerArgument(args[1], 'left()')),
  ),
  textMethod('right(n)', [1, 1], (text, args) => {
    return lastCharacters(text, Math.max(0, integerArgument(args[1], 'right()')));
  }),
  textMethod('subString(from [, to])', [1, 2], (text, args) => {
    const from = Math.max(0, integerArgument(args[1], 'subString()'));
    const to = args[2] === undefined ? text.length : integerArgument(args[2], 'subString()');
    return charactersBetween(text, from, to);
  }),
  textMethod('length()', [0, 0], (text) => characterCount(text)),
  textMethod(
    'replace(a, b)',
    [2, 2],
    (text, args, context) => {
      const [, from, to] = args as [Value, Value, Value];
      if (from === null || to === null) return null;
      return replaceAll(text, textOf(from, context.formats), textOf(to, context.formats), context);
    },
    function* (text, args, context, meter) {
      const [, from, to] = args as [Value, Value, Value];
      if (from === null || to === null) return null;
      const { formats } = context;
      const words = { from: textOf(from, formats), to: textOf(to, formats) };
      return yield* replaceAllInTurns(text, words, context, meter);
    },
  ),
  textMethod(
    'split(sep)',
    [1, 1],
    (text, args, context) => {
      const separator = args[1] as Value;
      if (separator === null) return null;
      return splitText(text, textOf(separator, context.formats), context);
    },
    function* (text, args, context, meter) {
      const separator = args[1] as Value;
      if (separator === null) return null;
      return yield* splitTextInTurns(text, textOf(separator, context.formats), context, meter);
    },
  ),
];

function spelling(
  syntax: string,
  spell: (text: string) => string,
  turns: typeof casedInTurns = spelledInTurns,
): ScalarFunction {
  return textMethod(syntax, [0, 0], spell, (text, _args, _context, meter) =>
    turns(text, spell, meter),
  );
}

type TextMethod = (text: string, args: readonly Value[], context: EvaluationContext) => Value;

/** The same in turns, for a long text. */
type TextTurns = (
  text: string,
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
) => LongWork;

/** A method that gets the text form of its receiver; the arguments proper start at `args[1]`. */
function textMethod(
  syntax: string,
  count: ArgumentCount,
  evaluate: TextMethod,
  begin?: TextTurns,
): ScalarFunction {
  const bounded = (result: Value, context: EvaluationContext): Value =>
    typeof result === 'string' ? boundedText(result, context) : result;
  return methodInTurns(
    syntax,
    count,
    (args, context) => {
      const result = evaluate(textOf(args[0] as Value, context.formats), args, context);
      return typeof result === 'string' ? boundedText(result, context) : result;
    },
    function* (args, context, meter) {
      const text = yield* textInTurns(args[0] as Value, context.formats, meter);
      const isLong = begin !== undefined && text.length >= largeText;
      if (!isLong) return bounded(evaluate(text, args, context), context);
      return bounded(yield* begin(text, args, context, meter), context);
    },
  );
}

/** Literal replacement of every occurrence; the size of the result is checked before it is made. */
export function replaceAll(
  text: string,
  from: string,
  to: string,
  context: EvaluationContext,
): string {
  requireReplaced(text, from, to, context);
  if (from === '') return interspersed(text, to);
  const isQuicker = to.length > longReplacement && from.length < shortPattern;
  if (text.length < longText || isQuicker) return text.replaceAll(from, () => to);
  const writer = new TextWriter(text.length);
  let copied = 0;
  if (from.length === 1) {
    const sought = from.charCodeAt(0);
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === sought) writer.text(to);
      else writer.unit(unit);
    }
    return writer.toText();
  }
  for (let at = findText(text, from); at >= 0; at = findText(text, from, copied)) {
    writer.range(text, copied, at);
    writer.text(to);
    copied = at + from.length;
  }
  if (copied === 0) return text;
  writer.range(text, copied, text.length);
  return writer.toText();
}

/** As `replaceAll`, in turns. */
export function* replaceAllInTurns(
  text: string,
  words: { readonly from: string; readonly to: string },
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const { from, to } = words;
  if (from === '' || to.length > longReplacement || from.length > longReplacement)
    return replaceAll(text, from, to, context);
  const replacePiece = (piece: string): string => replaceAll(piece, from, to, context);
  return yield* replacedInTurns(text, words, replacePiece, context, meter);
}

/** As `splitText`, in turns. */
export function* splitTextInTurns(
  text: string,
  separator: string,
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  return separator === ''
    ? splitText(text, separator, context)
    : yield* splitInTurns(text, separator, context, meter);
}

/** The engine needs 100 ns for each occurrence, but is faster to begin. */
const longText = 256;
/** Such a text is copied by the engine rather than unit by unit; it cannot stand often in the result. */
const longReplacement = 4_096;
/** The engine looks for longer ones in a time that may grow with their length (`findText`). */
const shortPattern = 32;

function requireReplaced(text: string, from: string, to: string, context: EvaluationContext): void {
  const growth = to.length - from.length;
  if (growth <= 0) return;
  const most = from === '' ? text.length + 1 : Math.floor(text.length / from.length);
  if (text.length + growth * most <= context.limits.valueBytesMax) return;
  requireBytes(text.length + growth * occurrences(text, from, most), context);
}

/** `between` before every character and at the end. */
function interspersed(text: string, between: string): string {
  if (between === '') return text;
  const writer = new TextWriter(text.length * (1 + between.length) + between.length);
  writer.text(between);
  for (let at = 0; at < text.length; at += 1) {
    writer.unit(text.charCodeAt(at));
    if (codeAt(text, at) > 0xffff) {
      at += 1;
      writer.unit(text.charCodeAt(at));
    }
    writer.text(between);
  }
  return writer.toText();
}

/** How often a text stands in another one, `most` at most. */
function occurrences(text: string, sought: string, most: number): number {
  if (sought === '') return text.length + 1;
  let count = 0;
  if (sought.length === 1) {
    const unit = sought.charCodeAt(0);
    for (let at = 0; at < text.length && count < most; at += 1)
      if (text.charCodeAt(at) === unit) count += 1;
    return count;
  }
  let at = findText(text, sought);
  for (; at >= 0 && count < most; at = findText(text, sought, at + sought.length)) count += 1;
  return count;
}

/**
 * Pieces between literal separators, without the empty ones at the end; a text without the separator is the one piece,
 * an empty separator gives the characters.
 */
export function splitText(
  text: string,
  separator: string,
  context: EvaluationContext,
): readonly string[] {
  const { elementCountMax } = context.limits;
  if (elementCountMax > 0) {
    const counted = separator === '' ? text.length : occurrences(text, separator, elementCountMax);
    requireElements(separator === '' ? counted : counted + 1, 'split()', context);
  }
  const pieces = separator === '' ? Array.from(text) : piecesBetween(text, separator);
  if (pieces.length === 1) return pieces;
  while (pieces.length > 0 && pieces[pieces.length - 1] === '') pieces.pop();
  return pieces;
}

function piecesBetween(text: string, separator: string): string[] {
  if (separator.length < shortPattern) return text.split(separator);
  const pieces: string[] = [];
  let from = 0;
  for (let at = findText(text, separator); at >= 0; at = findText(text, separator, from)) {
    pieces.push(text.slice(from, at));
    from = at + separator.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}
