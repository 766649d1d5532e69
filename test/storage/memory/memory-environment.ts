import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import type { EnvironmentSettings, Key, RangeOptions } from '#storage/format/sub-databases.ts';
import { changed, noState, type State, type Table, tableOf } from './ordered-state.ts';

/*
 * What stands in the place of LMDB where thousands of servers are simulated: ordered maps with pinned states and atomic, durable
 * transactions, in memory, by the calls of the binding that storage makes. The real engine runs above it. It is stricter than
 * LMDB: a state is not read after its end, nor anything inside of a transaction, and a newer state is seen only by who asks for
 * it. What it holds belongs to a directory, as LMDB's file does, and goes along when that gets another name.
 * `environments.test.ts` compares it with LMDB.
 */

interface Codec {
  readonly keyEncoder: {
    writeKey(key: Key, target: Uint8Array, start: number): number;
    readKey(source: Uint8Array, start: number, end: number): number;
  };
  readonly encoder: {
    decode(bytes: Uint8Array, length: number): number;
  };
}

/** One write of a transaction. The bytes are taken when it ends; LMDB's thread reads them some time between. */
interface Gathered {
  readonly store: string;
  readonly key: string;
  readonly bytes: Uint8Array | undefined;
}

const idFileName = 'memory-environment';
const dataFileName = 'data.mdb';
/** Of LMDB with pages of 4 KB, as the binding has it. */
const maxKeySize = 1978;

/** What the disk holds of one environment. */
class Durable {
  state: State;
  /** Transactions that are on their way to it, in order. */
  readonly underWay: (readonly Gathered[])[] = [];

  constructor(state: State) {
    this.state = state;
  }

  commit(gathered: readonly Gathered[]): void {
    this.state = changed(this.state, gathered);
  }
}

/** The environments of one simulated machine. */
export class MemoryEnvironments {
  readonly #pause: () => Promise<void>;
  #durable = new Map<string, Durable>();
  #made = 0;

  /** @param pause what a transaction takes until it is durable */
  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
  }

  /** In place of `open` of the binding. */
  readonly open = ({ path = '' }: EnvironmentSettings): RootDatabase => {
    if (!existsSync(join(path, idFileName))) this.#make(path, noState);
    const durable = this.#durable.get(readFileSync(join(path, idFileName), 'utf8'));
    assert.ok(durable, `the memory of '${path}' is there`);
    const copyTo = (directory: string, state: State) => this.#make(directory, state);
    return new MemoryRoot(durable, this.#pause, copyTo) as unknown as RootDatabase;
  };

  /**
   * The power fails. Whoever has an environment open goes on with one that nobody sees; what is opened from now on has what was
   * durable.
   * @param survives whether a transaction that was on its way is there, as a whole, or not at all
   */
  cut(survives: () => boolean): void {
    const left = new Map<string, Durable>();
    for (const [id, { state, underWay }] of this.#durable) {
      const next = new Durable(state);
      // In order: without one there is none of those behind it.
      for (const gathered of underWay) {
        if (!survives()) break;
        next.commit(gathered);
      }
      left.set(id, next);
    }
    this.#durable = left;
  }

  #make(directory: string, state: State): void {
    this.#made += 1;
    const id = String(this.#made);
    this.#durable.set(id, new Durable(state));
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, idFileName), id);
    // Empty: whoever looks for a database by its file finds one.
    writeFileSync(join(directory, dataFileName), '');
  }
}

/** What a read transaction sees, shared by all who ask before the next look. */
class PinnedState {
  readonly state: State;
  #users = 0;

  constructor(state: State) {
    this.state = state;
  }

  get isOpen(): boolean {
    return this.#users > 0;
  }

  use(): this {
    this.#users += 1;
    return this;
  }

  done(): void {
    assert.ok(this.isOpen, 'a read transaction ends once');
    this.#users -= 1;
  }
}

/** One open environment, with what of the binding's root storage calls. */
class MemoryRoot {
  readonly maxKeySize = maxKeySize;
  readonly #durable: Durable;
  readonly #pause: () => Promise<void>;
  readonly #copyTo: (directory: string, state: State) => void;
  /** Kept until it is told to look anew. The binding does so by itself, too, at times that nobody knows. */
  #read: PinnedState | undefined;
  /** Of the transaction whose action runs now. */
  #gathered: Gathered[] | undefined;
  #isOpen = true;
  /** Closed from the outside, in one turn (`renewal.ts`). */
  readonly env = {
    address: 1,
    close: () => {
      assert.equal(this.#durable.underWay.length, 0, 'what is under way ends before');
      this.#isOpen = false;
    },
  };

  constructor(
    durable: Durable,
    pause: () => Promise<void>,
    copyTo: (directory: string, state: State) => void,
  ) {
    this.#durable = durable;
    this.#pause = pause;
    this.#copyTo = copyTo;
  }

  openDB({ name, ...codec }: Codec & { readonly name: string }): MemoryStore {
    return new MemoryStore(name, codec, this);
  }

  useReadTransaction(): PinnedState {
    this.requireReadable();
    this.#read ??= new PinnedState(this.#durable.state);
    return this.#read.use();
  }

  resetReadTxn(): void {
    this.#read = undefined;
  }

  transactionSync<T>(action: () => T): T {
    const { result, gathered } = this.#gather(action);
    assert.equal(this.#durable.underWay.length, 0, 'LMDB would wait for the one before, in place');
    this.#durable.commit(gathered);
    this.resetReadTxn();
    return result;
  }

  async batch(action: () => unknown): Promise<boolean> {
    const { gathered } = this.#gather(action);
    const { underWay } = this.#durable;
    underWay.push(gathered);
    await this.#pause();
    assert.equal(underWay.shift(), gathered, 'one transaction after the other');
    this.#durable.commit(gathered);
    return true;
  }

  async backup(directory: string): Promise<void> {
    const { state } = this.#durable;
    await this.#pause();
    this.#copyTo(directory, state);
  }

  async close(): Promise<void> {
    this.env.close();
  }

  write(gathered: Gathered): void {
    assert.ok(this.#gathered, 'a write belongs into a transaction');
    this.#gathered.push(gathered);
  }

  /** LMDB would show what the transaction has written so far, and after the end anything. */
  requireReadable(): void {
    assert.ok(this.#isOpen && this.#gathered === undefined, 'an open environment is read');
  }

  #gather<T>(action: () => T): { readonly result: T; readonly gathered: readonly Gathered[] } {
    this.requireReadable();
    const gathered: Gathered[] = [];
    this.#gathered = gathered;
    try {
      return { result: action(), gathered };
    } finally {
      this.#gathered = undefined;
    }
  }
}

/** As the binding's, one for all: what a get found is there until the next one. */
let shared = Buffer.allocUnsafeSlow(4096);
const keyScratch = Buffer.allocUnsafeSlow(16 * 1024);

class MemoryStore {
  lastSize = 0;
  readonly #name: string;
  readonly #codec: Codec;
  readonly #root: MemoryRoot;

  constructor(name: string, codec: Codec, root: MemoryRoot) {
    this.#name = name;
    this.#codec = codec;
    this.#root = root;
  }

  put(key: Key, value: Uint8Array & { readonly start?: number; readonly end?: number }): void {
    const { start = 0, end = value.length } = value;
    const bytes = value.subarray(start, end);
    this.#root.write({ store: this.#name, key: this.#keyToWrite(key), bytes });
  }

  remove(key: Key): void {
    this.#root.write({ store: this.#name, key: this.#keyToWrite(key), bytes: undefined });
  }

  getBinaryFast(key: Key, { transaction }: Pick<RangeOptions, 'transaction'>): Buffer | undefined {
    const table = this.#table(transaction);
    const text = this.#keyOf(key);
    const at = placeOf(table, text);
    if (table.keys[at] !== text) return undefined;
    const value = table.values[at] as Uint8Array;
    if (value.length > shared.length) shared = Buffer.allocUnsafeSlow(value.length * 2);
    shared.set(value);
    this.lastSize = value.length;
    return shared;
  }

  *getRange(
    options: RangeOptions,
  ): Generator<{ readonly key: number; readonly value: number }, void> {
    const { encoder } = this.#codec;
    for (const { key, value } of this.#between(options))
      yield { key: this.#given(key), value: encoder.decode(value, value.length) };
  }

  *getKeys(options: RangeOptions): Generator<number, void> {
    for (const { key } of this.#between(options)) yield this.#given(key);
  }

  /** Each is looked at when it is its turn, as a cursor does. */
  *#between(options: RangeOptions): Generator<{ key: string; value: Uint8Array }, void> {
    const { start, end, exclusiveStart = false, inclusiveEnd = false } = options;
    const { reverse = false, limit, transaction } = options;
    const [first, last] = [this.#keyOf(start), this.#keyOf(end)];
    const step = reverse ? -1 : 1;
    let table = this.#table(transaction);
    let at = placeOf(table, first);
    const isThere = table.keys[at] === first;
    if (isThere ? exclusiveStart : reverse) at += step;
    for (let count = 0; count < limit; count++, at += step) {
      table = this.#table(transaction);
      const key = table.keys[at];
      if (key === undefined) return;
      const isBeyond = reverse ? key < last : key > last;
      if (isBeyond || (key === last && !inclusiveEnd)) return;
      yield { key, value: table.values[at] as Uint8Array };
    }
  }

  #table(transaction: unknown): Table {
    this.#root.requireReadable();
    assert.ok(transaction instanceof PinnedState && transaction.isOpen, 'an open state is read');
    return tableOf(transaction.state, this.#name);
  }

  #given(key: string): number {
    const length = keyScratch.write(key, 0, 'latin1');
    return this.#codec.keyEncoder.readKey(keyScratch, 0, length);
  }

  #keyOf(key: Key): string {
    const end = this.#codec.keyEncoder.writeKey(key, keyScratch, 0);
    return keyScratch.toString('latin1', 0, end);
  }

  #keyToWrite(key: Key): string {
    const text = this.#keyOf(key);
    if (text.length === 0 || text.length > maxKeySize)
      throw new Error(`a key of ${text.length} bytes is not within 1 to ${maxKeySize}`);
    return text;
  }
}

/** Of the key, or of the first one behind it. */
function placeOf({ keys }: Table, key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
