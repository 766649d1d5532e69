/**
 * Makes a text of many small pieces. Joining pieces with `+` costs some 100 ns each and leaves a tree that must be flattened; here
 * a unit costs some 2 ns, whatever the pieces are. What is below U+0100 stays one byte a unit.
 */
export class TextWriter {
  #units: Uint16Array;
  #used = 0;
  #partsLength = 0;
  readonly #parts: string[] = [];

  /** @param expected units of the result, roughly */
  constructor(expected: number) {
    this.#units = new Uint16Array(Math.min(unitsPerPart, expected + 8));
  }

  /** Units so far. */
  get length(): number {
    return this.#partsLength + this.#used;
  }

  /** One UTF-16 unit. */
  unit(unit: number): void {
    if (this.#used === this.#units.length) this.#endPart();
    this.#units[this.#used] = unit;
    this.#used += 1;
  }

  text(text: string): void {
    this.range(text, 0, text.length);
  }

  /** The units of `text` from a position to another one, exclusive. */
  range(text: string, from: number, to: number): void {
    if (to - from > copiedMax) {
      this.#endPart();
      this.#push(text.slice(from, to));
      return;
    }
    if (this.#used + to - from > this.#units.length) this.#endPart();
    const units = this.#units;
    let used = this.#used;
    for (let at = from; at < to; at += 1) {
      units[used] = text.charCodeAt(at);
      used += 1;
    }
    this.#used = used;
  }

  /** As `range`, each unit replaced by what `change` makes of it. */
  changed(text: string, from: number, to: number, change: (unit: number) => number): void {
    for (let at = from; at < to; at += 1) this.unit(change(text.charCodeAt(at)));
  }

  /** The whole text. The writer is used up. */
  toText(): string {
    if (this.#parts.length === 0) return this.#part();
    this.#endPart();
    return this.#parts.join('');
  }

  #endPart(): void {
    if (this.#used > 0) this.#push(this.#part());
    this.#used = 0;
    if (this.#units.length < unitsPerPart) this.#units = new Uint16Array(unitsPerPart);
  }

  #push(part: string): void {
    this.#parts.push(part);
    this.#partsLength += part.length;
  }

  #part(): string {
    return textOfUnits(this.#units, this.#used);
  }
}

/** The text of the first units of a buffer, with one byte a unit where that is enough. */
export function textOfUnits(buffer: Uint16Array, length: number): string {
  const units = buffer.subarray(0, length);
  if (length <= calledMax) return String.fromCharCode.apply(null, units as never);
  let seen = 0;
  for (let at = 0; at < length; at += 1) seen |= units[at] as number;
  if (seen < 0x100) return Buffer.from(units).toString('latin1');
  return Buffer.from(buffer.buffer, buffer.byteOffset, length * 2).toString('utf16le');
}

/** Reads units of a text from a position into a buffer. @returns how many there were */
export function readUnits(text: string, from: number, units: Uint16Array): number {
  if (units.length > calledMax)
    return Buffer.from(units.buffer).write(text.slice(from, from + units.length), 'utf16le') / 2;
  const count = Math.min(units.length, text.length - from);
  for (let at = 0; at < count; at += 1) units[at] = text.charCodeAt(from + at);
  return count;
}

/** Units of one part: 64 KiB. */
export const unitsPerPart = 32_768;
/** Longer pieces are taken over as they are. */
const copiedMax = 4_096;
/** Below this a call with all units as arguments is faster than a buffer. */
const calledMax = 64;
