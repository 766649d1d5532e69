/**
 * Statistics over plain doubles, shared by aggregates, list functions and time series. Arrays given as `sorted` are in
 * ascending order and not empty.
 */

/** Position q*(n+1) with linear interpolation, clamped to the ends (aggregates `percentile` and `median`). */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  const count = sorted.length;
  const position = q * (count + 1);
  if (position < 1) return sorted[0] as number;
  if (position >= count) return sorted[count - 1] as number;
  return interpolated(sorted, position - 1);
}

/** Position q*(n-1) with linear interpolation (`ts.percentile`, `agg.percentiles`). */
export function quantileFromZero(sorted: ArrayLike<number>, q: number): number {
  return interpolated(sorted, q * (sorted.length - 1));
}

function interpolated(sorted: ArrayLike<number>, position: number): number {
  const below = Math.floor(position);
  const low = sorted[below] as number;
  const fraction = position - below;
  return fraction === 0 ? low : low + fraction * ((sorted[below + 1] as number) - low);
}

/** Mean and sum of squared deviations, updated value by value (Welford 1962). */
export class RunningVariance {
  #count = 0;
  #mean = 0;
  #squares = 0;

  add(value: number): void {
    this.#count++;
    const delta = value - this.#mean;
    this.#mean += delta / this.#count;
    this.#squares += delta * (value - this.#mean);
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#mean;
  }

  /** n-1 in the denominator; 0 for a single value. The caller has seen at least one value. */
  sampleVariance(): number {
    return this.#count < 2 ? 0 : this.#squares / (this.#count - 1);
  }

  populationVariance(): number {
    return this.#squares / this.#count;
  }
}

/** Pearson's correlation of two columns of the same length; undefined below two pairs or when a column is constant. */
export function correlation(a: readonly number[], b: readonly number[]): number | undefined {
  const count = a.length;
  if (count < 2) return undefined;
  let meanA = 0;
  let meanB = 0;
  for (let i = 0; i < count; i++) {
    meanA += (a[i] as number) / count;
    meanB += (b[i] as number) / count;
  }
  let product = 0;
  let squaresA = 0;
  let squaresB = 0;
  for (let i = 0; i < count; i++) {
    const deltaA = (a[i] as number) - meanA;
    const deltaB = (b[i] as number) - meanB;
    product += deltaA * deltaB;
    squaresA += deltaA * deltaA;
    squaresB += deltaB * deltaB;
  }
  if (squaresA === 0 || squaresB === 0) return undefined;
  return product / Math.sqrt(squaresA * squaresB);
}

/**
 * Puts the number that sorting would put at a position there, with none above it before and none below it behind (Hoare's selection).
 * NaN counts as the largest. Cost: linear, as the middle one of three is taken to part them; numbers that this parts badly are sorted.
 */
export function placeSmallest(numbers: Float64Array, position: number): void {
  let low = 0;
  let high = movedNaNs(numbers) - 1;
  let comparisonsLeft = comparisonsPerNumberMax * (high + 1);
  while (low < high && position <= high) {
    comparisonsLeft -= high - low;
    if (comparisonsLeft < 0) {
      numbers.subarray(low, high + 1).sort();
      return;
    }
    const pivot = middleOf(
      numbers[low] as number,
      numbers[(low + high) >>> 1] as number,
      numbers[high] as number,
    );
    let left = low;
    let right = high;
    while (left <= right) {
      while ((numbers[left] as number) < pivot) left += 1;
      while ((numbers[right] as number) > pivot) right -= 1;
      if (left > right) break;
      const moved = numbers[left] as number;
      numbers[left] = numbers[right] as number;
      numbers[right] = moved;
      left += 1;
      right -= 1;
    }
    if (position <= right) high = right;
    else if (position >= left) low = left;
    else return;
  }
}

/** Random numbers take three. */
const comparisonsPerNumberMax = 16;

/** Moves NaNs to the end. @returns how many numbers are before them */
function movedNaNs(numbers: Float64Array): number {
  let end = numbers.length;
  for (let at = 0; at < end; ) {
    if (!Number.isNaN(numbers[at])) {
      at += 1;
      continue;
    }
    end -= 1;
    numbers[at] = numbers[end] as number;
    numbers[end] = Number.NaN;
  }
  return end;
}

function middleOf(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
