import { allocateBytes, type Image, viewOf } from './bytes.ts';
import { checksumSize, sealValue } from './checksum.ts';

/** Large enough that making one (some us) is shared by dozens of images, small enough to be given up as a whole. */
export const slabBytes = 256 * 1024;

/** A piece of memory that images are laid into, one behind the other. Never written again where an image is. */
export class Slab implements Image {
  readonly bytes;
  readonly view;
  #used = 0;

  constructor(length: number) {
    this.bytes = allocateBytes(length);
    this.view = viewOf(this.bytes);
  }

  /** Where `length` bytes may be written, on a multiple of 8; -1 when they do not fit. */
  take(length: number): number {
    const start = this.#used;
    if (start + length > this.bytes.length) return -1;
    this.#used = (start + length + 7) & ~7;
    return start;
  }
}

/**
 * Gives out memory for images from slabs, because memory of its own for each image costs microseconds. A slab is freed
 * when no image in it is used any more.
 */
export class ImageMemory {
  #slab: Slab | undefined;

  /** The slab that `length` bytes were taken from, and where. */
  allocate(length: number): { readonly slab: Slab; readonly start: number } {
    if (length > slabBytes / 4) {
      const own = new Slab(length);
      return { slab: own, start: own.take(length) };
    }
    let slab = this.#slab;
    let start = slab === undefined ? -1 : slab.take(length);
    if (slab === undefined || start < 0) {
      slab = new Slab(slabBytes);
      this.#slab = slab;
      start = slab.take(length);
    }
    return { slab, start };
  }
}

/** A value with its checksum, in memory that LMDB may point to. */
export function sealedCopy(memory: ImageMemory, key: Uint8Array, body: Uint8Array): Uint8Array {
  const size = body.length + checksumSize;
  const { slab, start } = memory.allocate(size);
  slab.bytes.set(body, start);
  sealValue(key, slab.bytes, start, start + size);
  return slab.bytes.subarray(start, start + size);
}
