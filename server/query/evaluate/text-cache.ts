import type { Bytes } from '#storage/bytes.ts';
import { readAscii } from '#storage/bytes.ts';

/**
 * Texts of a column read from row bytes, so that columns of few different values (cities, states, group keys) give the same
 * string object again instead of a new one per row: no allocation, and its hash is known. Turns itself off when values
 * rarely repeat. For ASCII cells only.
 */
export class TextCache {
  readonly #texts: (string | undefined)[] = new Array(slotCount).fill(undefined);
  #lookupCount = 0;
  #hitCount = 0;
  #isOn = true;

  read(bytes: Bytes, start: number, end: number): string {
    const length = end - start;
    if (!this.#isOn || length > textLengthMax) return readAscii(bytes, start, end);
    let hash = length;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0;
    const slot = (hash ^ (hash >>> 11)) & (slotCount - 1);
    const known = this.#texts[slot];
    this.#lookupCount++;
    if (known !== undefined && equalsAscii(known, bytes, start, length)) {
      this.#hitCount++;
      return known;
    }
    if (this.#lookupCount === trialCount) this.#judge();
    const text = readAscii(bytes, start, end);
    this.#texts[slot] = text;
    return text;
  }

  /** Fewer than half of the lookups found their text: reading it is cheaper than looking. */
  #judge(): void {
    this.#isOn = this.#hitCount * 2 >= this.#lookupCount;
    this.#lookupCount = 0;
    this.#hitCount = 0;
    if (!this.#isOn) this.#texts.length = 0;
  }
}

const slotCount = 1_024;
const textLengthMax = 32;
const trialCount = 2_048;

function equalsAscii(text: string, bytes: Bytes, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
