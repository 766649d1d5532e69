import { allocateBytes, type Image, viewOf } from '../format/bytes.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';

/** Large enough that making one (some us) is shared by dozens of images, small enough to be given up as a whole. */
export const slabBytes = 256 * 1024;

/** The form in which the binding takes a part of a buffer as a value: it reads `start` and `end` off the buffer. */
export type ValueSource = Buffer & { start: number; end: number };

/** A piece of memory that images are laid into, one behind the other. Never written again where an image is. */
export class Slab implements Image {
  readonly bytes;
  readonly view;
  /** The same memory for the binding, apart from `bytes` because it hangs properties on it. */
  readonly source: ValueSource;
  #used = 0;

  constructor(length: number) {
    this.bytes = allocateBytes(length);
    this.view = viewOf(this.bytes);
    this.source = Object.assign(Buffer.from(this.bytes.buffer), { start: 0, end: 0 });
  }

  /** Where `length` bytes may be written, on a multiple of 8; -1 when they do not fit. */
  take(length: number): number {
    const start = this.#used;
    if (start + length > this.bytes.length) return -1;
    this.#used = (start + length + 7) & ~7;
    return start;
  }

  /** Gives the memory back before it is collected; nobody may look at an image in it any more. */
  release(): void {
    const { buffer } = this.bytes;
    if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
  }

  /** What was taken from `start` on is free again. */
  takeBack(start: number): void {
    this.#used = start;
  }
}

/**
 * Gives out memory for images from slabs, because memory of its own for each image costs microseconds. A slab is freed
 * when no image in it is used any more.
 */
export class ImageMemory {
  #current: Slab | undefined;
  #taken: Slab | undefined;

  /** The slab that the last `take` took from. */
  get slab(): Slab {
    return this.#taken as Slab;
  }

  /** Takes memory for an image. @returns where it starts in `slab` */
  take(length: number): number {
    if (length > slabBytes / 4) {
      this.#taken = new Slab(length);
      return this.#taken.take(length);
    }
    const start = this.#current?.take(length) ?? -1;
    if (start >= 0) {
      this.#taken = this.#current;
      return start;
    }
    this.#current = new Slab(slabBytes);
    this.#taken = this.#current;
    return this.#taken.take(length);
  }
}

/** Lays a value with its checksum into `memory`; LMDB may point to it. @returns where it starts, `sealedSize` long */
export function sealInto(memory: ImageMemory, key: Uint8Array, body: Uint8Array): number {
  const size = sealedSize(body);
  const start = memory.take(size);
  const { bytes } = memory.slab;
  bytes.set(body, start);
  sealValue(key, bytes, start, start + size);
  return start;
}

export function sealedSize(body: Uint8Array): number {
  return body.length + checksumSize;
}
