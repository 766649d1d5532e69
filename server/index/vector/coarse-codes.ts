import { type Kernels, kernels } from './kernels.ts';
import { inRuns } from './slot-block.ts';
import type { Similarity, VectorSettings } from './vector-settings.ts';
import { newMemory, pageBytes, pagesMax, type SharedMemory } from './web-assembly.ts';

/** Numbers that stand beside a code: what a step is worth, how long the vector is, how far the code is from it. */
const besideCount = 3;
/** Slots whose codes are held against the query at a time. */
export const weighedMax = 1_024;
const listBytes = weighedMax * 4;
/** Codes have room for so many times those there are. */
const roomShare = 1.25;
/** Share of squares that sums of float32 may be wrong by, with a margin. */
const slackShare = 4e-6;

/**
 * A byte for each number of full vectors, one code behind the other: a quarter of the bytes that a search through many vectors reads.
 * How far a code is from its vector is known, so a code tells of most vectors that they are farther than those that were found,
 * whatever was lost: who measures the others has the exact answer.
 */
export class CoarseCodes {
  readonly #similarity: Similarity;
  readonly #codeBytes: number;
  readonly #memory: SharedMemory = newMemory();
  readonly #kernels: Kernels = kernels.over(this.#memory);
  #bytes = new Int8Array(this.#memory.buffer);
  #beside = new Float32Array(0);
  #list = new Int32Array(this.#memory.buffer, 0, weighedMax);
  #count = 0;
  #queryScale = 0;
  #queryLength = 0;
  #querySquare = 0;
  #queryLoss = 0;
  /** A root for distances that are squares. */
  #limit = Infinity;

  constructor({ similarity, dimensions }: VectorSettings) {
    this.#similarity = similarity;
    this.#codeBytes = inRuns(dimensions);
  }

  /** What codes for so many vectors take; Infinity: they have no room. */
  static bytesFor(count: number, { dimensions }: VectorSettings): number {
    const codes = listBytes + (count * roomShare + 2) * inRuns(dimensions);
    if (codes > (pagesMax - 1) * pageBytes) return Infinity;
    return codes + count * roomShare * besideCount * 4;
  }

  /** Slots below this have one. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes.length + this.#beside.byteLength;
  }

  get bytesPerVector(): number {
    return this.#codeBytes;
  }

  /** Takes the vector of the next slot. */
  add(vector: Float32Array): void {
    const slot = this.#count;
    this.#reserve(slot + 1);
    const { scale, length, loss } = this.#write(this.#address(slot), vector);
    const isProduct = this.#similarity === 'DOT_PRODUCT';
    const at = slot * besideCount;
    this.#beside[at] = scale;
    this.#beside[at + 1] = isProduct ? length + loss : length * length;
    this.#beside[at + 2] = loss;
    this.#count = slot + 1;
  }

  /** What `isFarther` tells of. */
  setQuery(vector: Float32Array): void {
    this.#reserve(0);
    const { scale, length, loss } = this.#write(listBytes, vector);
    this.#queryScale = scale;
    this.#queryLength = length;
    this.#querySquare = length * length;
    this.#queryLoss = loss;
  }

  /** @param distance of the space of full vectors */
  setLimit(distance: number): void {
    if (this.#similarity === 'DOT_PRODUCT') this.#limit = distance;
    else {
      // Of vectors of length 1: their squared distance is twice what is missing to a cosine of 1.
      const square = this.#similarity === 'COSINE' ? 2 * distance : distance;
      this.#limit = Math.sqrt(Math.max(0, square)) + this.#queryLoss;
    }
  }

  /** @param slots no more than `weighedMax`, that `isFarther` tells of then */
  weigh(slots: Int32Array): void {
    this.#list.set(slots);
    if (slots.length === 0) return;
    const end = slots.length * 4;
    this.#kernels.listedByteProducts(listBytes, 0, end, this.#address(0), this.#codeBytes);
  }

  /**
   * True: the vector is farther from the query than the limit. False says nothing.
   * @param i its place among those that were weighed
   */
  isFarther(slot: number, i: number): boolean {
    const beside = this.#beside;
    const at = slot * besideCount;
    const product = (this.#list[i] as number) * (this.#queryScale * (beside[at] as number));
    const loss = beside[at + 2] as number;
    if (this.#similarity === 'DOT_PRODUCT') {
      const length = beside[at + 1] as number;
      const lost = this.#queryLength * loss + this.#queryLoss * length;
      const slack = slackShare * (this.#queryLength + this.#queryLoss) * length;
      return -(product + lost + slack) > this.#limit;
    }
    const squares = this.#querySquare + (beside[at + 1] as number);
    const reach = this.#limit + loss;
    // The inequality of the triangle, with what was lost on both sides.
    return squares * (1 - slackShare) - 2 * product > reach * reach;
  }

  /** Behind the list and the query. */
  #address(slot: number): number {
    return listBytes + (slot + 1) * this.#codeBytes;
  }

  #reserve(count: number): void {
    const wanted = this.#address(count);
    if (wanted > this.#bytes.length) {
      const missing = Math.max(wanted, this.#count * roomShare * this.#codeBytes);
      this.#memory.grow(Math.ceil((missing - this.#bytes.length) / pageBytes));
      this.#bytes = new Int8Array(this.#memory.buffer);
      this.#list = new Int32Array(this.#memory.buffer, 0, weighedMax);
    }
    if (count * besideCount <= this.#beside.length) return;
    const beside = new Float32Array(Math.ceil(count * roomShare + 16) * besideCount);
    beside.set(this.#beside);
    this.#beside = beside;
  }

  /** Vectors count as if they were of length 1 for COSINE; zero stays zero. */
  #write(address: number, vector: Float32Array) {
    const bytes = this.#bytes;
    let [largest, square] = [0, 0];
    for (let i = 0; i < vector.length; i += 1) {
      const x = vector[i] as number;
      largest = Math.max(largest, Math.abs(x));
      square += x * x;
    }
    const isScaled = this.#similarity === 'COSINE' && square > 0 && Number.isFinite(square);
    const factor = isScaled ? 1 / Math.sqrt(square) : 1;
    const scale = Math.fround((largest * factor) / 127);
    let [kept, lost] = [0, 0];
    for (let i = 0; i < vector.length; i += 1) {
      const x = (vector[i] as number) * factor;
      const step = scale === 0 ? 0 : Math.round(x / scale);
      bytes[address + i] = step;
      kept += step * step;
      lost += (x - step * scale) * (x - step * scale);
    }
    return { scale, length: Math.sqrt(kept) * scale, loss: Math.sqrt(lost) };
  }
}
