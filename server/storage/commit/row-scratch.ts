import { allocateBytes, type Image, imageOf, viewOf } from '../format/bytes.ts';

/** Larger rows are worth an image of their own, which costs a microsecond. */
const scratchBytes = 4096;

/** Shows rows as images, one at a time, by copying small ones. */
export class RowScratch {
  readonly #image: Image;

  constructor() {
    const bytes = allocateBytes(scratchBytes);
    this.#image = { bytes, view: viewOf(bytes) };
  }

  /** The row at offset 0; valid until the next call. */
  of(row: Uint8Array): Image {
    if (row.length > scratchBytes) return imageOf(row);
    this.#image.bytes.set(row, 0);
    return this.#image;
  }
}
