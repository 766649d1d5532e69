import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { ProductCodes } from './product-codes.ts';

/** Vectors for each centroid; more of them change little. */
const vectorsPerCentroid = 32;
const roundCount = 8;
const trainingBytesMax = 32 * 1024 * 1024;
const unitsPerVector = 512;

/** Vectors that training looks at when there are enough. */
export function trainingCount(
  { dimensions, clusters }: { readonly dimensions: number; readonly clusters: number },
  limit: number,
): number {
  const fitting = Math.max(1, Math.floor(trainingBytesMax / (4 * dimensions)));
  return Math.min(limit, fitting, clusters * vectorsPerCentroid);
}

/**
 * Finds centroids by k-means (Lloyd 1982) in each part of the vectors. Nothing is random: it begins with vectors that stand evenly apart in what
 * is given, and a centroid that nothing is near to moves to the vector that is farthest from its own.
 * @param vectors one behind the other
 * @param query an address with room for a query
 */
export function* trainCentroids(
  codes: ProductCodes,
  { vectors, query }: { readonly vectors: Float32Array; readonly query: number },
  put: (vector: Float32Array) => void,
  meter: WorkMeter,
): PausingWork<void> {
  const { dimensions } = codes.form;
  const count = vectors.length / dimensions;
  const clusters = Math.max(1, Math.min(codes.form.clusters, count));
  codes.setUnused(clusters);
  const rounds = new Rounds(codes, vectors, clusters);
  rounds.begin();
  // As many centroids as vectors: each is its own.
  for (let round = 0; round < roundCount && count > clusters; round += 1) {
    for (let at = 0; at < count; at += 1) {
      put(vectors.subarray(at * dimensions, (at + 1) * dimensions));
      rounds.take(at, query);
      if (meter.isSpent(unitsPerVector)) yield;
    }
    rounds.end();
  }
}

/** Sums of the vectors that are nearest to each centroid. */
class Rounds {
  readonly #codes: ProductCodes;
  readonly #vectors: Float32Array;
  readonly #clusters: number;
  /** By component, then by code. */
  readonly #sums: Float64Array;
  /** By part, then by code. */
  readonly #counts: Uint32Array;
  /** By part, the vector farthest from its centroid, and how far. */
  readonly #farthest: Int32Array;
  readonly #far: Float64Array;

  constructor(codes: ProductCodes, vectors: Float32Array, clusters: number) {
    const { dimensions, subspaces } = codes.form;
    this.#codes = codes;
    this.#vectors = vectors;
    this.#clusters = clusters;
    this.#sums = new Float64Array(dimensions * clusters);
    this.#counts = new Uint32Array(subspaces * clusters);
    this.#farthest = new Int32Array(subspaces);
    this.#far = new Float64Array(subspaces);
  }

  begin(): void {
    const { dimensions, subspaces } = this.#codes.form;
    const count = this.#vectors.length / dimensions;
    for (let code = 0; code < this.#clusters; code += 1) {
      const at = Math.floor((code * count) / this.#clusters);
      for (let part = 0; part < subspaces; part += 1)
        this.#codes.setCentroid(part, code, this.#partOf(at, part));
    }
  }

  /** The tables of the query are those of the vector. */
  take(at: number, query: number): void {
    const { dimensions, subspaces, starts } = this.#codes.form;
    for (let part = 0; part < subspaces; part += 1) {
      const code = this.#codes.nearestCode(query, part);
      const place = part * this.#clusters + code;
      this.#counts[place] = (this.#counts[place] as number) + 1;
      const distance = this.#codes.tableAt(query, part, code);
      if (distance > (this.#far[part] as number)) {
        this.#far[part] = distance;
        this.#farthest[part] = at;
      }
      const end = starts[part + 1] as number;
      for (let i = starts[part] as number; i < end; i += 1) {
        const sum = i * this.#clusters + code;
        this.#sums[sum] =
          (this.#sums[sum] as number) + (this.#vectors[at * dimensions + i] as number);
      }
    }
  }

  end(): void {
    const { subspaces, starts } = this.#codes.form;
    for (let part = 0; part < subspaces; part += 1) {
      let isMoved = false;
      for (let code = 0; code < this.#clusters; code += 1) {
        const count = this.#counts[part * this.#clusters + code] as number;
        if (count > 0) {
          const centroid: number[] = [];
          for (let i = starts[part] as number; i < (starts[part + 1] as number); i += 1)
            centroid.push((this.#sums[i * this.#clusters + code] as number) / count);
          this.#codes.setCentroid(part, code, centroid);
        } else if (!isMoved && (this.#far[part] as number) > 0) {
          const farthest = this.#farthest[part] as number;
          this.#codes.setCentroid(part, code, this.#partOf(farthest, part));
          isMoved = true;
        }
      }
    }
    this.#sums.fill(0);
    this.#counts.fill(0);
    this.#far.fill(0);
  }

  #partOf(at: number, part: number): Float32Array {
    const { dimensions, starts } = this.#codes.form;
    const start = at * dimensions;
    return this.#vectors.subarray(
      start + (starts[part] as number),
      start + (starts[part + 1] as number),
    );
  }
}
