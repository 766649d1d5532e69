import { nonFiniteText, textOf } from '#core/text/text-form.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import { isNumber } from '../../evaluate/arithmetic/arithmetic.ts';
import { argumentError, kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { scalar } from '../define.ts';
import { boundedList, boundedText, requireElements } from '../number/bounds.ts';
import { characterCount, charactersBetween, lastCharacters } from '../text/characters.ts';
import { replaceAll, replaceAllInTurns } from '../text/text.ts';
import { casedInTurns, spelledInTurns } from '../text/text-turns.ts';
import {
  count,
  cypherPrefix,
  nullForNull,
  nullForNullInTurns,
  text,
  withAliases,
} from './arguments.ts';
import { characterCountInTurns, separatorsOf, splitInTurns } from './text-turns.ts';

/** Functions of openCypher on texts (cypher.md 9.2). Lengths and positions count characters (code points). */

/** Characters from `start` on, `length` of them. */
function part(source: string, start: number, length: number): string {
  return charactersBetween(source, start, start + length);
}

function substring([source, start, length]: readonly Value[]): Value {
  const from = count(start, 'the start of substring()');
  const size =
    length === undefined ? Number.POSITIVE_INFINITY : count(length, 'the length of substring()');
  return part(text(source), from, size);
}

function right([source, size]: readonly Value[]): Value {
  const wanted = count(size, 'the length of right()');
  return lastCharacters(text(source), wanted);
}

function replace([source, search, by]: readonly Value[], context: EvaluationContext): Value {
  const of = text(source);
  const wanted = text(search);
  const instead = text(by);
  if (wanted === '') return of;
  return boundedText(replaceAll(of, wanted, instead, context), context);
}

function* replaceInTurns(
  [source, search, by]: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const of = text(source);
  const words = { from: text(search), to: text(by) };
  if (words.from === '') return of;
  const replaced = yield* replaceAllInTurns(of, words, context, meter);
  return boundedText(text(replaced), context);
}

function split([source, separator]: readonly Value[], context: EvaluationContext): Value {
  const of = text(source);
  let parts: readonly string[] = [of];
  for (const by of separatorsOf(separator)) {
    parts = parts.flatMap((piece) => (by === '' ? [...piece] : piece.split(by)));
    requireElements(parts.length, 'split()', context);
  }
  return boundedList(parts, context);
}

/** Empty at the end. */
function characterFrom(of: string, at: number): string {
  const code = of.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/** Empty at the start. */
function characterBefore(of: string, at: number): string {
  const isSecondHalf = (of.charCodeAt(at - 1) & 0xfc00) === 0xdc00;
  return of.slice(Math.max(0, at - (isSecondHalf ? 2 : 1)), at);
}

type Side = 'start' | 'end' | 'both';

function trimmed(side: Side): (args: readonly Value[]) => Value {
  return ([source, characters]) => {
    const of = text(source);
    if (characters === undefined)
      return side === 'start' ? of.trimStart() : side === 'end' ? of.trimEnd() : of.trim();
    const unwanted = new Set(text(characters));
    let from = 0;
    let to = of.length;
    if (side !== 'end')
      for (let first = characterFrom(of, from); from < to && unwanted.has(first); ) {
        from += first.length;
        first = characterFrom(of, from);
      }
    if (side !== 'start')
      for (let last = characterBefore(of, to); to > from && unwanted.has(last); ) {
        to -= last.length;
        last = characterBefore(of, to);
      }
    return of.slice(from, to);
  };
}

const forms = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const;

function formOf(value: Value | undefined): (typeof forms)[number] {
  const name = value === undefined ? 'NFC' : text(value).toUpperCase();
  const form = forms.find((known) => known === name);
  if (form === undefined)
    throw argumentError('InvalidArgumentValue', `'${name}' is none of ${forms.join(', ')}`);
  return form;
}

/** As concatenation writes it; infinities by their words. @returns undefined for what has none */
function textFormOf(value: Exclude<Value, null>): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (isNumber(value)) {
    if (typeof value === 'number' && !Number.isFinite(value))
      return nonFiniteText(value).replace('Pos', '').replace('Neg', '-');
    return textOf(value, defaultTemporalFormats);
  }
  if (typeof value !== 'object' || !('valueKind' in value)) return undefined;
  const { valueKind } = value;
  return /date|time|duration|point/i.test(valueKind)
    ? textOf(value, defaultTemporalFormats)
    : undefined;
}

function toText([value]: readonly Value[]): Value {
  const form = textFormOf(value as Exclude<Value, null>);
  if (form !== undefined) return form;
  throw typeError('InvalidArgumentValue', `toString() of ${kindName(value as Value)}`);
}

function toTexts([list]: readonly Value[]): Value {
  if (!isList(list as Value)) throw notA('a list', list as Value);
  return (list as readonly Value[]).map((item) =>
    item === null ? null : (textFormOf(item) ?? null),
  );
}

function spelling(syntax: string, spell: (of: string) => string): ScalarFunction {
  return nullForNullInTurns(
    syntax,
    [1, 1],
    ([of]) => spell(text(of)),
    ([of], _context, meter) => casedInTurns(text(of), spell, meter),
  );
}

export const cypherTexts: readonly ScalarFunction[] = [
  ...withAliases(
    spelling('toUpper(text)', (of) => of.toUpperCase()),
    'upper',
  ),
  ...withAliases(
    spelling('toLower(text)', (of) => of.toLowerCase()),
    'lower',
  ),
  nullForNull('trim(text)', [1, 1], trimmed('both')),
  nullForNull('btrim(text [, characters])', [1, 2], trimmed('both')),
  nullForNull('lTrim(text [, characters])', [1, 2], trimmed('start')),
  nullForNull('rTrim(text [, characters])', [1, 2], trimmed('end')),
  nullForNullInTurns('replace(text, search, by)', [3, 3], replace, replaceInTurns),
  nullForNullInTurns('split(text, separator)', [2, 2], split, splitInTurns),
  nullForNull('substring(text, start [, length])', [2, 3], substring),
  nullForNull('left(text, length)', [2, 2], ([of, size]) =>
    part(text(of), 0, count(size, 'the length of left()')),
  ),
  nullForNull('right(text, length)', [2, 2], right),
  nullForNullInTurns(
    'normalize(text [, form])',
    [1, 2],
    ([of, form]) => text(of).normalize(formOf(form)),
    ([of, form], _context, meter) => {
      const normalized = text(of);
      const wanted = formOf(form);
      return spelledInTurns(normalized, (piece) => piece.normalize(wanted), meter);
    },
  ),
  nullForNull('isNormalized(text [, form])', [1, 2], ([of, form]) => {
    const wanted = formOf(form);
    return typeof of === 'string' ? of.normalize(wanted) === of : null;
  }),
  ...withAliases(
    nullForNullInTurns(
      'char_length(text)',
      [1, 1],
      ([of]) => characterCount(text(of)),
      ([of], _context, meter) => characterCountInTurns(text(of), meter),
    ),
    'character_length',
    'charLength',
  ),
  nullForNull('toString(value)', [1, 1], toText),
  nullForNull('toStringOrNull(value)', [1, 1], ([of]) => textFormOf(of as never) ?? null),
  scalar(`${cypherPrefix}toStringList(list)`, [1, 1], (args) =>
    args[0] === null ? null : toTexts(args),
  ),
];
