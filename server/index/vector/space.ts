import type { Similarity } from './vector-settings.ts';

/**
 * Vectors by slot, in one block of memory, and how far they are from a query. Distances order as those of the similarity do and
 * are no more than that; what a search answers is computed of the records.
 */
export interface VectorSpace {
  /** Bytes of one vector. */
  readonly vectorBytes: number;
  /** Distances are those of the vectors themselves, not of shorter codes. */
  readonly isExact: boolean;
  readonly capacity: number;
  /** Makes room for that many slots. */
  grow(capacity: number): void;
  /** Keeps a vector, whose numbers are finite. */
  put(slot: number, vector: Float32Array): void;
  /** What `distance` measures from. */
  setQuery(vector: Float32Array): void;
  setQueryOf(slot: number): void;
  distance(slot: number): number;
  between(a: number, b: number): number;
  /** Takes over a vector of a space of the same kind. */
  copyFrom(other: VectorSpace, from: number, to: number): void;
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
export class FloatSpace implements VectorSpace {
  readonly vectorBytes: number;
  readonly isExact = true;
  readonly #dimensions: number;
  readonly #similarity: Similarity;
  readonly #isEuclidean: boolean;
  #data: Float32Array;
  #query: Float32Array;
  #queryAt = 0;

  constructor(dimensions: number, similarity: Similarity) {
    this.#dimensions = dimensions;
    this.#similarity = similarity;
    this.#isEuclidean = similarity === 'EUCLIDEAN';
    this.vectorBytes = dimensions * 4;
    this.#data = new Float32Array(0);
    this.#query = this.#data;
  }

  get capacity(): number {
    return this.#data.length / this.#dimensions;
  }

  grow(capacity: number): void {
    const grown = new Float32Array(capacity * this.#dimensions);
    grown.set(this.#data);
    this.#data = grown;
  }

  put(slot: number, vector: Float32Array): void {
    this.#data.set(prepared(vector, this.#similarity), slot * this.#dimensions);
  }

  setQuery(vector: Float32Array): void {
    this.#query = prepared(vector, this.#similarity);
    this.#queryAt = 0;
  }

  setQueryOf(slot: number): void {
    this.#query = this.#data;
    this.#queryAt = slot * this.#dimensions;
  }

  distance(slot: number): number {
    return this.#measure(this.#query, this.#queryAt, slot * this.#dimensions);
  }

  between(a: number, b: number): number {
    return this.#measure(this.#data, a * this.#dimensions, b * this.#dimensions);
  }

  copyFrom(other: VectorSpace, from: number, to: number): void {
    if (!(other instanceof FloatSpace)) return;
    const at = from * this.#dimensions;
    this.#data.set(other.#data.subarray(at, at + this.#dimensions), to * this.#dimensions);
  }

  /** Four sums at a time, so that additions need not wait for one another. */
  #measure(from: Float32Array, fromAt: number, at: number): number {
    const data = this.#data;
    const end = this.#dimensions;
    const whole = end - (end % 4);
    let [a, b, c, d] = [0, 0, 0, 0];
    let i = 0;
    if (this.#isEuclidean) {
      for (; i < whole; i += 4) {
        const w = (from[fromAt + i] as number) - (data[at + i] as number);
        const x = (from[fromAt + i + 1] as number) - (data[at + i + 1] as number);
        const y = (from[fromAt + i + 2] as number) - (data[at + i + 2] as number);
        const z = (from[fromAt + i + 3] as number) - (data[at + i + 3] as number);
        a += w * w;
        b += x * x;
        c += y * y;
        d += z * z;
      }
      for (; i < end; i += 1) {
        const w = (from[fromAt + i] as number) - (data[at + i] as number);
        a += w * w;
      }
      return a + b + c + d;
    }
    for (; i < whole; i += 4) {
      a += (from[fromAt + i] as number) * (data[at + i] as number);
      b += (from[fromAt + i + 1] as number) * (data[at + i + 1] as number);
      c += (from[fromAt + i + 2] as number) * (data[at + i + 2] as number);
      d += (from[fromAt + i + 3] as number) * (data[at + i + 3] as number);
    }
    for (; i < end; i += 1) a += (from[fromAt + i] as number) * (data[at + i] as number);
    return -(a + b + c + d);
  }
}

/** A byte for each number, with a scale for each vector: a quarter of the memory. */
export class ByteSpace implements VectorSpace {
  readonly vectorBytes: number;
  readonly isExact = false;
  readonly #dimensions: number;
  readonly #similarity: Similarity;
  readonly #isEuclidean: boolean;
  #data = new Int8Array(0);
  /** Per vector: what a step is worth, and the square of its length. */
  #scales = new Float32Array(0);
  #squares = new Float32Array(0);
  #query: Float32Array;
  #querySquare = 0;

  constructor(dimensions: number, similarity: Similarity) {
    this.#dimensions = dimensions;
    this.#similarity = similarity;
    this.#isEuclidean = similarity === 'EUCLIDEAN';
    this.vectorBytes = dimensions + 8;
    this.#query = new Float32Array(dimensions);
  }

  get capacity(): number {
    return this.#scales.length;
  }

  grow(capacity: number): void {
    const data = new Int8Array(capacity * this.#dimensions);
    data.set(this.#data);
    this.#data = data;
    const scales = new Float32Array(capacity);
    scales.set(this.#scales);
    this.#scales = scales;
    const squares = new Float32Array(capacity);
    squares.set(this.#squares);
    this.#squares = squares;
  }

  put(slot: number, vector: Float32Array): void {
    const own = prepared(vector, this.#similarity);
    let largest = 0;
    for (let i = 0; i < own.length; i += 1) largest = Math.max(largest, Math.abs(own[i] as number));
    const scale = largest / 127;
    const at = slot * this.#dimensions;
    let square = 0;
    for (let i = 0; i < own.length; i += 1) {
      const step = scale === 0 ? 0 : Math.round((own[i] as number) / scale);
      this.#data[at + i] = step;
      square += step * step * scale * scale;
    }
    this.#scales[slot] = scale;
    this.#squares[slot] = square;
  }

  setQuery(vector: Float32Array): void {
    const own = prepared(vector, this.#similarity);
    this.#query.set(own);
    this.#querySquare = 0;
    for (let i = 0; i < own.length; i += 1)
      this.#querySquare += (own[i] as number) * (own[i] as number);
  }

  setQueryOf(slot: number): void {
    const at = slot * this.#dimensions;
    const scale = this.#scales[slot] as number;
    for (let i = 0; i < this.#dimensions; i += 1)
      this.#query[i] = (this.#data[at + i] as number) * scale;
    this.#querySquare = this.#squares[slot] as number;
  }

  distance(slot: number): number {
    const data = this.#data;
    const query = this.#query;
    const at = slot * this.#dimensions;
    const end = this.#dimensions;
    let [a, b] = [0, 0];
    let i = 0;
    for (; i + 1 < end; i += 2) {
      a += (query[i] as number) * (data[at + i] as number);
      b += (query[i + 1] as number) * (data[at + i + 1] as number);
    }
    if (i < end) a += (query[i] as number) * (data[at + i] as number);
    const product = (a + b) * (this.#scales[slot] as number);
    if (!this.#isEuclidean) return -product;
    return this.#querySquare + (this.#squares[slot] as number) - 2 * product;
  }

  between(a: number, b: number): number {
    const data = this.#data;
    const atA = a * this.#dimensions;
    const atB = b * this.#dimensions;
    let sum = 0;
    for (let i = 0; i < this.#dimensions; i += 1)
      sum += (data[atA + i] as number) * (data[atB + i] as number);
    const product = sum * (this.#scales[a] as number) * (this.#scales[b] as number);
    if (!this.#isEuclidean) return -product;
    return (this.#squares[a] as number) + (this.#squares[b] as number) - 2 * product;
  }

  copyFrom(other: VectorSpace, from: number, to: number): void {
    if (!(other instanceof ByteSpace)) return;
    const at = from * this.#dimensions;
    this.#data.set(other.#data.subarray(at, at + this.#dimensions), to * this.#dimensions);
    this.#scales[to] = other.#scales[from] as number;
    this.#squares[to] = other.#squares[from] as number;
  }
}

/** A bit for each number, its sign; the distance is how many differ. */
export class BitSpace implements VectorSpace {
  readonly vectorBytes: number;
  readonly isExact = false;
  readonly #words: number;
  readonly #dimensions: number;
  #data = new Uint32Array(0);
  #query: Uint32Array;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
    this.#words = Math.ceil(dimensions / 32);
    this.vectorBytes = this.#words * 4;
    this.#query = new Uint32Array(this.#words);
  }

  get capacity(): number {
    return this.#data.length / this.#words;
  }

  grow(capacity: number): void {
    const data = new Uint32Array(capacity * this.#words);
    data.set(this.#data);
    this.#data = data;
  }

  put(slot: number, vector: Float32Array): void {
    this.#write(vector, this.#data, slot * this.#words);
  }

  setQuery(vector: Float32Array): void {
    this.#query = new Uint32Array(this.#words);
    this.#write(vector, this.#query, 0);
  }

  setQueryOf(slot: number): void {
    this.#query = this.#data.slice(slot * this.#words, (slot + 1) * this.#words);
  }

  distance(slot: number): number {
    return this.#differing(this.#query, 0, slot * this.#words);
  }

  between(a: number, b: number): number {
    return this.#differing(this.#data, a * this.#words, b * this.#words);
  }

  #write(vector: Float32Array, into: Uint32Array, at: number): void {
    into.fill(0, at, at + this.#words);
    for (let i = 0; i < this.#dimensions; i += 1)
      if ((vector[i] as number) > 0) {
        const word = at + (i >>> 5);
        into[word] = (into[word] as number) | (1 << (i & 31));
      }
  }

  #differing(from: Uint32Array, fromAt: number, at: number): number {
    let count = 0;
    for (let i = 0; i < this.#words; i += 1) {
      let bits = (from[fromAt + i] as number) ^ (this.#data[at + i] as number);
      bits -= (bits >>> 1) & 0x55555555;
      bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
      count += (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
    }
    return count;
  }

  copyFrom(other: VectorSpace, from: number, to: number): void {
    if (!(other instanceof BitSpace)) return;
    const at = from * this.#words;
    this.#data.set(other.#data.subarray(at, at + this.#words), to * this.#words);
  }
}
