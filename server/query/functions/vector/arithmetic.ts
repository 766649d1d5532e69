import { placeSmallest } from '../number/statistics.ts';

/** Computations on vectors of doubles. Two vectors have the same length; callers have checked that. */
export type Vector = Float64Array;

export function dotProduct(a: Vector, b: Vector): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

export function magnitude(a: Vector): number {
  return Math.sqrt(dotProduct(a, a));
}

/** In [-1, 1]; 0 when either vector is zero. */
export function cosineSimilarity(a: Vector, b: Vector): number {
  const lengths = Math.sqrt(dotProduct(a, a) * dotProduct(b, b));
  if (lengths === 0) return 0;
  return Math.min(1, Math.max(-1, dotProduct(a, b) / lengths));
}

export function squaredDistance(a: Vector, b: Vector): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    sum += difference * difference;
  }
  return sum;
}

export function manhattanDistance(a: Vector, b: Vector): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs((a[i] as number) - (b[i] as number));
  return sum;
}

export function l1Norm(a: Vector): number {
  let sum = 0;
  for (const component of a) sum += Math.abs(component);
  return sum;
}

export function largestMagnitude(a: Vector): number {
  let largest = 0;
  for (const component of a) largest = Math.max(largest, Math.abs(component));
  return largest;
}

/** A vector of length 1; a zero vector stays as it is. */
export function normalize(a: Vector): Vector {
  const length = magnitude(a);
  return length === 0 ? a : a.map((component) => component / length);
}

/** Population variance of the components. */
export function varianceOf(a: Vector): number {
  let sum = 0;
  for (const component of a) sum += component;
  const mean = sum / a.length;
  let squares = 0;
  for (const component of a) squares += (component - mean) ** 2;
  return squares / a.length;
}

export type SparsityMode = 'FRACTION' | 'L0' | 'GMEAN';

/**
 * How empty a vector is. FRACTION: share of components below the threshold; L0: how many are not; GMEAN: geometric mean of
 * all magnitudes, 0 when one is 0.
 */
export function sparsity(a: Vector, threshold: number, mode: SparsityMode): number {
  let below = 0;
  let logarithms = 0;
  for (const component of a) {
    const size = Math.abs(component);
    if (size < threshold) below++;
    logarithms += Math.log(size);
  }
  if (mode === 'L0') return a.length - below;
  return mode === 'FRACTION' ? below / a.length : Math.exp(logarithms / a.length);
}

/** Min-max to 0..1; 0.5 each when all are equal. */
export function normalizeScores(scores: Vector): Vector {
  let low = Infinity;
  let high = -Infinity;
  for (const score of scores) {
    if (score < low) low = score;
    if (score > high) high = score;
  }
  const range = high - low;
  return scores.map((score) => (range === 0 ? 0.5 : (score - low) / range));
}

export interface QuantizedInt8 {
  readonly bytes: Int8Array;
  readonly min: number;
  readonly max: number;
}

/** Maps min..max of the components to -128..127. */
export function quantizeInt8(a: Vector): QuantizedInt8 {
  let min = Infinity;
  let max = -Infinity;
  for (const component of a) {
    if (component < min) min = component;
    if (component > max) max = component;
  }
  const range = max - min;
  const bytes = new Int8Array(a.length);
  if (range !== 0)
    for (let i = 0; i < bytes.length; i += 1)
      bytes[i] = Math.round((((a[i] as number) - min) / range) * 255) - 128;
  return { bytes, min, max };
}

export function dequantizeInt8({ bytes, min, max }: QuantizedInt8): Vector {
  const vector = new Float64Array(bytes.length);
  for (let i = 0; i < vector.length; i += 1)
    vector[i] = min + (((bytes[i] as number) + 128) / 255) * (max - min);
  return vector;
}

/** One bit per component, set when it is at or above the median; first component in the lowest bit of the first byte. */
export function quantizeBinary(a: Vector): Uint8Array {
  const parted = a.slice();
  const half = parted.length >> 1;
  placeSmallest(parted, half);
  const upper = parted[half] as number;
  if (parted.length % 2 === 0 && half > 0) placeSmallest(parted, half - 1);
  const median = parted.length % 2 === 1 ? upper : ((parted[half - 1] as number) + upper) / 2;
  const bits = new Uint8Array(Math.ceil(a.length / 8));
  for (let i = 0; i < a.length; i++)
    if ((a[i] as number) >= median) bits[i >> 3] = (bits[i >> 3] as number) | (1 << (i & 7));
  return bits;
}

/** Bits that differ between two texts of bits of the same length. */
export function hammingDistance(a: Uint8Array, b: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < a.length; i++) {
    let bits = (a[i] as number) ^ (b[i] as number);
    while (bits !== 0) {
      bits &= bits - 1;
      count++;
    }
  }
  return count;
}
