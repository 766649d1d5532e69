import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { tableBytes } from './code-kernels.ts';
import { centroidBytes, ProductCodes, productForm, productQueryBytes } from './product-codes.ts';
import { trainCentroids, trainingCount } from './product-training.ts';
import { inRuns, type SlotBlock, type SlotForm } from './slot-block.ts';
import type { Similarity, VectorSettings } from './vector-settings.ts';

/**
 * Vectors in the slots of a block, and how far they are from a query. Distances order as those of the similarity do and are no more
 * than that; what a search answers is computed of the records.
 */
export abstract class VectorSpace {
  /** Distances are those of the vectors themselves, not of shorter codes. */
  abstract readonly isExact: boolean;
  protected readonly block: SlotBlock;
  /** Address of what `distance` measures from. */
  protected query: number;

  constructor(block: SlotBlock) {
    this.block = block;
    this.query = block.queryAddress;
  }

  /** Between the vectors at two addresses. */
  protected abstract measure(a: number, b: number): number;
  protected abstract write(address: number, vector: Float32Array): void;

  /** Vectors that `train` is to be given before the first is put, when there are as many; 0: none. */
  get trainingCount(): number {
    return 0;
  }

  /** @param vectors one behind the other */
  *train(_vectors: Float32Array, _meter: WorkMeter): PausingWork<void> {
    // Most spaces are the same whatever the vectors.
  }

  /** Keeps a vector, whose numbers are finite. */
  put(slot: number, vector: Float32Array): void {
    this.write(this.block.address(slot), vector);
  }

  /** What `distance` measures from. */
  setQuery(vector: Float32Array): void {
    this.query = this.block.queryAddress;
    this.write(this.query, vector);
  }

  setQueryOf(slot: number): void {
    this.query = this.block.address(slot);
  }

  distance(slot: number): number {
    return this.measure(this.query, this.block.address(slot));
  }

  /** The vector as it was put, where it is kept; a view of the block. */
  vectorAt(_slot: number): Float32Array | undefined {
    return undefined;
  }

  between(a: number, b: number): number {
    return this.measure(this.block.address(a), this.block.address(b));
  }
}

/** Bytes of a vector in its slot, and of what stands beside it. */
export function vectorForm(settings: VectorSettings): Omit<SlotForm, 'width'> {
  const { quantization, dimensions } = settings;
  switch (quantization) {
    case 'NONE':
      return slotForm(inRuns(dimensions * 4), settings.similarity === 'COSINE' ? 4 : 0);
    case 'BINARY':
      return slotForm(inRuns(Math.ceil(dimensions / 8)), 0);
    case 'INT8':
      return slotForm(inRuns(dimensions), 8);
    case 'PRODUCT': {
      const form = productForm(settings);
      return {
        vectorBytes: form.codeBytes,
        extraBytes: lengthBytes(settings),
        commonBytes: centroidBytes(form),
        queryBytes: productQueryBytes(form),
      };
    }
  }
}

/** Of a space whose queries are as its vectors. */
function slotForm(vectorBytes: number, extraBytes: number): Omit<SlotForm, 'width'> {
  return { vectorBytes, extraBytes, commonBytes: 0, queryBytes: vectorBytes + extraBytes };
}

export function newSpace(block: SlotBlock, settings: VectorSettings): VectorSpace {
  switch (settings.quantization) {
    case 'NONE':
      return new FloatSpace(block, settings);
    case 'BINARY':
      return new BitSpace(block);
    case 'INT8':
      return new ByteSpace(block, settings.similarity);
    case 'PRODUCT':
      return new ProductSpace(block, settings);
  }
}

function lengthOf(vector: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < vector.length; i += 1) sum += (vector[i] as number) * (vector[i] as number);
  return Math.sqrt(sum);
}

/** Of length 1 for COSINE: then a product is the cosine. Zero stays zero. */
function prepared(vector: Float32Array, similarity: Similarity): Float32Array {
  if (similarity !== 'COSINE') return vector;
  const length = lengthOf(vector);
  return length === 0 || !Number.isFinite(length) ? vector : vector.map((x) => x / length);
}

/** Vectors as they are. For COSINE one by the length of each stands beside it. */
class FloatSpace extends VectorSpace {
  readonly isExact = true;
  readonly #similarity: Similarity;
  readonly #dimensions: number;

  constructor(block: SlotBlock, { similarity, dimensions }: VectorSettings) {
    super(block);
    this.#similarity = similarity;
    this.#dimensions = dimensions;
  }

  override vectorAt(slot: number): Float32Array {
    const start = this.block.address(slot) >>> 2;
    return this.block.floats.subarray(start, start + this.#dimensions);
  }

  protected override measure(a: number, b: number): number {
    const { kernels, form, floats } = this.block;
    if (this.#similarity === 'EUCLIDEAN') return kernels.squaredDistance(a, b, form.vectorBytes);
    const product = kernels.product(a, b, form.vectorBytes);
    if (this.#similarity === 'DOT_PRODUCT') return -product;
    const ofA = floats[(a + form.vectorBytes) >>> 2] as number;
    const ofB = floats[(b + form.vectorBytes) >>> 2] as number;
    // Cosines are at most 1: distances from 0 on can be told apart by a factor.
    return 1 - product * ofA * ofB;
  }

  protected override write(address: number, vector: Float32Array): void {
    const { floats, form } = this.block;
    floats.set(vector, address >>> 2);
    if (this.#similarity !== 'COSINE') return;
    const length = lengthOf(vector);
    floats[(address + form.vectorBytes) >>> 2] =
      length === 0 || !Number.isFinite(length) ? 0 : 1 / length;
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
  /** What stands beside the query, read once for many distances. */
  #queryScale = 0;
  #querySquare = 0;

  constructor(block: SlotBlock, similarity: Similarity) {
    super(block);
    this.#similarity = similarity;
    this.#isEuclidean = similarity === 'EUCLIDEAN';
    this.#least = similarity === 'COSINE' ? 1 : 0;
  }

  override setQuery(vector: Float32Array): void {
    super.setQuery(vector);
    this.#noteQuery();
  }

  override setQueryOf(slot: number): void {
    super.setQueryOf(slot);
    this.#noteQuery();
  }

  #noteQuery(): void {
    const { floats, form } = this.block;
    const beside = (this.query + form.vectorBytes) >>> 2;
    this.#queryScale = floats[beside] as number;
    this.#querySquare = floats[beside + 1] as number;
  }

  /** As `measure`, number for number. */
  override distance(slot: number): number {
    const { kernels, floats, form } = this.block;
    const at = this.block.address(slot);
    const beside = (at + form.vectorBytes) >>> 2;
    const scales = this.#queryScale * (floats[beside] as number);
    const product = kernels.byteProduct(this.query, at, form.vectorBytes) * scales;
    if (!this.#isEuclidean) return this.#least - product;
    return this.#querySquare + (floats[beside + 1] as number) - 2 * product;
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

/** Products follow from distances and the squares of lengths, which stand beside the codes. */
function lengthBytes({ similarity }: VectorSettings): number {
  return similarity === 'DOT_PRODUCT' ? 4 : 0;
}

/**
 * A byte for each part of a vector, a number of the centroid that is nearest to it. A query is measured by tables, of which a distance
 * is a sum.
 */
class ProductSpace extends VectorSpace {
  readonly isExact = false;
  readonly #settings: VectorSettings;
  readonly #codes: ProductCodes;
  /** Where the query's vector stands, behind its tables. */
  readonly #vector: number;
  #querySquare = 0;
  /** The slot whose tables these are; -1: those of a query. */
  #tablesOf = -1;

  constructor(block: SlotBlock, settings: VectorSettings) {
    super(block);
    this.#settings = settings;
    this.#codes = new ProductCodes(block, productForm(settings));
    this.#vector = block.queryAddress + this.#codes.form.codeBytes * tableBytes;
  }

  override get trainingCount(): number {
    return trainingCount(this.#codes.form, this.#settings.pqTrainingLimit);
  }

  override *train(vectors: Float32Array, meter: WorkMeter): PausingWork<void> {
    const { dimensions, similarity } = this.#settings;
    for (let at = 0; at < vectors.length; at += dimensions)
      vectors.set(prepared(vectors.subarray(at, at + dimensions), similarity), at);
    const query = this.block.queryAddress;
    const put = (vector: Float32Array) => this.#fill(vector);
    yield* trainCentroids(this.#codes, { vectors, query }, put, meter);
    this.#tablesOf = -1;
  }

  override setQuery(vector: Float32Array): void {
    this.#fill(prepared(vector, this.#settings.similarity));
    this.#tablesOf = -1;
  }

  override setQueryOf(slot: number): void {
    if (this.#tablesOf === slot) return;
    this.#codes.decode(this.block.address(slot), this.#vector);
    this.#fillTables();
    this.#tablesOf = slot;
  }

  override distance(slot: number): number {
    const codes = this.block.address(slot);
    const distance = this.#codes.distance(this.block.queryAddress, codes);
    if (this.#settings.similarity !== 'DOT_PRODUCT') return distance;
    return (distance - this.#querySquare - this.#squareAt(codes)) / 2;
  }

  protected override measure(a: number, b: number): number {
    const distance = this.#codes.between(a, b);
    if (this.#settings.similarity !== 'DOT_PRODUCT') return distance;
    return (distance - this.#squareAt(a) - this.#squareAt(b)) / 2;
  }

  protected override write(address: number, vector: Float32Array): void {
    const { subspaces, codeBytes } = this.#codes.form;
    this.setQuery(vector);
    const { bytes, floats, queryAddress } = this.block;
    bytes.fill(0, address, address + codeBytes);
    for (let part = 0; part < subspaces; part += 1)
      bytes[address + part] = this.#codes.nearestCode(queryAddress, part);
    if (this.#settings.similarity !== 'DOT_PRODUCT') return;
    this.#codes.decode(address, this.#vector);
    floats[(address + codeBytes) >>> 2] = this.#squareOfVector();
  }

  #fill(vector: Float32Array): void {
    this.block.floats.set(vector, this.#vector >>> 2);
    this.#fillTables();
  }

  #fillTables(): void {
    this.#codes.fillTables(this.block.queryAddress);
    if (this.#settings.similarity === 'DOT_PRODUCT') this.#querySquare = this.#squareOfVector();
  }

  #squareOfVector(): number {
    const { floats } = this.block;
    const start = this.#vector >>> 2;
    let square = 0;
    for (let i = start; i < start + this.#settings.dimensions; i += 1)
      square += (floats[i] as number) * (floats[i] as number);
    return square;
  }

  #squareAt(codes: number): number {
    return this.block.floats[(codes + this.#codes.form.codeBytes) >>> 2] as number;
  }
}
