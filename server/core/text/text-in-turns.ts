import type { PausingWork, WorkMeter } from '../pausing-work.ts';
import type { TemporalFormats } from '../temporal/format.ts';
import { jsonText, nestedTooDeep, nestingMax, textOf } from './text-form.ts';
import type { Value, ValueMap } from '../value/value.ts';

/** `textOf` in turns, for lists, maps and texts of megabytes. */

/** Elements whose texts are joined at a time, and what that counts. */
const elementsPerLook = 256;
const unitsPerLook = 64;
/** Lists and maps with fewer elements may hold large ones. */
const fewElements = 1_024;
export const unitsOfText = 128 * 1024;

export function* textInTurns(
  value: Value,
  formats: TemporalFormats,
  meter: WorkMeter,
): PausingWork<string> {
  if (Array.isArray(value) || value instanceof Map)
    return yield* jsonInTurns(value, formats, meter, 0);
  return textOf(value, formats);
}

/** As `textInTurns`, with a text as the text of JSON. */
export function* jsonInTurns(
  value: Value,
  formats: TemporalFormats,
  meter: WorkMeter,
  depth: number,
): PausingWork<string> {
  if (depth > nestingMax) throw nestedTooDeep();
  if (Array.isArray(value)) return yield* listInTurns(value, formats, meter, depth);
  if (value instanceof Map) return yield* mapInTurns(value, formats, meter, depth);
  if (typeof value === 'string' && value.length > unitsOfText)
    return yield* stringInTurns(value, meter);
  return jsonText(value, formats, depth);
}

function* listInTurns(
  list: readonly Value[],
  formats: TemporalFormats,
  meter: WorkMeter,
  depth: number,
): PausingWork<string> {
  const pieces = new Pieces();
  const areFew = list.length < fewElements;
  for (let i = 0; i < list.length; i += 1) {
    const item = list[i] as Value;
    pieces.add(
      areFew || isMany(item)
        ? yield* jsonInTurns(item, formats, meter, depth + 1)
        : jsonText(item, formats, depth + 1),
    );
    if (pieces.isFull && pieces.isSpent(meter)) yield;
  }
  return `[${pieces.toText()}]`;
}

function* mapInTurns(
  map: ValueMap,
  formats: TemporalFormats,
  meter: WorkMeter,
  depth: number,
): PausingWork<string> {
  const pieces = new Pieces();
  const areFew = map.size < fewElements;
  for (const [key, item] of map) {
    const text =
      areFew || isMany(item)
        ? yield* jsonInTurns(item, formats, meter, depth + 1)
        : jsonText(item, formats, depth + 1);
    pieces.add(`${JSON.stringify(key)}:${text}`);
    if (pieces.isFull && pieces.isSpent(meter)) yield;
  }
  return `{${pieces.toText()}}`;
}

function isMany(value: Value): boolean {
  if (typeof value === 'string') return value.length > unitsOfText;
  return Array.isArray(value)
    ? value.length > fewElements
    : value instanceof Map && value.size > fewElements;
}

function* stringInTurns(text: string, meter: WorkMeter): PausingWork<string> {
  let json = '"';
  for (let from = 0; from < text.length; ) {
    const to = endOfPiece(text, from, unitsOfText);
    json += JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
    if (meter.isSpent(4 * unitsPerLook)) yield;
  }
  return `${json}"`;
}

/** Where a piece of about so many units ends, which takes no surrogate pair apart. */
export function endOfPiece(text: string, from: number, length: number): number {
  const to = from + length;
  if (to >= text.length) return text.length;
  return (text.charCodeAt(to) & 0xfc00) === 0xdc00 ? to + 1 : to;
}

/** Texts with a sign between them, joined some hundreds at a time. */
export class Pieces {
  readonly #separator: string;
  #text = '';
  #parts: string[] = [];
  #length = 0;
  #isFirst = true;

  constructor(separator = ',') {
    this.#separator = separator;
  }

  add(part: string): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  get isFull(): boolean {
    return this.#parts.length >= elementsPerLook || this.#length > unitsOfText;
  }

  /** Joins what there is and counts it. */
  isSpent(meter: WorkMeter): boolean {
    const units = unitsPerLook + (this.#length >>> 10);
    this.#join();
    return meter.isSpent(units);
  }

  toText(): string {
    if (this.#parts.length > 0) this.#join();
    return this.#text;
  }

  /** Units so far, without those of separators. */
  get length(): number {
    return this.#text.length + this.#length;
  }

  #join(): void {
    const joined = this.#parts.join(this.#separator);
    this.#text = this.#isFirst ? joined : this.#text + this.#separator + joined;
    this.#isFirst = false;
    this.#parts = [];
    this.#length = 0;
  }
}
