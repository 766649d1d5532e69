/** Pieces that are joined at once: some 100 microseconds. */
const piecesAtOnce = 4096;

/**
 * A text that is put together from many short pieces. A million of `+=` would be a million links between pieces, all of which the
 * collection of memory must look at; here most are let go of soon.
 */
export class TextPieces {
  readonly #pieces: string[] = [];
  #joined = '';

  add(piece: string): void {
    this.#pieces.push(piece);
    if (this.#pieces.length >= piecesAtOnce) this.#join();
  }

  /** All pieces as one text. */
  text(): string {
    this.#join();
    return this.#joined;
  }

  #join(): void {
    this.#joined += this.#pieces.join('');
    this.#pieces.length = 0;
  }
}
