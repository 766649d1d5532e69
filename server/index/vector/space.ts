import { inRuns, type SlotBlock } from './slot-block.ts';
import type { Quantization, Similarity, VectorSettings } from './vector-settings.ts';

/**
 * Vectors in the slots of a block, and how far they are from a query. Distances order as those of the similarity do and are no more
 * than that; what a search answers is computed of the records.
 */
export abstract class VectorSpace {
  /** Distances are those of the vectors themselves, not of shorter codes. */
  abstract readonly isExact: boolean;
  protected readonly block: SlotBlock;
  #query: number;

  constructor(block: SlotBlock) {
    this.block = block;
    this.#query = block.queryAddress;
  }

  /** Between the vectors at two addresses. */
  protected abstract measure(a: number, b: number): number;
  protected abstract write(address: number, vector: Float32Array): void;

  /** Keeps a vector, whose numbers are finite. */
  put(slot: number, vector: Float32Array): void {
    this.write(this.block.address(slot), vector);
  }

  /** What `distance` measures from. */
  setQuery(vector: Float32Array): void {
    this.#query = this.block.queryAddress;
    this.write(this.#query, vector);
  }

  setQueryOf(slot: number): void {
    this.#query = this.block.address(slot);
  }

  distance(slot: number): number {
    return this.measure(this.#query, this.block.address(slot));
  }

  between(a: number, b: number): number {
    return this.measure(this.block.address(a), this.block.address(b));
  }
}

/** Bytes of a vector in its slot, and of what stands beside it. */
export function vectorForm({ quantization, dimensions }: VectorSettings): {
  readonly vectorBytes: number;
  readonly extraBytes: number;
} {
  switch (codeOf(quantization)) {
    case 'floats':
      return { vectorBytes: inRuns(dimensions * 4), extraBytes: 0 };
    case 'bits':
      return { vectorBytes: inRuns(Math.ceil(dimensions / 8)), extraBytes: 0 };
    default:
      return { vectorBytes: inRuns(dimensions), extraBytes: 8 };
  }
}

export function newSpace(block: SlotBlock, settings: VectorSettings): VectorSpace {
  switch (codeOf(settings.quantization)) {
    case 'floats':
      return new FloatSpace(block, settings.similarity);
    case 'bits':
      return new BitSpace(block);
    default:
      return new ByteSpace(block, settings.similarity);
  }
}

function codeOf(quantization: Quantization): 'floats' | 'bytes' | 'bits' {
  if (quantization === 'NONE') return 'floats';
  return quantization === 'BINARY' ? 'bits' : 'bytes';
}

/** Of length 1 for COSINE: then a product is the cosine. Zero stays zero. */
function prepared(vector: Float32Array, similarity: Similarity): Float32Array {
  if (similarity !== 'COSINE') return vector;
  let sum = 0;
  for (let i = 0; i < vector.length; i += 1) sum += (vector[i] as number) * (vector[i] as number);
  const length = Math.sqrt(sum);
  return length === 0 || !Number.isFinite(length) ? vector : vector.map((x) => x / length);
}

/** Vectors as they are. */
class FloatSpace extends VectorSpace {
  readonly isExact = true;
  readonly #similarity: Similarity;
  readonly #isEuclidean: boolean;
  /** Cosines are at most 1: distances from 0 on can be told apart by a factor. */
  readonly #least: number;

  constructor(block: SlotBlock, similarity: Similarity) {
    super(block);
    this.#similarity = similarity;
    this.#isEuclidean = similarity === 'EUCLIDEAN';
    this.#least = similarity === 'COSINE' ? 1 : 0;
  }

  protected override measure(a: number, b: number): number {
    const { kernels, form } = this.block;
    return this.#isEuclidean
      ? kernels.squaredDistance(a, b, form.vectorBytes)
      : this.#least - kernels.product(a, b, form.vectorBytes);
  }

  protected override write(address: number, vector: Float32Array): void {
    this.block.floats.set(prepared(vector, this.#similarity), address >>> 2);
  }
}

/**
 * A byte for each number, with a scale for each vector: a quarter of the memory. Beside the bytes stand what a step is worth and the
 * square of the length.
 */
class ByteSpace extends VectorSpace {
  readonly isExact = false;
  readonly #similarity: Similarity;
  readonly #isEuclidean: boolean;
  /** Cosines are at most 1: distances from 0 on can be told apart by a factor. */
  readonly #least: number;

  constructor(block: SlotBlock, similarity: Similarity) {
    super(block);
    this.#similarity = similarity;
    this.#isEuclidean = similarity === 'EUCLIDEAN';
    this.#least = similarity === 'COSINE' ? 1 : 0;
  }

  protected override measure(a: number, b: number): number {
    const { kernels, floats, form } = this.block;
    const ofA = (a + form.vectorBytes) >>> 2;
    const ofB = (b + form.vectorBytes) >>> 2;
    const scales = (floats[ofA] as number) * (floats[ofB] as number);
    const product = kernels.byteProduct(a, b, form.vectorBytes) * scales;
    if (!this.#isEuclidean) return this.#least - product;
    return (floats[ofA + 1] as number) + (floats[ofB + 1] as number) - 2 * product;
  }

  protected override write(address: number, vector: Float32Array): void {
    const { bytes, floats, form } = this.block;
    const own = prepared(vector, this.#similarity);
    let largest = 0;
    for (let i = 0; i < own.length; i += 1) largest = Math.max(largest, Math.abs(own[i] as number));
    const scale = largest / 127;
    let square = 0;
    for (let i = 0; i < own.length; i += 1) {
      const step = scale === 0 ? 0 : Math.round((own[i] as number) / scale);
      bytes[address + i] = step;
      square += step * step * scale * scale;
    }
    const beside = (address + form.vectorBytes) >>> 2;
    floats[beside] = scale;
    floats[beside + 1] = square;
  }
}

/** A bit for each number, its sign; the distance is how many differ. */
class BitSpace extends VectorSpace {
  readonly isExact = false;

  protected override measure(a: number, b: number): number {
    const { kernels, form } = this.block;
    return kernels.differingBits(a, b, form.vectorBytes);
  }

  protected override write(address: number, vector: Float32Array): void {
    const { bytes, form } = this.block;
    bytes.fill(0, address, address + form.vectorBytes);
    for (let i = 0; i < vector.length; i += 1)
      if ((vector[i] as number) > 0)
        bytes[address + (i >>> 3)] = (bytes[address + (i >>> 3)] as number) | (1 << (i & 7));
  }
}
