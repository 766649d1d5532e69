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

/** Of a WebAssembly memory: 64 KiB each, 4 GiB in all. */
export const pageBytes = 65_536;
export const pagesMax = 65_536;

export function newMemory(): SharedMemory {
  return new Memory({ initial: 1, maximum: pagesMax, shared: true });
}

/** Functions put together instruction by instruction, over a memory. */
export class KernelModule<Kernels> {
  readonly #functions: () => readonly KernelFunction[];
  #compiled: object | undefined;

  /** @param functions one for each of the kernels */
  constructor(functions: () => readonly KernelFunction[]) {
    this.#functions = functions;
  }

  over(memory: SharedMemory): Kernels {
    this.#compiled ??= new Module(moduleBytes(this.#functions()));
    return new Instance(this.#compiled, { own: { memory } }).exports as Kernels;
  }
}

export interface KernelFunction {
  readonly name: string;
  /** How many addresses and counts it takes. */
  readonly parameterCount: number;
  readonly result?: 'i32' | 'f32';
  /** Numbered behind the parameters. */
  readonly locals: readonly (keyof typeof type)[];
  readonly body: Code;
}

// WebAssembly binary format, version 1 with SIMD and threads (W3C): opcodes and types by their names in the text format.
const type = { i32: 0x7f, f32: 0x7d, v128: 0x7b } as const;
export const op = {
  loop: [0x03, 0x40],
  end: [0x0b],
  repeatIf: [0x0d, 0],
  i32Add: [0x6a],
  i32Mul: [0x6c],
  i32ShiftLeft: [0x74],
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

export type Code = readonly number[];

export const get = (local: number): Code => [0x20, local];
export const set = (local: number): Code => [0x21, local];
export const tee = (local: number): Code => [0x22, local];
export const constant = (n: number): Code => [0x41, ...signed(n)];
/** Sixteen bytes at an address and so many behind. */
export const load = (local: number, offset: number): Code => [
  ...get(local),
  ...[0xfd, 0x00, 4],
  ...unsigned(offset),
];
/** What `value` leaves is stored there. */
export const store = (local: number, offset: number, value: Code): Code => [
  ...get(local),
  ...value,
  ...[0xfd, 0x0b, 4],
  ...unsigned(offset),
];
/** A float, four times. */
export const loadFourTimes = (local: number): Code => [...get(local), 0xfd, 0x09, 2, 0];
export const loadByte = (local: number, offset: number): Code => [
  ...get(local),
  ...[0x2d, 0],
  ...unsigned(offset),
];
export const loadInteger = (local: number): Code => [...get(local), 0x28, 2, 0];
/** What `value` leaves is stored there. */
export const storeInteger = (local: number, value: Code): Code => [
  ...get(local),
  ...value,
  ...[0x36, 2, 0],
];
/** A float at the address that `at` leaves. */
export const loadFloat = (at: Code, offset: number): Code => [
  ...at,
  ...[0x2a, 2],
  ...unsigned(offset),
];
export const floatLane = (lane: number): Code => [0xfd, 0x1f, lane];
export const integerLane = (lane: number): Code => [0xfd, 0x1b, lane];
export const advance = (local: number, bytes: number): Code => [
  ...get(local),
  ...constant(bytes),
  ...op.i32Add,
  ...set(local),
];
/** Goes back to the start of the loop while one address is below another. */
export const repeatWhileBelow = (local: number, end: number): Code => [
  ...get(local),
  ...get(end),
  ...op.i32LessUnsigned,
  ...op.repeatIf,
];

export const addTo = (local: number, term: Code, add: Code): Code => [
  ...get(local),
  ...term,
  ...add,
  ...set(local),
];

/** The sum of four lanes. */
export function lanesOf(sum: number, lane: (n: number) => Code, add: Code): Code {
  const one = (n: number): Code => [...get(sum), ...lane(n)];
  return [...one(0), ...one(1), ...add, ...one(2), ...add, ...one(3), ...add];
}

function moduleBytes(functions: readonly KernelFunction[]): Uint8Array {
  const isShared = 0x03;
  const importedMemory = [
    ...text('own'),
    ...text('memory'),
    0x02,
    isShared,
    1,
    ...unsigned(pagesMax),
  ];
  const list = [...functions.entries()];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      functions.map(({ parameterCount, result }) => [
        0x60,
        parameterCount,
        ...Array.from({ length: parameterCount }, () => type.i32),
        ...(result === undefined ? [0] : [1, type[result]]),
      ]),
    ),
    ...section(2, [importedMemory]),
    ...section(
      3,
      list.map(([at]) => unsigned(at)),
    ),
    ...section(
      7,
      list.map(([at, { name }]) => [...text(name), 0x00, at]),
    ),
    ...section(
      10,
      functions.map(({ locals, body }) => sized([...localsOf(locals), ...body, ...op.end])),
    ),
  ]);
}

function localsOf(locals: KernelFunction['locals']): Code {
  return [locals.length, ...locals.flatMap((name) => [1, type[name]])];
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

/** LEB128 of numbers from 0 on: the highest bit of the last byte is the sign. */
function signed(n: number): Code {
  const bytes: number[] = [];
  let rest = n;
  while (rest >= 0x40) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}
