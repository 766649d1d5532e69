/**
 * Distances by SIMD instructions: a WebAssembly module of three functions over a shared memory, put together here instruction by
 * instruction, since JavaScript has no vector types. A vector of 128 numbers takes some 15 ns where a JavaScript loop takes 100.
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
/** Of a WebAssembly memory: 64 KiB each, 4 GiB in all. */
export const pageBytes = 65_536;
export const pagesMax = 65_536;

/** A WebAssembly memory, as much of it as is used here: the types of the language leave it to browsers. */
export interface SharedMemory {
  /** A new object after each growth; older ones stay valid for their length. */
  readonly buffer: SharedArrayBuffer;
  /** @throws RangeError when there is no more */
  grow(pages: number): number;
}

interface WebAssemblyApi {
  readonly Memory: new (form: {
    readonly initial: number;
    readonly maximum: number;
    readonly shared: true;
  }) => SharedMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}

const { Memory, Module, Instance } = (
  globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }
).WebAssembly;

export function newMemory(): SharedMemory {
  return new Memory({ initial: 1, maximum: pagesMax, shared: true });
}

export function kernelsOver(memory: SharedMemory): Kernels {
  compiled ??= new Module(moduleBytes());
  return new Instance(compiled, { own: { memory } }).exports as Kernels;
}

let compiled: object | undefined;

// WebAssembly binary format, version 1 with SIMD and threads (W3C): opcodes and types by their names in the text format.
const type = { i32: 0x7f, f32: 0x7d, v128: 0x7b } as const;
const op = {
  loop: [0x03, 0x40],
  end: [0x0b],
  repeatIf: [0x0d, 0],
  i32Add: [0x6a],
  i32LessUnsigned: [0x49],
  f32Add: [0x92],
  v128Xor: [0xfd, 0x51],
  i8x16CountOnes: [0xfd, 0x62],
  i16x8AddPairsOfBytes: [0xfd, 0x7d],
  i32x4AddPairsOfShorts: [0xfd, 0x7f],
  i16x8ExtendLow: [0xfd, 0x87, 0x01],
  i16x8ExtendHigh: [0xfd, 0x88, 0x01],
  i32x4Add: [0xfd, 0xae, 0x01],
  i32x4DotShorts: [0xfd, 0xba, 0x01],
  f32x4Add: [0xfd, 0xe4, 0x01],
  f32x4Sub: [0xfd, 0xe5, 0x01],
  f32x4Mul: [0xfd, 0xe6, 0x01],
} as const;

type Code = readonly number[];

// Locals of every function: pointers, then two sums of lanes and one value in between.
const [a, b, endOfA, sum, otherSum, value] = [0, 1, 2, 3, 4, 5];
const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];
const tee = (local: number): Code => [0x22, local];
const constant = (n: number): Code => [0x41, n];
const load = (local: number, offset: number): Code => [...get(local), 0xfd, 0x00, 4, offset];
const floatLane = (lane: number): Code => [0xfd, 0x1f, lane];
const integerLane = (lane: number): Code => [0xfd, 0x1b, lane];
const advance = (local: number): Code => [
  ...get(local),
  ...constant(runBytes),
  ...op.i32Add,
  ...set(local),
];

const addTo = (local: number, term: Code, add: Code): Code => [
  ...get(local),
  ...term,
  ...add,
  ...set(local),
];

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
const ones = (offset: number): Code => [
  ...load(a, offset),
  ...load(b, offset),
  ...op.v128Xor,
  ...op.i8x16CountOnes,
  ...op.i16x8AddPairsOfBytes,
  ...op.i32x4AddPairsOfShorts,
];

/** Two sums, since an addition need not wait for the one before it then. */
function inSteps(first: Code, second: Code, add: Code): Code {
  return [
    ...op.loop,
    ...addTo(sum, first, add),
    ...addTo(otherSum, second, add),
    ...advance(b),
    ...advance(a),
    ...get(a),
    ...get(endOfA),
    ...op.i32LessUnsigned,
    ...op.repeatIf,
    ...op.end,
    ...get(sum),
    ...get(otherSum),
    ...add,
    ...set(sum),
  ];
}

function lanesOf(lane: (n: number) => Code, add: Code): Code {
  const one = (n: number): Code => [...get(sum), ...lane(n)];
  return [...one(0), ...one(1), ...add, ...one(2), ...add, ...one(3), ...add];
}

/** `bytes` becomes the end of `a`. */
const prologue: Code = [...get(a), ...get(endOfA), ...op.i32Add, ...set(endOfA)];

function floats(first: Code, second: Code): Code {
  const sums = inSteps(first, second, op.f32x4Add);
  return [...prologue, ...sums, ...lanesOf(floatLane, op.f32Add), ...op.end];
}

function integers(first: Code, second: Code): Code {
  const sums = inSteps(first, second, op.i32x4Add);
  return [...prologue, ...sums, ...lanesOf(integerLane, op.i32Add), ...op.end];
}

function moduleBytes(): Uint8Array {
  const twoHalves = (offset: number): Code => [
    ...byteProducts(offset, op.i16x8ExtendLow),
    ...byteProducts(offset, op.i16x8ExtendHigh),
    ...op.i32x4Add,
  ];
  const functions: readonly (readonly [name: keyof Kernels, signature: number, body: Code])[] = [
    ['squaredDistance', 0, floats(difference(0), difference(16))],
    ['product', 0, floats(products(0), products(16))],
    ['byteProduct', 1, integers(twoHalves(0), twoHalves(16))],
    ['differingBits', 1, integers(ones(0), ones(16))],
  ];
  const takesPointers = [0x60, 3, type.i32, type.i32, type.i32, 1];
  const locals = [1, 3, type.v128];
  const isShared = 0x03;
  const importedMemory = [
    ...text('own'),
    ...text('memory'),
    0x02,
    isShared,
    1,
    ...unsigned(pagesMax),
  ];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [
      [...takesPointers, type.f32],
      [...takesPointers, type.i32],
    ]),
    ...section(2, [importedMemory]),
    ...section(
      3,
      functions.map(([, signature]) => [signature]),
    ),
    ...section(
      7,
      functions.map(([name], at) => [...text(name), 0x00, at]),
    ),
    ...section(
      10,
      functions.map(([, , body]) => sized([...locals, ...body])),
    ),
  ]);
}

function section(id: number, items: readonly Code[]): Code {
  return [id, ...sized([...unsigned(items.length), ...items.flat()])];
}

function sized(code: Code): Code {
  return [...unsigned(code.length), ...code];
}

function text(name: string): Code {
  return sized([...Buffer.from(name)]);
}

/** LEB128. */
function unsigned(n: number): Code {
  const bytes: number[] = [];
  let rest = n;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}
