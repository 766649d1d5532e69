import { findText } from '#core/text/find-text.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { requireBytes, requireElements } from '../number/bounds.ts';

/**
 * Texts of megabytes, piece by piece. Spellings go from word to word, so a text may be cut before white space, and what was made of the
 * pieces be joined; where words end counts for none of them, but for the capital sigma, which looks no further than that.
 */

const unitsPerPiece = 64 * 1024;
/** What a piece counts in a turn: some hundred microseconds to a millisecond. */
const unitsPerLook = 700;
/** What goes from unit to unit takes milliseconds for more of them as long as it is not compiled. */
const unitsPerShortPiece = unitsPerPiece / 8;
const searchedMax = 4_096;

/** @param between stands between what was made of two pieces, unless one is empty */
export function* spelledInTurns(
  text: string,
  spell: (piece: string) => string,
  meter: WorkMeter,
  between = '',
): PausingWork<string> {
  let spelled = '';
  for (let from = 0; from < text.length; ) {
    const to = endOfWords(text, from);
    const piece = spell(text.slice(from, to));
    spelled += spelled !== '' && piece !== '' ? between + piece : piece;
    from = to;
    if (meter.isSpent(unitsPerLook)) yield;
  }
  return spelled;
}

/**
 * A text in another letter case. Only the lower case of a capital sigma depends on what is around it, as far as letters, digits or spaces:
 * a text with one is cut between two of those, any other one between any two characters.
 */
export function* casedInTurns(
  text: string,
  change: (piece: string) => string,
  meter: WorkMeter,
): PausingWork<string> {
  const isCutAt = text.includes(capitalSigma) ? isBetweenPlain : isBetweenCharacters;
  let cased = '';
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + unitsPerPiece);
    while (to < text.length && !isCutAt(text, to)) to += 1;
    cased += change(text.slice(from, to));
    from = to;
    if (meter.isSpent(unitsPerLook)) yield;
  }
  return cased;
}

const capitalSigma = '\u03a3';
/** Of these none is skipped when the letter next to a sigma is looked for. */
const plainUnit = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Zs}\p{Cc}]$/u;

function isBetweenPlain(text: string, at: number): boolean {
  return isPlain(text.charAt(at - 1)) && isPlain(text.charAt(at));
}

function isPlain(unit: string): boolean {
  return unit !== capitalSigma && plainUnit.test(unit);
}

function isBetweenCharacters(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) !== 0xdc00;
}

/** Where white space begins after some 64 K units; without any near, where it does next. */
function endOfWords(text: string, from: number): number {
  const aim = from + unitsPerPiece;
  if (aim >= text.length) return text.length;
  for (let at = aim; at > aim - searchedMax; at -= 1) if (isSpaceAt(text, at)) return at;
  for (let at = aim + 1; at < text.length; at += 1) if (isSpaceAt(text, at)) return at;
  return text.length;
}

function isSpaceAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit === 0x20 || unit === 0x0a;
}

/** Literal replacement; what is sought is not empty. */
export function* replacedInTurns(
  text: string,
  { from, to }: { readonly from: string; readonly to: string },
  replacePiece: (piece: string) => string,
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<string> {
  let replaced = '';
  for (let start = 0; start < text.length; ) {
    const end = endOfLiteral(text, from, start);
    const piece = replacePiece(text.slice(start, end));
    requireBytes(replaced.length + piece.length, context);
    replaced += piece;
    start = end;
    if (meter.isSpent(unitsPerLook / 8 + (to.length >>> 8))) yield;
  }
  return replaced;
}

/** The end of a piece that cuts through no occurrence which a search from the start of the piece would find. */
function endOfLiteral(text: string, sought: string, start: number): number {
  const aim = start + unitsPerShortPiece;
  if (aim + sought.length >= text.length) return text.length;
  if (sought.length === 1) return aim;
  // Occurrences that overlap are found from the left, so those before the cut are gone through.
  let end = aim;
  for (let at = findText(text, sought, start); at >= 0 && at < aim; ) {
    end = Math.max(aim, at + sought.length);
    const next = findText(text.slice(at + sought.length, aim + sought.length), sought);
    at = next < 0 ? -1 : at + sought.length + next;
  }
  return end;
}

/** The pieces between separators, which are not empty. */
export function* splitInTurns(
  text: string,
  separator: string,
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<readonly string[]> {
  const pieces: string[] = [];
  let from = 0;
  for (let at = findText(text, separator); at >= 0; at = findText(text, separator, from)) {
    pieces.push(text.slice(from, at));
    from = at + separator.length;
    if (pieces.length % piecesPerLook !== 0) continue;
    requireElements(pieces.length + 1, 'split()', context);
    if (meter.isSpent(piecesPerLook / 8)) yield;
  }
  if (pieces.length === 0) return [text];
  pieces.push(text.slice(from));
  requireElements(pieces.length, 'split()', context);
  while (pieces.length > 0 && pieces[pieces.length - 1] === '') pieces.pop();
  return pieces;
}

const piecesPerLook = 1_024;
