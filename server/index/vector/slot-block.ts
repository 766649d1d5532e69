import { type Kernels, kernels, runBytes } from './kernels.ts';
import { newMemory, pageBytes, pagesMax, type SharedMemory } from './web-assembly.ts';

/** What two threads need to share a block; goes through `postMessage`. */
export interface SharedBlock {
  readonly memory: SharedMemory;
  readonly upper: SharedArrayBuffer;
}

/** Bytes of the parts of a slot. */
export interface SlotForm {
  /** Of a vector, a whole number of runs. */
  readonly vectorBytes: number;
  /** Of what a space keeps beside a vector. */
  readonly extraBytes: number;
  /** Of what a space keeps once for all vectors. */
  readonly commonBytes: number;
  /** Of a query, of which each of the two threads has one. */
  readonly queryBytes: number;
  /** Places for links, the number of links included. */
  readonly width: number;
}

/** 32-bit words at the start of the block. Only who links writes them. */
export const headerWord = { linkedCount: 0, entry: 1, entryLevel: 2, upperUsed: 3 } as const;
const headerBytes = 64;
const queryCount = 2;
const slotBytesUnit = 16;
const upperBytesMax = 512 * 1024 * 1024;

export function inRuns(bytes: number): number {
  return Math.ceil(bytes / runBytes) * runBytes;
}

/**
 * Vectors and their links, slot by slot, in one block of memory that grows in place and that two threads may share: one links, the
 * other searches. Whoever reads a list while it changes finds slots that are or were linked, never anything else, since words are
 * read whole. Lists above the lowest level, of one slot in sixteen, stand in a block of their own.
 */
export class SlotBlock {
  readonly shared: SharedBlock;
  readonly form: SlotForm;
  readonly kernels: Kernels;
  readonly slotBytes: number;
  /** Where this thread's query stands. */
  readonly queryAddress: number;
  /** Where stands what is kept once. */
  readonly commonAddress: number;
  readonly #firstSlot: number;
  words: Int32Array<SharedArrayBuffer>;
  floats: Float32Array<SharedArrayBuffer>;
  bytes: Uint8Array<SharedArrayBuffer>;
  readonly upperWords: Int32Array<SharedArrayBuffer>;

  /** @param thread 0: who makes the block; 1: the other one */
  constructor(form: SlotForm, shared: SharedBlock = newShared(), thread: 0 | 1 = 0) {
    this.form = form;
    this.shared = shared;
    this.kernels = kernels.over(shared.memory);
    const queryBytes = inRuns(form.queryBytes);
    this.queryAddress = headerBytes + thread * queryBytes;
    this.commonAddress = headerBytes + queryCount * queryBytes;
    this.#firstSlot = this.commonAddress + inRuns(form.commonBytes);
    const parts = form.vectorBytes + form.extraBytes + (form.width + 1) * 4;
    this.slotBytes = Math.ceil(parts / slotBytesUnit) * slotBytesUnit;
    const views = viewsOf(shared.memory);
    this.words = views.words;
    this.floats = views.floats;
    this.bytes = views.bytes;
    this.upperWords = new Int32Array(shared.upper);
    if (thread === 0) this.grow(0);
  }

  /** Slots that a block of this form can hold. */
  static slotsMax(form: SlotForm): number {
    const slotBytes = form.vectorBytes + form.extraBytes + (form.width + 1) * 4 + slotBytesUnit;
    const before = headerBytes + queryCount * inRuns(form.queryBytes) + inRuns(form.commonBytes);
    return Math.floor((pagesMax * pageBytes - before - pageBytes) / slotBytes) - 1;
  }

  get capacity(): number {
    return Math.floor((this.bytes.length - this.#firstSlot) / this.slotBytes);
  }

  /** Bytes of memory taken. */
  get byteLength(): number {
    return this.bytes.length + this.shared.upper.byteLength;
  }

  /** Makes room for that many slots. @throws RangeError when there is none */
  grow(capacity: number): void {
    const wanted = this.#firstSlot + capacity * this.slotBytes;
    const missing = wanted - this.shared.memory.buffer.byteLength;
    if (missing > 0) this.shared.memory.grow(Math.ceil(missing / pageBytes));
    this.refresh();
  }

  /** Takes note that the other thread has made room. */
  refresh(): void {
    const { memory } = this.shared;
    if (memory.buffer.byteLength === this.bytes.length) return;
    const views = viewsOf(memory);
    this.words = views.words;
    this.floats = views.floats;
    this.bytes = views.bytes;
  }

  address(slot: number): number {
    return this.#firstSlot + slot * this.slotBytes;
  }

  /** Word of a slot's list: the number of its links, then the links. */
  listAt(slot: number): number {
    return (this.address(slot) + this.form.vectorBytes + this.form.extraBytes) >>> 2;
  }

  /** Word that tells where a slot's lists of higher levels begin; 0: it has none. */
  upperAt(slot: number): number {
    return this.listAt(slot) + this.form.width;
  }

  /** Takes over what is kept once of a block of the same form. */
  copyCommon({ bytes, commonAddress: at }: SlotBlock): void {
    this.bytes.set(bytes.subarray(at, at + this.form.commonBytes), this.commonAddress);
  }

  /** Takes over a vector, without its links, of a block of the same form. */
  copyVector(from: SlotBlock, fromSlot: number, toSlot: number): void {
    const at = from.address(fromSlot);
    const end = at + this.form.vectorBytes + this.form.extraBytes;
    this.bytes.set(from.bytes.subarray(at, end), this.address(toSlot));
  }

  header(word: number): number {
    return Atomics.load(this.words, word);
  }

  setHeader(word: number, value: number): void {
    Atomics.store(this.words, word, value);
  }

  /** Room for lists of so many levels. @returns the word at which they begin */
  takeUpper(levels: number): number {
    // Word 0 means none.
    const at = Math.max(1, this.header(headerWord.upperUsed));
    const used = at + levels * this.form.width;
    const { upper } = this.shared;
    if (used * 4 > upper.byteLength)
      upper.grow(Math.min(upperBytesMax, Math.max(65_536, used * 8)));
    this.setHeader(headerWord.upperUsed, used);
    return at;
  }
}

function newShared(): SharedBlock {
  return {
    memory: newMemory(),
    upper: new SharedArrayBuffer(0, { maxByteLength: upperBytesMax }),
  };
}

function viewsOf({ buffer }: SharedMemory) {
  return {
    words: new Int32Array(buffer),
    floats: new Float32Array(buffer),
    bytes: new Uint8Array(buffer),
  };
}
