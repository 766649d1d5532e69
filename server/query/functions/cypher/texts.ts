import { nonFiniteText, textOf } from '#core/text/text-form.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { isNumber } from '../../evaluate/arithmetic/arithmetic.ts';
import { argumentError, kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { scalar } from '../define.ts';
import { boundedList, boundedText, requireBytes, requireElements } from '../number/bounds.ts';
import { count, cypherPrefix, nullForNull, text, withAliases } from './arguments.ts';

/** Functions of openCypher on texts (cypher.md 9.2). Lengths and positions count characters (code points). */

const high = /[\ud800-\udbff]/;

/** Characters from `start` on, `length` of them. */
function part(source: string, start: number, length: number): string {
  if (!high.test(source)) return source.slice(start, Math.min(source.length, start + length));
  return [...source].slice(start, start + length).join('');
}

function substring([source, start, length]: readonly Value[]): Value {
  const from = count(start, 'the start of substring()');
  const size =
    length === undefined ? Number.POSITIVE_INFINITY : count(length, 'the length of substring()');
  return part(text(source), from, size);
}

function right([source, size]: readonly Value[]): Value {
  const wanted = count(size, 'the length of right()');
  const of = text(source);
  const characters = high.test(of) ? [...of] : undefined;
  const length = characters?.length ?? of.length;
  const from = Math.max(0, length - wanted);
  return characters === undefined ? of.slice(from) : characters.slice(from).join('');
}

function replace([source, search, by]: readonly Value[], context: EvaluationContext): Value {
  const of = text(source);
  const wanted = text(search);
  const instead = text(by);
  if (wanted === '') return of;
  if (instead.length > wanted.length) {
    const pieces = of.split(wanted).length - 1;
    requireBytes(of.length + pieces * (instead.length - wanted.length), context);
  }
  return boundedText(
    of.replaceAll(wanted, () => instead),
    context,
  );
}

function split([source, separator]: readonly Value[], context: EvaluationContext): Value {
  const of = text(source);
  const separators = isList(separator as Value)
    ? (separator as readonly Value[]).map(text)
    : [text(separator)];
  let parts: readonly string[] = [of];
  for (const by of separators) {
    parts = parts.flatMap((piece) => (by === '' ? [...piece] : piece.split(by)));
    requireElements(parts.length, 'split()', context);
  }
  return boundedList(parts, context);
}

type Side = 'start' | 'end' | 'both';

function trimmed(side: Side): (args: readonly Value[]) => Value {
  return ([source, characters]) => {
    const of = text(source);
    if (characters === undefined)
      return side === 'start' ? of.trimStart() : side === 'end' ? of.trimEnd() : of.trim();
    const unwanted = new Set(text(characters));
    const all = [...of];
    let from = 0;
    let to = all.length;
    if (side !== 'end') while (from < to && unwanted.has(all[from] as string)) from += 1;
    if (side !== 'start') while (to > from && unwanted.has(all[to - 1] as string)) to -= 1;
    return all.slice(from, to).join('');
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

export const cypherTexts: readonly ScalarFunction[] = [
  ...withAliases(
    nullForNull('toUpper(text)', [1, 1], ([of]) => text(of).toUpperCase()),
    'upper',
  ),
  ...withAliases(
    nullForNull('toLower(text)', [1, 1], ([of]) => text(of).toLowerCase()),
    'lower',
  ),
  nullForNull('trim(text)', [1, 1], trimmed('both')),
  nullForNull('btrim(text [, characters])', [1, 2], trimmed('both')),
  nullForNull('lTrim(text [, characters])', [1, 2], trimmed('start')),
  nullForNull('rTrim(text [, characters])', [1, 2], trimmed('end')),
  nullForNull('replace(text, search, by)', [3, 3], replace),
  nullForNull('split(text, separator)', [2, 2], split),
  nullForNull('substring(text, start [, length])', [2, 3], substring),
  nullForNull('left(text, length)', [2, 2], ([of, size]) =>
    part(text(of), 0, count(size, 'the length of left()')),
  ),
  nullForNull('right(text, length)', [2, 2], right),
  nullForNull('normalize(text [, form])', [1, 2], ([of, form]) => text(of).normalize(formOf(form))),
  nullForNull('isNormalized(text [, form])', [1, 2], ([of, form]) => {
    const wanted = formOf(form);
    return typeof of === 'string' ? of.normalize(wanted) === of : null;
  }),
  ...withAliases(
    nullForNull('char_length(text)', [1, 1], ([of]) => [...text(of)].length),
    'character_length',
    'charLength',
  ),
  nullForNull('toString(value)', [1, 1], toText),
  nullForNull('toStringOrNull(value)', [1, 1], ([of]) => textFormOf(of as never) ?? null),
  scalar(`${cypherPrefix}toStringList(list)`, [1, 1], (args) =>
    args[0] === null ? null : toTexts(args),
  ),
];
