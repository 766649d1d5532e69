import type { Bytes } from '#storage/format/bytes.ts';
import { readAscii } from '#storage/format/bytes.ts';

/**
 * Texts of a column read from row bytes, so that columns of few different values (cities, states, group keys) give the same
 * string object again instead of a new one per row: no allocation, and its hash is known. Turns itself off when values
 * rarely repeat. For ASCII cells only. Cells are told apart four bytes at a time.
 */
export class TextCache {
  readonly #texts: (string | undefined)[] = new Array(slotCount).fill(undefined);
  /** By slot: the bytes of its text in words of four, and at the end the last four of them. */
  readonly #words = new Uint32Array(slotCount * wordsPerSlot);
  #lookupCount = 0;
  #hitCount = 0;
  #isOn = true;

  /** @param view of the memory of `bytes` */
  read(view: DataView, bytes: Bytes, start: number, end: number): string {
    const length = end - start;
    if (!this.#isOn || length > textLengthMax) return readAscii(bytes, start, end);
    const last = length < 4 ? shortWord(bytes, start, length) : view.getUint32(end - 4, true);
    let hash = Math.imul(length ^ last, hashFactor);
    const wordsEnd = end - 4;
    for (let at = start; at < wordsEnd; at += 4)
      hash = Math.imul(hash ^ view.getUint32(at, true), hashFactor);
    const slot = (hash ^ (hash >>> 15)) & (slotCount - 1);
    const known = this.#texts[slot];
    this.#lookupCount++;
    if (
      known !== undefined &&
      known.length === length &&
      this.#holds(slot, view, start, end, last)
    ) {
      this.#hitCount++;
      return known;
    }
    if (this.#lookupCount === trialCount) this.#judge();
    const text = readAscii(bytes, start, end);
    this.#texts[slot] = text;
    let word = slot * wordsPerSlot;
    this.#words[word + wordsPerSlot - 1] = last;
    for (let at = start; at < wordsEnd; at += 4, word += 1)
      this.#words[word] = view.getUint32(at, true);
    return text;
  }

  #holds(slot: number, view: DataView, start: number, end: number, last: number): boolean {
    const words = this.#words;
    let word = slot * wordsPerSlot;
    if (words[word + wordsPerSlot - 1] !== last) return false;
    for (let at = start; at < end - 4; at += 4, word += 1)
      if (words[word] !== view.getUint32(at, true)) return false;
    return true;
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
const wordsPerSlot = textLengthMax / 4 + 1;
const trialCount = 2_048;
const hashFactor = 0x9e3779b1;

/** Up to three bytes as one word. */
function shortWord(bytes: Bytes, start: number, length: number): number {
  let word = 0;
  for (let at = 0; at < length; at += 1) word = (word << 8) | (bytes[start + at] as number);
  return word;
}
