/** Numbers of one slab: 256 KB. */
const numbersPerSlab = 32 * 1024;

/**
 * Memory for the numbers of adjacency lists, from slabs: an array buffer of its own for each list costs an allocation outside the
 * heap, and the collector goes through all of them. A slab is freed when none of its lists is used any more.
 */
export class ListMemory {
  #slab = new ArrayBuffer(0);
  /** Numbers of the slab that are taken. */
  #used = 0;

  /** Two arrays of `count` numbers each, not cleared. */
  take(count: number): { readonly edges: Float64Array; readonly vertices: Float64Array } {
    const isLarge = count * 8 > numbersPerSlab;
    if (isLarge) return arrays(new ArrayBuffer(count * 16), 0, count);
    if ((this.#used + 2 * count) * 8 > this.#slab.byteLength) {
      this.#slab = new ArrayBuffer(numbersPerSlab * 8);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += 2 * count;
    return arrays(this.#slab, start * 8, count);
  }
}

/** Numbers for which a walk keeps memory: those of a list of 4,096 edges. */
const numbersPerWindow = 8 * 1024;
const numbersAtFirst = 128;

/**
 * Memory of one walk for the lists that it reads past the cache: each takes the place of the one before, which is not to be used any
 * more. New memory for each would be garbage outside the heap, 16 MB for a million edges, which is collected when there are 64.
 */
export class ListWindow {
  #memory: ArrayBuffer | undefined;

  /** As `ListMemory.take`. */
  take(count: number): { readonly edges: Float64Array; readonly vertices: Float64Array } {
    const wanted = 2 * count;
    if (wanted > numbersPerWindow) return arrays(new ArrayBuffer(wanted * 8), 0, count);
    let length = (this.#memory?.byteLength ?? 0) / 8;
    if (this.#memory === undefined || length < wanted) {
      length = Math.max(numbersAtFirst, length);
      while (length < wanted) length *= 2;
      this.#memory = new ArrayBuffer(length * 8);
    }
    return arrays(this.#memory, 0, count);
  }
}

function arrays(
  buffer: ArrayBuffer,
  offset: number,
  count: number,
): { readonly edges: Float64Array; readonly vertices: Float64Array } {
  return {
    edges: new Float64Array(buffer, offset, count),
    vertices: new Float64Array(buffer, offset + count * 8, count),
  };
}
