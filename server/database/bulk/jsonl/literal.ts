import { type Bytes, viewOf } from '#storage/format/bytes.ts';

/** Bytes that lines have in common. They are compared four at a time, which takes a third of the time of single ones. */
export class Literal {
  readonly length: number;
  readonly #bytes: Uint8Array;
  /** From every fourth byte on, and the last four. */
  readonly #words: Int32Array;

  /** Copies the bytes. */
  constructor(bytes: Uint8Array) {
    this.#bytes = new Uint8Array(bytes);
    const { length } = bytes;
    const view = viewOf(this.#bytes);
    this.length = length;
    this.#words = new Int32Array(length < 4 ? 0 : Math.ceil(length / 4));
    for (let i = 0; i < this.#words.length; i += 1)
      this.#words[i] = view.getInt32(Math.min(i * 4, length - 4), true);
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /**
   * Whether these bytes stand at `at`.
   * @param view of the same memory as `bytes`
   * @returns where they end, -1 when there are others
   */
  skip(bytes: Bytes, view: DataView, at: number): number {
    const { length } = this;
    const end = at + length;
    if (end > bytes.length) return -1;
    const words = this.#words;
    const last = words.length - 1;
    if (last < 0) return this.#skipShort(bytes, at);
    for (let i = 0, from = at; i < last; i += 1, from += 4) {
      if (view.getInt32(from, true) !== words[i]) return -1;
    }
    return view.getInt32(end - 4, true) === words[last] ? end : -1;
  }

  #skipShort(bytes: Bytes, at: number): number {
    const own = this.#bytes;
    for (let i = 0; i < own.length; i += 1) {
      if (bytes[at + i] !== own[i]) return -1;
    }
    return at + own.length;
  }
}
