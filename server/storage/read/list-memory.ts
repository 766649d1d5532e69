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
