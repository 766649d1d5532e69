/** Records with a weight in one dimension by record id, with what the weight is at least and at most. */
export interface WeightList {
  readonly rids: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

const startLength = 64;

/** Makes a list of weights that come in any order, best in that of their entries: by code, then record id. */
export class WeightListBuilder {
  #rids: Float64Array = new Float64Array(startLength);
  #low: Float64Array = new Float64Array(startLength);
  #high: Float64Array = new Float64Array(startLength);
  #count = 0;

  push(rid: number, low: number, high: number): void {
    if (this.#count === this.#rids.length) {
      this.#rids = grown(this.#rids);
      this.#low = grown(this.#low);
      this.#high = grown(this.#high);
    }
    this.#rids[this.#count] = rid;
    this.#low[this.#count] = low;
    this.#high[this.#count++] = high;
  }

  /** Cost: some nanoseconds a weight for each doubling of its runs, which are as many as it has codes. */
  sorted(): WeightList {
    const order = orderOf(this.#rids, this.#count);
    return {
      rids: picked(this.#rids, order),
      low: picked(this.#low, order),
      high: picked(this.#high, order),
    };
  }
}

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

function picked(from: Float64Array, order: Uint32Array): Float64Array {
  const result = new Float64Array(order.length);
  for (let i = 0; i < order.length; i += 1) result[i] = from[order[i] as number] as number;
  return result;
}

function grown(array: Float64Array): Float64Array {
  const twice = new Float64Array(array.length * 2);
  twice.set(array);
  return twice;
}
