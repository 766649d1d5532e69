import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { double, isList, type Value } from '#core/value/value.ts';
import {
  describe,
  integerArgument,
  listArgument,
  mapArgument,
  numberArgument,
  refusal,
} from '../arguments.ts';
import type { Vector } from './arithmetic.ts';
import { vectorValue, vectorValueInTurns } from './arguments.ts';

/**
 * A sparse vector: indices in ascending order, each once, with their values. As a value it is a map
 * `{indices, values, dimensions}`.
 */
export interface SparseVector {
  readonly indices: readonly number[];
  readonly values: readonly number[];
  readonly dimensions: number;
}

const dimensionMax = 1_000_000;

/** @throws DatabaseError `IllegalArgument` for counts that differ, negative or repeated indices, too few dimensions */
export function makeSparse(
  indices: Value | undefined,
  values: Value | undefined,
  dimensions: Value | undefined,
  what: string,
): SparseVector {
  const positions = listArgument(indices, what).map((index) => integerArgument(index, what));
  const numbers = listArgument(values, what).map((value) => numberArgument(value, what));
  if (positions.length !== numbers.length)
    throw refusal(
      `${what} requires as many values as indices, not ${numbers.length} and ${positions.length}`,
    );
  const order = ascending(positions);
  const sorted = order.map((i) => positions[i] as number);
  for (let i = 0; i < sorted.length; i++) {
    const index = sorted[i] as number;
    if (index < 0 || index >= dimensionMax || index === sorted[i - 1])
      throw refusal(`${what}: index ${index} is negative, too large or repeated`);
  }
  const least = (sorted[sorted.length - 1] ?? -1) + 1;
  const size =
    dimensions === undefined || dimensions === null ? least : integerArgument(dimensions, what);
  if (size < least || size > dimensionMax)
    throw refusal(`${what}: ${size} dimensions, but the highest index is ${least - 1}`);
  return { indices: sorted, values: order.map((i) => numbers[i] as number), dimensions: size };
}

/** The places of positions in ascending order. Lists that are in order already, as those of stored vectors, need no sort. */
function ascending(positions: readonly number[]): number[] {
  const order = positions.map((_, i) => i);
  const isOrdered = positions.every(
    (position, i) => i === 0 || position >= (positions[i - 1] as number),
  );
  if (isOrdered) return order;
  if (positions.length >= dimensionMax || positions.some((at) => at < 0 || at >= dimensionMax))
    return order.sort((a, b) => (positions[a] as number) - (positions[b] as number));
  // Position and place as one number, which an array of doubles sorts ten times as fast.
  const keys = new Float64Array(positions.length);
  for (let i = 0; i < keys.length; i += 1) keys[i] = (positions[i] as number) * dimensionMax + i;
  keys.sort();
  for (let i = 0; i < keys.length; i += 1) order[i] = (keys[i] as number) % dimensionMax;
  return order;
}

export function sparseValue({ indices, values, dimensions }: SparseVector): Value {
  return new Map<string, Value>([
    ['indices', indices],
    ['values', vectorValue(values)],
    ['dimensions', dimensions],
  ]);
}

/** As `sparseValue`, in turns. */
export function* sparseValueInTurns(
  { indices, values, dimensions }: SparseVector,
  meter: WorkMeter,
): PausingWork<Value> {
  return new Map<string, Value>([
    ['indices', indices],
    ['values', yield* vectorValueInTurns(values, meter)],
    ['dimensions', dimensions],
  ]);
}

export function sparseArgument(value: Value | undefined, what: string): SparseVector {
  if (value === undefined || value === null || isList(value))
    throw refusal(`${what} requires a sparse vector, not ${describe(value ?? null)}`);
  const map = mapArgument(value, what);
  return makeSparse(map.get('indices'), map.get('values'), map.get('dimensions'), what);
}

/** Components whose size is above the threshold. */
export function toSparse(vector: Vector, threshold: number): SparseVector {
  const indices: number[] = [];
  const values: number[] = [];
  for (let i = 0; i < vector.length; i++) {
    const component = vector[i] as number;
    if (Math.abs(component) <= threshold) continue;
    indices.push(i);
    values.push(component);
  }
  return { indices, values, dimensions: vector.length };
}

export function toDense({ indices, values, dimensions }: SparseVector): Vector {
  const dense = new Float64Array(dimensions);
  for (let i = 0; i < indices.length; i++) dense[indices[i] as number] = values[i] as number;
  return dense;
}

/** Cost: linear in the numbers of entries. */
export function sparseDot(a: SparseVector, b: SparseVector): Value {
  let sum = 0;
  let j = 0;
  for (let i = 0; i < a.indices.length; i++) {
    const index = a.indices[i] as number;
    while (j < b.indices.length && (b.indices[j] as number) < index) j++;
    if (b.indices[j] === index) sum += (a.values[i] as number) * (b.values[j] as number);
  }
  return double(sum);
}
