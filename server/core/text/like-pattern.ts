import { foldCase } from './case-folding.ts';
import { DatabaseError } from '../errors.ts';

/**
 * LIKE patterns: `%` any run, `_` and `?` any one character (code point), `\` before one of these or itself makes it
 * literal. A pattern is cut at its `%` into segments; the first and the last are anchored, those between are found
 * leftmost, one after the other (two pointers, no backtracking over a `%`). The empty text matches only the empty
 * pattern (sql.md 6.4).
 */
export interface LikePattern {
  matches(text: string): boolean;
  /** Text that every match starts with; '' under `ignoreCase`. */
  readonly prefix: string;
  /** Text that every match starts with when it is folded (`foldCase`); '' without `ignoreCase`. */
  readonly foldedPrefix: string;
  /** The pattern is its prefix and nothing else, or its prefix followed by one `%`. */
  readonly form: 'exact' | 'prefix' | 'other';
}

/** Longest pattern of LIKE and MATCHES, in characters (limits.md 10). */
export const patternLengthMax = 65_536;
const patterns = new Map<string, LikePattern>();
const cachedPatternCountMax = 1_000;
const cachedPatternLengthMax = 1_024;
/** Character comparisons of one match with wildcards inside long segments; some seconds. */
const comparisonsMax = 1_000_000_000;

/**
 * Compiles a pattern; recently used ones are kept.
 * @throws DatabaseError `IllegalArgument` for a pattern above 64 K characters
 */
export function compileLike(text: string, options: { readonly ignoreCase: boolean }): LikePattern {
  if (text.length > patternLengthMax)
    throw new DatabaseError(
      'IllegalArgument',
      `LIKE pattern longer than ${patternLengthMax} characters`,
    );
  const key = options.ignoreCase ? `i${text}` : `c${text}`;
  const known = patterns.get(key);
  if (known) return known;
  const pattern = options.ignoreCase ? foldingPattern(foldCase(text)) : buildPattern(text);
  if (text.length <= cachedPatternLengthMax) {
    if (patterns.size >= cachedPatternCountMax) patterns.clear();
    patterns.set(key, pattern);
  }
  return pattern;
}

function foldingPattern(folded: string): LikePattern {
  const inner = buildPattern(folded);
  return {
    matches: (text) => inner.matches(foldCase(text)),
    prefix: '',
    foldedPrefix: inner.prefix,
    form: 'other',
  };
}

/** UTF-16 units, or `anyCharacter`. */
type Segment = { readonly units: readonly number[]; readonly literal: string | undefined };

const anyCharacter = -1;

/** `%` between them; a pattern without `%` is one segment. */
function parseSegments(text: string): Segment[] {
  const segments: Segment[] = [];
  let units: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    const next = text.charAt(i + 1);
    if (char === '\\' && (next === '%' || next === '_' || next === '?' || next === '\\')) {
      units.push(next.charCodeAt(0));
      i++;
    } else if (char === '%') {
      segments.push(segmentOf(units));
      units = [];
    } else if (char === '_' || char === '?') {
      units.push(anyCharacter);
    } else {
      units.push(char.charCodeAt(0));
    }
  }
  segments.push(segmentOf(units));
  return segments;
}

function segmentOf(units: readonly number[]): Segment {
  if (units.includes(anyCharacter)) return { units, literal: undefined };
  let literal = '';
  for (const unit of units) literal += String.fromCharCode(unit);
  return { units, literal };
}

const emptySegment: Segment = { units: [], literal: '' };

function buildPattern(text: string): LikePattern {
  const segments = parseSegments(text);
  const first = segments[0] ?? emptySegment;
  const prefix = literalPrefix(first);
  if (segments.length === 1) {
    const { literal } = first;
    if (literal !== undefined)
      return {
        matches: (candidate) => candidate === literal,
        prefix,
        foldedPrefix: '',
        form: 'exact',
      };
    return {
      matches: (candidate) => matchAt(first, candidate, 0) === candidate.length,
      prefix,
      foldedPrefix: '',
      form: 'other',
    };
  }
  const last = segments.at(-1) ?? emptySegment;
  const middle = segments.slice(1, -1).filter((segment) => segment.units.length > 0);
  return {
    matches: matcherOf(first, middle, last),
    prefix,
    foldedPrefix: '',
    form:
      segments.length === 2 && last.literal === '' && first.literal !== undefined
        ? 'prefix'
        : 'other',
  };
}

function literalPrefix(segment: Segment): string {
  let prefix = '';
  for (const unit of segment.units) {
    if (unit === anyCharacter) break;
    prefix += String.fromCharCode(unit);
  }
  return prefix;
}

/** The common shapes `a%`, `%a`, `%a%` are one native call. */
function matcherOf(
  first: Segment,
  middle: readonly Segment[],
  last: Segment,
): (text: string) => boolean {
  const head = first.literal;
  const tail = last.literal;
  const inner = middle[0]?.literal;
  if (head !== undefined && tail !== undefined && middle.length === 0) {
    if (tail === '') return (text) => text !== '' && text.startsWith(head);
    if (head === '') return (text) => text.endsWith(tail);
    return (text) =>
      text.length >= head.length + tail.length && text.startsWith(head) && text.endsWith(tail);
  }
  if (head === '' && tail === '' && middle.length === 1 && inner !== undefined)
    return (text) => text.includes(inner);
  return (text) => matchSegments(first, middle, last, text);
}

function matchSegments(
  first: Segment,
  middle: readonly Segment[],
  last: Segment,
  text: string,
): boolean {
  if (text === '') return false;
  let position = matchAt(first, text, 0);
  if (position < 0) return false;
  const end = matchEnd(last, text);
  if (end < position) return false;
  for (let i = 0; i < middle.length; i++) {
    position = find(middle[i] as Segment, text, position);
    if (position < 0 || position > end) return false;
  }
  return true;
}

/** @returns the position behind the segment when it stands at `start`, else -1 */
function matchAt(segment: Segment, text: string, start: number): number {
  const { units } = segment;
  let position = start;
  for (let i = 0; i < units.length; i++) {
    if (position >= text.length) return -1;
    const unit = text.charCodeAt(position);
    if (units[i] === anyCharacter) position += isPairAt(text, position, unit) ? 2 : 1;
    else if (units[i] === unit) position++;
    else return -1;
  }
  return position;
}

function isPairAt(text: string, position: number, unit: number): boolean {
  if (unit < 0xd800 || unit > 0xdbff) return false;
  const next = text.charCodeAt(position + 1);
  return next >= 0xdc00 && next <= 0xdfff;
}

/** @returns where the segment starts when it ends the text, else -1 */
function matchEnd(segment: Segment, text: string): number {
  const { units } = segment;
  let position = text.length;
  for (let i = units.length - 1; i >= 0; i--) {
    if (position === 0) return -1;
    position--;
    const unit = text.charCodeAt(position);
    if (units[i] === anyCharacter) {
      if (unit >= 0xdc00 && unit <= 0xdfff && position > 0)
        if (isPairAt(text, position - 1, text.charCodeAt(position - 1))) position--;
    } else if (units[i] !== unit) {
      return -1;
    }
  }
  return position;
}

/** @returns the position behind the leftmost occurrence from `start` on, else -1 */
function find(segment: Segment, text: string, start: number): number {
  const { units, literal } = segment;
  if (literal !== undefined) {
    const at = text.indexOf(literal, start);
    return at < 0 ? -1 : at + literal.length;
  }
  if ((text.length - start) * units.length > comparisonsMax)
    throw new DatabaseError(
      'Timeout',
      `LIKE pattern is too costly for a text of ${text.length} characters (command.regexTimeout)`,
    );
  for (let at = start; at < text.length; at++) {
    const end = matchAt(segment, text, at);
    if (end >= 0) return end;
  }
  return -1;
}
