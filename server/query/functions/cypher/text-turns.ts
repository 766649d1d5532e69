import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import { boundedList, requireElements } from '../number/bounds.ts';
import { characterCount } from '../text/characters.ts';
import { text } from './arguments.ts';

/** Texts of megabytes by their characters, in turns. */

const unitsPerPiece = 64 * 1024;
/** What a piece counts in a turn: some hundred microseconds to a millisecond. */
const unitsPerLook = 700;
const partsPerLook = 1_024;

/** The end of a piece that takes no character apart. */
function endOfPiece(of: string, start: number): number {
  const end = start + unitsPerPiece;
  if (end >= of.length) return of.length;
  return (of.charCodeAt(end) & 0xfc00) === 0xdc00 ? end + 1 : end;
}

export function* characterCountInTurns(of: string, meter: WorkMeter): PausingWork<number> {
  let count = 0;
  for (let start = 0; start < of.length; ) {
    const end = endOfPiece(of, start);
    count += characterCount(of.slice(start, end));
    start = end;
    if (meter.isSpent(unitsPerLook)) yield;
  }
  return count;
}

export function* reversedInTurns(of: string, meter: WorkMeter): PausingWork<string> {
  let reversed = '';
  for (let start = 0; start < of.length; ) {
    const end = endOfPiece(of, start);
    reversed = reversedText(of.slice(start, end)) + reversed;
    start = end;
    if (meter.isSpent(8 * unitsPerLook)) yield;
  }
  return reversed;
}

/** Character by character. */
export function reversedText(of: string): string {
  return [...of].reverse().join('');
}

/** The parts between separators, one text after the other; an empty one separates characters. */
export function* splitInTurns(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  let parts: readonly string[] = [text(args[0])];
  for (const by of separatorsOf(args[1])) {
    const pieces: string[] = [];
    for (const part of parts) yield* addPieces(part, by, pieces, context, meter);
    requireElements(pieces.length, 'split()', context);
    parts = pieces;
  }
  return boundedList(parts, context);
}

export function separatorsOf(separator: Value | undefined): readonly string[] {
  return isList(separator ?? null) ? (separator as readonly Value[]).map(text) : [text(separator)];
}

function* addPieces(
  part: string,
  by: string,
  pieces: string[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<void> {
  const step = Math.max(1, by.length);
  for (let from = 0; ; ) {
    const at = by === '' ? afterCharacter(part, from) : part.indexOf(by, from);
    if (at < 0 || (by === '' && at >= part.length)) {
      if (by !== '' || part !== '') pieces.push(part.slice(from));
      return;
    }
    pieces.push(part.slice(from, at));
    from = by === '' ? at : at + step;
    if (pieces.length % partsPerLook !== 0) continue;
    requireElements(pieces.length, 'split()', context);
    if (meter.isSpent(partsPerLook / 8)) yield;
  }
}

function afterCharacter(of: string, at: number): number {
  return at + ((of.charCodeAt(at) & 0xfc00) === 0xd800 ? 2 : 1);
}
