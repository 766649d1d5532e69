import { viewOf } from '../format/bytes.ts';

// Pages of LMDB's data format 2 as the pinned binding writes them (its mdb.c: MDB_page_header, MDB_node, MDB_ovpage), read
// without LMDB, which trusts what it maps.

export const pageSize = 4096;
export const pageHeaderSize = 24;
const nodeHeaderSize = 8;
const overflowReferenceSize = 24;
const keySizeMax = 1978;

const pageFlag = { branch: 1, leaf: 2, overflow: 4 } as const;
const nodeFlag = { overflow: 1, subDatabase: 2 } as const;

/** Where the value of a node lies outside of its page. */
export interface OverflowRun {
  readonly first: number;
  readonly pages: number;
  readonly transaction: number;
}

/** How the first page of a run begins. */
export function overflowHeader({ first, pages, transaction }: OverflowRun): Buffer {
  const header = Buffer.alloc(pageHeaderSize);
  header.writeBigUInt64LE(BigInt(first), 0);
  header.writeBigUInt64LE(BigInt(transaction), 8);
  header.writeUInt16LE(pageFlag.overflow, 18);
  header.writeUInt32LE(pages, 20);
  return header;
}

/** Pages that a value needs outside of its leaf. */
export function overflowPagesOf(bytes: number): number {
  return Math.floor((pageHeaderSize - 1 + bytes) / pageSize) + 1;
}

/** 8 bytes as a number; exact up to 2^53, and that is what page numbers are compared with. */
export function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

/** One branch or leaf page, in a buffer that may hold several. One object is used for all pages of a walk. */
export class TreePage {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  /** For each even offset behind the header: whether a node starts there. */
  readonly #starts = new Uint8Array(pageSize / 2);
  #at = 0;
  /** Nodes on the page. */
  count = 0;
  isLeaf = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /**
   * Looks at the page that starts at `at`.
   * @param transaction newest one there is
   * @returns what is wrong with its form; undefined when nothing is
   */
  load(at: number, page: number, transaction: number): string | undefined {
    const view = this.#view;
    this.#at = at;
    if (readU64(view, at) !== page) return 'it bears another number';
    if (readU64(view, at + 8) > transaction) return 'it is of a transaction that never was';
    const flags = view.getUint16(at + 18, true);
    if (flags !== pageFlag.branch && flags !== pageFlag.leaf) return `its flags are ${flags}`;
    this.isLeaf = flags === pageFlag.leaf;
    const lower = view.getUint16(at + 20, true);
    const upper = view.getUint16(at + 22, true);
    if (lower % 2 !== 0 || lower > upper || upper > pageSize - pageHeaderSize)
      return `its bounds are ${lower} and ${upper}`;
    this.count = lower / 2;
    if (!this.isLeaf && this.count < 2) return 'it branches nowhere';
    return this.#faultOfNodes(upper);
  }

  /** Nodes lie one behind the other from `upper` to the end of the page, in any order. */
  #faultOfNodes(upper: number): string | undefined {
    const starts = this.#starts.fill(0);
    const end = pageSize - pageHeaderSize;
    let total = 0;
    for (let i = 0; i < this.count; i++) {
      const start = this.#pointer(i);
      if (start % 2 !== 0 || start < upper || start + nodeHeaderSize > end)
        return `entry ${i} starts at ${start}`;
      if (starts[start / 2] === 1) return `entry ${i} is there twice`;
      starts[start / 2] = 1;
      const size = this.#sizeOf(i);
      if (start + size > end) return `entry ${i} does not fit`;
      total += size;
    }
    if (total !== end - upper) return 'its entries do not fill it';
    for (let i = 0; i < this.count; i++) {
      const next = this.#pointer(i) + this.#sizeOf(i);
      if (next !== end && starts[next / 2] !== 1) return `entry ${i} overlaps another one`;
    }
    return undefined;
  }

  #pointer(i: number): number {
    return this.#view.getUint16(this.#at + pageHeaderSize + 2 * i, true);
  }

  #node(i: number): number {
    return this.#at + pageHeaderSize + this.#pointer(i);
  }

  #sizeOf(i: number): number {
    const value = this.isLeaf ? (this.isOutside(i) ? overflowReferenceSize : this.valueSize(i)) : 0;
    const size = nodeHeaderSize + this.keySize(i) + value;
    return size + (size % 2);
  }

  keySize(i: number): number {
    return this.#view.getUint16(this.#node(i) + 6, true);
  }

  /** Of a leaf, wherever the value lies. */
  valueSize(i: number): number {
    return this.#view.getUint32(this.#node(i), true);
  }

  /** Offset in `bytes` of what stands behind the key. */
  valueStart(i: number): number {
    return this.#node(i) + nodeHeaderSize + this.keySize(i);
  }

  keyStart(i: number): number {
    return this.#node(i) + nodeHeaderSize;
  }

  /** Page below a node of a branch. */
  child(i: number): number {
    const node = this.#node(i);
    return this.#view.getUint32(node, true) + this.#view.getUint16(node + 4, true) * 2 ** 32;
  }

  isOutside(i: number): boolean {
    return this.#flags(i) === nodeFlag.overflow;
  }

  isSubDatabase(i: number): boolean {
    return this.#flags(i) === nodeFlag.subDatabase;
  }

  #flags(i: number): number {
    return this.#view.getUint16(this.#node(i) + 4, true);
  }

  /** @returns what is wrong with an entry of a leaf besides its place */
  faultOfEntry(i: number, mayNameDatabases: boolean): string | undefined {
    const flags = this.#flags(i);
    if (flags > nodeFlag.subDatabase || (flags === nodeFlag.subDatabase && !mayNameDatabases))
      return `the flags of entry ${i} are ${flags}`;
    const size = this.keySize(i);
    return size === 0 || size > keySizeMax ? `the key of entry ${i} has ${size} bytes` : undefined;
  }

  /** Of a value outside. @returns undefined when it contradicts itself */
  overflow(i: number, transaction: number): OverflowRun | undefined {
    const at = this.valueStart(i);
    const first = readU64(this.#view, at);
    const pages = readU64(this.#view, at + 16);
    const written = readU64(this.#view, at + 8);
    // A value that was replaced by a shorter one keeps its pages.
    if (written > transaction || pages < overflowPagesOf(this.valueSize(i))) return undefined;
    return { first, pages, transaction: written };
  }
}
