import * as binding from 'lmdb';
import { DatabaseError } from '#core/errors.ts';
import type { ValueSource } from './image-memory.ts';
import { type Key, lastKeyOf, type Store, type SubDatabases } from '../format/sub-databases.ts';

/*
 * Many writes as one LMDB transaction, gathered over many turns of the event loop. A batch of the binding has to be filled in
 * one turn and makes an object for each write: 300,000 of them hold everybody up for half a second. So the list of
 * instructions that the binding's writer thread works off is laid out here, in the binding's form (the head of its
 * `writer.cpp`; its version is fixed), and handed over when it is complete.
 *
 * An instruction, on a multiple of 8: u32 flags, u32 store, u32 key length, the key, at least a zero word; a put has u32 value
 * length and f64 address of the value behind it, again on a multiple of 8. A zero ends the list; the thread puts the outcome
 * there.
 */

const put = 15;
/** Behind every key that the store has; a key that is not there would be passed over without a word. */
const appends = 0x20000;
const remove = 13;
const nextPiece = 3;
const outcome = { failed: 0x40000000, committed: 0x10000000 } as const;

const pieceBytes = 64 * 1024;
/** What an instruction takes beside its key, with room for the way to the next piece. */
const roomBeside = 64;

interface Environment {
  startWriting(address: number, ended: (status: number) => void): void;
}

interface Addresses {
  getAddress(memory: ArrayBufferLike): number;
  /** @throws Error that says what the number means */
  lmdbError(status: number): void;
}

/** What the binding does not list among its types. */
const { nativeAddon: addresses } = binding as unknown as { readonly nativeAddon: Addresses };

type Writable = Pick<Store, 'put' | 'remove'>;
type Source = ValueSource & { address?: number };

class Piece {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  readonly numbers: Float64Array;
  readonly address: number;

  constructor() {
    const memory = new ArrayBuffer(pieceBytes);
    // Of the kind that keys are written into elsewhere: code for one kind is the fastest.
    this.bytes = Buffer.from(memory);
    this.words = new Uint32Array(memory);
    this.numbers = new Float64Array(memory);
    this.address = addresses.getAddress(memory);
  }
}

/** The last key of a store. */
interface LastKey {
  bytes: Uint8Array;
  start: number;
  end: number;
}

/** The writes of one LMDB transaction, in order. Values must stay as they are until `carryOut` is over. */
export class WriteInstructions {
  readonly #subs: SubDatabases;
  /** All of them, so that none is collected while it is worked off. */
  readonly #pieces: Piece[] = [];
  readonly #keyMax: number;
  /** By store, with the writes so far: what comes behind is put there without a search, and fills pages to the end. */
  readonly #lastKeys = new Map<number, LastKey>();
  #piece: Piece;
  #at = 8;

  constructor(subs: SubDatabases) {
    this.#subs = subs;
    this.#keyMax = (subs.root as unknown as { readonly maxKeySize: number }).maxKeySize;
    this.#piece = this.#addPiece();
  }

  /** Takes writes to a store, with values that are the buffers of slabs. */
  into(store: Store): Writable {
    const dbi = dbiOf(store);
    const last = this.#lastKeyOf(store, dbi);
    return {
      put: (key, value) => this.#put(dbi, key, value as Source, last),
      remove: (key) => this.#remove(dbi, key),
    };
  }

  /**
   * Hands the writes to the writer thread, while no other transaction is under way. Resolves when they are durable.
   * @throws Error of the binding; nothing was written then
   */
  async carryOut(): Promise<void> {
    const root = this.#subs.root as unknown as { readonly env: Environment };
    const first = (this.#pieces[0] as Piece).address + 8;
    const { words } = this.#piece;
    const end = this.#at / 4;
    await new Promise<void>((resolve, reject) => {
      root.env.startWriting(first, (status) => {
        const found = Atomics.load(words, end);
        if ((found & outcome.committed) !== 0) resolve();
        else reject(errorFor(status));
      });
    });
    // The state that the binding keeps for reads without one of their own is of before.
    (root as unknown as { resetReadTxn(): void }).resetReadTxn();
  }

  #lastKeyOf(store: Store, dbi: number): LastKey {
    let last = this.#lastKeys.get(dbi);
    if (last === undefined) {
      const bytes = lastKeyOf(store, this.#subs);
      last = { bytes, start: 0, end: bytes.length };
      this.#lastKeys.set(dbi, last);
    }
    return last;
  }

  #put(dbi: number, key: Key, value: Source, last: LastKey): void {
    const at = this.#begin(dbi, key, put, last);
    value.address ??= addresses.getAddress(value.buffer);
    this.#piece.words[at / 4 - 1] = value.end - value.start;
    this.#piece.numbers[at / 8] = value.address + value.start;
    this.#at = at + 8;
  }

  #remove(dbi: number, key: Key): void {
    this.#at = this.#begin(dbi, key, remove);
  }

  /** @returns where the instruction goes on behind its key */
  #begin(dbi: number, key: Key, flags: number, last?: LastKey): number {
    if (this.#at + this.#keyMax + roomBeside > pieceBytes) this.#turnPage();
    const { bytes, words } = this.#piece;
    const at = this.#at;
    const start = at + 12;
    const end = key.write(bytes, start);
    if (end > start + this.#keyMax) {
      throw new DatabaseError(
        'Internal',
        `a key of ${end - start} bytes is above LMDB's limit of ${this.#keyMax}`,
      );
    }
    const isLast = last !== undefined && isBehind(bytes, start, end, last);
    words[at / 4] = isLast ? flags | appends : flags;
    words[at / 4 + 1] = dbi;
    words[at / 4 + 2] = end - start;
    if (isLast) {
      last.bytes = bytes;
      last.start = start;
      last.end = end;
    }
    return (end + 16) & ~7;
  }

  #turnPage(): void {
    const { words, numbers } = this.#piece;
    const next = this.#addPiece();
    words[this.#at / 4] = nextPiece;
    numbers[this.#at / 8 + 1] = next.address + 8;
    this.#piece = next;
    this.#at = 8;
  }

  #addPiece(): Piece {
    const piece = new Piece();
    this.#pieces.push(piece);
    return piece;
  }
}

/** Whether the key `bytes[start, end)` sorts behind the other. */
function isBehind(bytes: Uint8Array, start: number, end: number, other: LastKey): boolean {
  const { bytes: otherBytes, end: otherEnd } = other;
  let at = start;
  for (let i = other.start; i < otherEnd; i += 1, at += 1) {
    if (at === end) return false;
    const difference = (bytes[at] as number) - (otherBytes[i] as number);
    if (difference !== 0) return difference > 0;
  }
  return at < end;
}

function dbiOf(store: Store): number {
  return (store as unknown as { readonly db: { readonly dbi: number } }).db.dbi;
}

function errorFor(status: number): unknown {
  try {
    addresses.lmdbError(status);
  } catch (error) {
    return error;
  }
  return new Error(`LMDB refused a transaction with status ${status}`);
}
