import { DatabaseError } from '#core/errors.ts';
import type { ByteText } from '#core/text/byte-text.ts';

/** A text as it was set, or a number that INCR has made. */
export type Stored = ByteText | number | bigint;

/** Where the operations on transient keys find and leave values. */
export interface Keys {
  get(key: ByteText): Stored | undefined;
  /** @throws DatabaseError `TooLarge` over `redis.transientMaxBytes`, with the old value in place */
  put(key: ByteText, value: Stored): void;
  remove(key: ByteText): void;
}

/** Notices whether keys were changed since it was told to look at them. */
export interface KeyWatch {
  isTouched: boolean;
}

/** What an entry takes beside its key and value: its place in the map and the heads of two texts, measured. */
const entryBytes = 96;

/**
 * Transient keys (contract 2): a map for each database and one of the server, in memory, shared by all who may use them, gone at a
 * restart. All of them together are bounded by `redis.transientMaxBytes`.
 */
export class KeyValueStore {
  /** Of the server, for connections without a database. */
  readonly ofServer: KeySpace;
  readonly isDatabase: (name: string) => boolean;
  readonly #ofDatabases = new Map<string, KeySpace>();
  readonly #bytesMax: () => number;
  #usedBytes = 0;
  /** Keys that a block is about to change, in all maps. */
  heldCount = 0;

  /** @param options `isDatabase` tells whether there is a database of that name */
  constructor(options: {
    readonly bytesMax: () => number;
    readonly isDatabase: (name: string) => boolean;
  }) {
    this.#bytesMax = options.bytesMax;
    this.isDatabase = options.isDatabase;
    this.ofServer = new KeySpace(this, undefined);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get keyCount(): number {
    let count = this.ofServer.size;
    for (const space of this.#ofDatabases.values()) count += space.size;
    return count;
  }

  ofDatabase(name: string): KeySpace {
    let space = this.#ofDatabases.get(name);
    if (space === undefined) {
      space = new KeySpace(this, name);
      this.#ofDatabases.set(name, space);
    }
    return space;
  }

  /** The database is gone, and its keys with it. */
  drop(name: string): void {
    this.#ofDatabases.get(name)?.clear();
    this.#ofDatabases.delete(name);
  }

  /** Does work while nobody else gets at the keys of these maps. It waits for blocks that are about to change some of them. */
  async alone<T>(spaces: ReadonlySet<KeySpace>, work: () => Promise<T>): Promise<T> {
    for (let held = firstHold(spaces); held !== undefined; held = firstHold(spaces)) await held;
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const space of spaces) space.close(ended);
    try {
      return await work();
    } finally {
      for (const space of spaces) space.reopen();
      end();
    }
  }

  /** @throws DatabaseError `TooLarge` */
  take(bytes: number): void {
    const used = this.#usedBytes + bytes;
    const max = this.#bytesMax();
    if (bytes > 0 && used > max)
      throw new DatabaseError(
        'TooLarge',
        `the transient keys would take ${used} bytes, more than service.redis.transientMaxBytes (${max})`,
      );
    this.#usedBytes = used;
  }

  /** As `take`, of what there is room for. */
  account(bytes: number): void {
    this.#usedBytes += bytes;
  }
}

function firstHold(spaces: ReadonlySet<KeySpace>): Promise<void> | undefined {
  for (const space of spaces) if (space.anyHold !== undefined) return space.anyHold;
  return undefined;
}

/** The transient keys of one database, or of the server. */
export class KeySpace implements Keys {
  /** Undefined: that of the server. */
  readonly database: string | undefined;
  readonly #store: KeyValueStore;
  readonly #values = new Map<ByteText, Stored>();
  readonly #watches = new Map<ByteText, Set<KeyWatch>>();
  readonly #holds = new Map<ByteText, Promise<void>>();
  /** Somebody has all of it for himself until then. */
  #closed: Promise<void> | undefined;

  constructor(store: KeyValueStore, database: string | undefined) {
    this.#store = store;
    this.database = database;
  }

  get size(): number {
    return this.#values.size;
  }

  keys(): IterableIterator<ByteText> {
    return this.#values.keys();
  }

  get(key: ByteText): Stored | undefined {
    return this.#values.get(key);
  }

  put(key: ByteText, value: Stored): void {
    const old = this.#values.get(key);
    this.#store.take(
      old === undefined
        ? key.length + entryBytes + bytesOfValue(value)
        : bytesOfValue(value) - bytesOfValue(old),
    );
    this.#values.set(key, value);
    if (this.#watches.size > 0) this.#touch(key);
  }

  remove(key: ByteText): void {
    const old = this.#values.get(key);
    if (old === undefined) return;
    this.#values.delete(key);
    this.#store.take(-(key.length + entryBytes + bytesOfValue(old)));
    if (this.#watches.size > 0) this.#touch(key);
  }

  /** A change for which `prepare` of a block made room. */
  apply(key: ByteText, value: Stored | undefined): void {
    this.#store.account(this.costOf(key, value));
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    if (this.#watches.size > 0) this.#touch(key);
  }

  clear(): void {
    for (const key of [...this.#values.keys()]) this.remove(key);
  }

  /** What `put` would take. */
  costOf(key: ByteText, value: Stored | undefined): number {
    const old = this.#values.get(key);
    const before = old === undefined ? 0 : key.length + entryBytes + bytesOfValue(old);
    const after = value === undefined ? 0 : key.length + entryBytes + bytesOfValue(value);
    return after - before;
  }

  watch(key: ByteText, watch: KeyWatch): void {
    const known = this.#watches.get(key);
    if (known === undefined) this.#watches.set(key, new Set([watch]));
    else known.add(watch);
  }

  unwatch(key: ByteText, watch: KeyWatch): void {
    const known = this.#watches.get(key);
    if (known === undefined || !known.delete(watch)) return;
    if (known.size === 0) this.#watches.delete(key);
  }

  /** Resolves when the block or long command that is about to change the key has ended; undefined when there is none. */
  holdOn(key: ByteText): Promise<void> | undefined {
    return this.#store.heldCount === 0 ? undefined : (this.#closed ?? this.#holds.get(key));
  }

  /** As `holdOn`, for any key. */
  get anyHold(): Promise<void> | undefined {
    return this.#closed ?? this.#holds.values().next().value;
  }

  /** Until `reopen` every key is held. */
  close(ended: Promise<void>): void {
    this.#closed = ended;
    this.#store.heldCount += 1;
  }

  reopen(): void {
    this.#closed = undefined;
    this.#store.heldCount -= 1;
  }

  hold(key: ByteText, ended: Promise<void>): void {
    this.#holds.set(key, ended);
    this.#store.heldCount += 1;
  }

  letGo(key: ByteText): void {
    if (this.#holds.delete(key)) this.#store.heldCount -= 1;
  }

  #touch(key: ByteText): void {
    const watches = this.#watches.get(key);
    if (watches !== undefined) for (const watch of watches) watch.isTouched = true;
  }
}

function bytesOfValue(value: Stored): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'number' ? 8 : 24;
}
