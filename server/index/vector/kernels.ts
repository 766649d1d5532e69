import {
  addTo,
  advance,
  type Code,
  floatLane,
  get,
  integerLane,
  KernelModule,
  lanesOf,
  load,
  op,
  repeatWhileBelow,
  set,
  tee,
} from './web-assembly.ts';

/**
 * Distances by SIMD instructions over a shared memory, since JavaScript has no vector types. A vector of 128 numbers takes some 15 ns
 * where a JavaScript loop takes 100.
 */
export interface Kernels {
  /** Sum of squared differences of two runs of float32; `bytes` is a multiple of `runBytes`. */
  squaredDistance(a: number, b: number, bytes: number): number;
  /** Sum of products of two runs of float32. */
  product(a: number, b: number, bytes: number): number;
  /** Sum of products of two runs of int8. Exact for runs of up to 65,536 bytes. */
  byteProduct(a: number, b: number, bytes: number): number;
  /** Bits that differ. */
  differingBits(a: number, b: number, bytes: number): number;
}

/** Runs are of whole steps of the loops; what is left over is zero. */
export const runBytes = 32;

// Locals of every function: pointers, then two sums of lanes and one value in between.
const [a, b, endOfA, sum, otherSum, value] = [0, 1, 2, 3, 4, 5];

const difference = (offset: number): Code => [
  ...load(a, offset),
  ...load(b, offset),
  ...op.f32x4Sub,
  ...tee(value),
  ...get(value),
  ...op.f32x4Mul,
];
const products = (offset: number): Code => [...load(a, offset), ...load(b, offset), ...op.f32x4Mul];
const byteProducts = (offset: number, half: Code): Code => [
  ...load(a, offset),
  ...half,
  ...load(b, offset),
  ...half,
  ...op.i32x4DotShorts,
];
const twoHalves = (offset: number): Code => [
  ...byteProducts(offset, op.i16x8ExtendLow),
  ...byteProducts(offset, op.i16x8ExtendHigh),
  ...op.i32x4Add,
];
const ones = (offset: number): Code => [
  ...load(a, offset),
  ...load(b, offset),
  ...op.v128Xor,
  ...op.i8x16CountOnes,
  ...op.i16x8AddPairsOfBytes,
  ...op.i32x4AddPairsOfShorts,
];

/** Two sums, since an addition need not wait for the one before it then. `bytes` becomes the end of `a`. */
function inSteps(first: Code, second: Code, add: Code): Code {
  return [
    ...get(a),
    ...get(endOfA),
    ...op.i32Add,
    ...set(endOfA),
    ...op.loop,
    ...addTo(sum, first, add),
    ...addTo(otherSum, second, add),
    ...advance(b, runBytes),
    ...advance(a, runBytes),
    ...repeatWhileBelow(a, endOfA),
    ...op.end,
    ...get(sum),
    ...get(otherSum),
    ...add,
    ...set(sum),
  ];
}

function floats(step: (offset: number) => Code): Code {
  return [...inSteps(step(0), step(16), op.f32x4Add), ...lanesOf(sum, floatLane, op.f32Add)];
}

function integers(step: (offset: number) => Code): Code {
  return [...inSteps(step(0), step(16), op.i32x4Add), ...lanesOf(sum, integerLane, op.i32Add)];
}

const form = { parameterCount: 3, locals: ['v128', 'v128', 'v128'] } as const;

export const kernels = new KernelModule<Kernels>(() => [
  { name: 'squaredDistance', ...form, result: 'f32', body: floats(difference) },
  { name: 'product', ...form, result: 'f32', body: floats(products) },
  { name: 'byteProduct', ...form, result: 'i32', body: integers(twoHalves) },
  { name: 'differingBits', ...form, result: 'i32', body: integers(ones) },
]);
