import { codeKernels, type CodeKernels, tableBytes } from './code-kernels.ts';
import type { SlotBlock } from './slot-block.ts';
import type { VectorSettings } from './vector-settings.ts';

/** How vectors are cut and where the centroids stand. */
export interface ProductForm {
  readonly dimensions: number;
  /** Parts of a vector; each has a code of one byte. */
  readonly subspaces: number;
  /** Codes in use, at most 256. */
  readonly clusters: number;
  /** Where each part starts; one more than there are parts. */
  readonly starts: Int32Array;
  /** Codes of a vector with those behind them that are zero. */
  readonly codeBytes: number;
  /** Of a centroid where centroids stand row by row. */
  readonly rowBytes: number;
}

const codeCount = 256;
/** Codes are summed four at a time. */
const codesPerStep = 4;

/** @returns as many parts as dimensions up to 32, half as many from 64 to 200, a quarter up to 768, an eighth beyond */
function subspacesFor(dimensions: number): number {
  if (dimensions <= 32) return dimensions;
  if (dimensions <= 64) return 32;
  if (dimensions <= 200) return dimensions >>> 1;
  if (dimensions <= 400) return 100;
  if (dimensions <= 768) return dimensions >>> 2;
  if (dimensions <= 1_536) return 192;
  return dimensions >>> 3;
}

export function productForm({ dimensions, pqSubspaces, pqClusters }: VectorSettings): ProductForm {
  const subspaces = Math.min(dimensions, pqSubspaces ?? subspacesFor(dimensions));
  const starts = Int32Array.from({ length: subspaces + 1 }, (_, at) =>
    Math.ceil((at * dimensions) / subspaces),
  );
  return {
    dimensions,
    subspaces,
    clusters: Math.min(codeCount, pqClusters),
    starts,
    codeBytes: Math.ceil(subspaces / codesPerStep) * codesPerStep,
    rowBytes: Math.ceil(Math.ceil(dimensions / subspaces) / 4) * 16,
  };
}

/** Centroids, by components and by rows. */
export function centroidBytes({ dimensions, subspaces, rowBytes }: ProductForm): number {
  return dimensions * tableBytes + subspaces * codeCount * rowBytes;
}

/** A table for each part, then the vector itself. */
export function productQueryBytes({ codeBytes, dimensions }: ProductForm): number {
  return codeBytes * tableBytes + dimensions * 4;
}

/**
 * Product quantization (Jegou, Douze and Schmid 2011): a vector is cut into parts, each part stands for the nearest of up to 256 centroids.
 * The centroids stand in the block: component by component for tables of distances, row by row for distances between codes. Those that
 * are not used are as far away as numbers go.
 */
export class ProductCodes {
  readonly form: ProductForm;
  readonly #block: SlotBlock;
  readonly #kernels: CodeKernels;
  readonly #rows: number;

  constructor(block: SlotBlock, form: ProductForm) {
    this.form = form;
    this.#block = block;
    this.#kernels = codeKernels.over(block.shared.memory);
    this.#rows = block.commonAddress + form.dimensions * tableBytes;
  }

  /** @param values of the part's components */
  setCentroid(part: number, code: number, values: ArrayLike<number>): void {
    const { starts, rowBytes } = this.form;
    const { floats, commonAddress } = this.#block;
    const start = starts[part] as number;
    const row = (this.#rows + (part * codeCount + code) * rowBytes) >>> 2;
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i] as number;
      floats[((commonAddress + (start + i) * tableBytes) >>> 2) + code] = value;
      floats[row + i] = value;
    }
  }

  /** Nothing is near to the codes from this one on. */
  setUnused(from: number): void {
    const { starts, subspaces } = this.form;
    const far = new Float32Array(this.form.dimensions).fill(1e18);
    for (let part = 0; part < subspaces; part += 1) {
      const size = (starts[part + 1] as number) - (starts[part] as number);
      for (let code = from; code < codeCount; code += 1)
        this.setCentroid(part, code, far.subarray(0, size));
    }
  }

  /** Fills the tables at the start of a query with the distances of the vector behind them. */
  fillTables(query: number): void {
    const { starts, subspaces, dimensions, codeBytes } = this.form;
    const { floats, commonAddress } = this.#block;
    const vector = query + codeBytes * tableBytes;
    floats.fill(0, query >>> 2, vector >>> 2);
    let part = 0;
    for (let at = 0; at < dimensions; at += 1) {
      if (at === starts[part + 1] && part + 1 < subspaces) part += 1;
      const column = commonAddress + at * tableBytes;
      this.#kernels.addSquares(query + part * tableBytes, column, vector + at * 4);
    }
  }

  /** The code of a part that the tables of a query say is the nearest. */
  nearestCode(query: number, part: number): number {
    const { floats } = this.#block;
    const table = (query + part * tableBytes) >>> 2;
    let nearest = 0;
    let least = floats[table] as number;
    for (let code = 1; code < codeCount; code += 1) {
      const distance = floats[table + code] as number;
      if (distance < least) {
        least = distance;
        nearest = code;
      }
    }
    return nearest;
  }

  /** What the tables of a query say of a code. */
  tableAt(query: number, part: number, code: number): number {
    return this.#block.floats[((query + part * tableBytes) >>> 2) + code] as number;
  }

  /** Writes the vector that codes stand for. */
  decode(codes: number, into: number): void {
    const { subspaces, starts, rowBytes } = this.form;
    const { floats, bytes } = this.#block;
    const to = into >>> 2;
    for (let part = 0; part < subspaces; part += 1) {
      const code = bytes[codes + part] as number;
      const row = (this.#rows + (part * codeCount + code) * rowBytes) >>> 2;
      const end = starts[part + 1] as number;
      for (let at = starts[part] as number, i = 0; at < end; at += 1, i += 1)
        floats[to + at] = floats[row + i] as number;
    }
  }

  /** Of what codes stand for to the query whose tables are filled. */
  distance(query: number, codes: number): number {
    return this.#kernels.tableSum(query, codes, this.form.codeBytes);
  }

  between(a: number, b: number): number {
    const { subspaces, rowBytes } = this.form;
    return this.#kernels.codeDistance(a, b, subspaces, this.#rows, rowBytes);
  }
}
