/** Records with a weight in one dimension by record id, with what the weight is at least and at most. */
export interface WeightList {
  readonly rids: Float64Array;
  readonly low: Float32Array;
  readonly high: Float32Array;
}

/** Bytes of a weight in a list. */
export const weightBytes = 16;

const startLength = 64;

/** Makes a list of weights that come in any order, best in that of their entries: by code, then record id. */
export class WeightListBuilder {
  #rids: Float64Array = new Float64Array(startLength);
  #low: Float32Array = new Float32Array(startLength);
  #high: Float32Array = new Float32Array(startLength);
  #count = 0;

  /** @param low a float32, as `high` is */
  push(rid: number, low: number, high: number): void {
    if (this.#count === this.#rids.length) {
      const length = this.#count * 2;
      this.#rids = copied(this.#rids, new Float64Array(length));
      this.#low = copied(this.#low, new Float32Array(length));
      this.#high = copied(this.#high, new Float32Array(length));
    }
    this.#rids[this.#count] = rid;
    this.#low[this.#count] = low;
    this.#high[this.#count++] = high;
  }

  /** Cost: some nanoseconds a weight for each doubling of its runs, which are as many as it has codes. */
  sorted(): WeightList {
    const order = orderOf(this.#rids, this.#count);
    const { length } = order;
    return {
      rids: picked(this.#rids, order, new Float64Array(length)),
      low: picked(this.#low, order, new Float32Array(length)),
      high: picked(this.#high, order, new Float32Array(length)),
    };
  }
}

type Numbers = Float32Array | Float64Array;

/** Places of ids, the lowest id first: runs that are in order already are merged in pairs. */
function orderOf(rids: Float64Array, count: number): Uint32Array {
  let order = new Uint32Array(count);
  let runs: number[] = [];
  for (let i = 0; i < count; i += 1) {
    order[i] = i;
    if (i === 0 || (rids[i] as number) < (rids[i - 1] as number)) runs.push(i);
  }
  let merged = new Uint32Array(runs.length > 1 ? count : 0);
  while (runs.length > 1) {
    const left: number[] = [];
    for (let run = 0; run < runs.length; run += 2) {
      const start = runs[run] as number;
      left.push(start);
      merge(order, merged, rids, {
        start,
        middle: runs[run + 1] ?? count,
        end: runs[run + 2] ?? count,
      });
    }
    runs = left;
    [order, merged] = [merged, order];
  }
  return order;
}

function merge(
  from: Uint32Array,
  into: Uint32Array,
  rids: Float64Array,
  { start, middle, end }: { readonly start: number; readonly middle: number; readonly end: number },
): void {
  let a = start;
  let b = middle;
  for (let at = start; at < end; at += 1) {
    const takesA =
      a < middle &&
      (b >= end || (rids[from[a] as number] as number) <= (rids[from[b] as number] as number));
    into[at] = from[takesA ? a++ : b++] as number;
  }
}

function picked<Own extends Numbers>(from: Own, order: Uint32Array, into: Own): Own {
  for (let i = 0; i < order.length; i += 1) into[i] = from[order[i] as number] as number;
  return into;
}

function copied<Own extends Numbers>(from: Own, into: Own): Own {
  into.set(from);
  return into;
}
