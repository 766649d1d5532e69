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
