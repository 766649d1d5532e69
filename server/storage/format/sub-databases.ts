import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId, IndexId, PropertyId, Rid, TypeId } from '#core/value/rid.ts';
import type { Direction } from './direction.ts';
import { viewOf } from './bytes.ts';
import { isUntouchedCopy, requireEnvironmentFile, reserveLockFile } from '../environment/file.ts';
import { isDiskFull } from '../storage-failure.ts';

// The sub-databases of one environment and the bytes of their keys (storage.md 3): the only file that knows them.
// Integers in keys are big-endian. Keys are written straight into LMDB's key buffer from the small key objects below;
// one object of each kind is reused for all reads.

/** Block number above the bucket: `bucket * 2^32 + block`, a whole number below 2^48. */
export type BlockKey = number;

export function blockKey(bucket: BucketId | number, block: number): BlockKey {
  return bucket * 2 ** 32 + block;
}

/** Anything that can write itself as a key. */
export interface Key {
  /** @returns the end */
  write(target: Uint8Array, start: number): number;
}

const noBytes = new Uint8Array(0);

export class BytesKey implements Key {
  bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
  write(target: Uint8Array, start: number): number {
    return copyInto(target, start, this.bytes);
  }
}

/** bucket u16, block number u32 */
export class BlkKey implements Key {
  key: BlockKey = 0;
  write(target: Uint8Array, start: number): number {
    writeU16(target, start, Math.floor(this.key / 2 ** 32));
    writeU32(target, start + 2, this.key % 2 ** 32);
    return start + 6;
  }
}

/** RID, property id u16 */
export class BigKey implements Key {
  rid = 0 as Rid;
  property = 0 as PropertyId;
  write(target: Uint8Array, start: number): number {
    writeRid(target, start, this.rid);
    writeU16(target, start + 7, this.property);
    return start + 9;
  }
}

/** vertex RID, direction u8 (0 out, 1 in), edge type u16, chunk u32 */
export class AdjKey implements Key {
  vertex = 0 as Rid;
  direction: Direction = 'out';
  type = 0 as TypeId;
  chunk = 0;
  write(target: Uint8Array, start: number): number {
    writeRid(target, start, this.vertex);
    target[start + 7] = this.direction === 'out' ? 0 : 1;
    writeU16(target, start + 8, this.type);
    writeU32(target, start + 10, this.chunk);
    return start + adjKeySize;
  }
}

export const adjKeySize = 14;

/** FF, run u32, edge type u16, direction u8, first vertex RID, part u32. The FF keeps other kinds of keys possible beside them. */
export class EdgePageKey implements Key {
  run = 0;
  type = 0 as TypeId;
  direction: Direction = 'out';
  vertex = 0 as Rid;
  part = 0;
  write(target: Uint8Array, start: number): number {
    target[start] = 0xff;
    writeU32(target, start + 1, this.run);
    writeU16(target, start + 5, this.type);
    target[start + 7] = this.direction === 'out' ? 0 : 1;
    writeRid(target, start + 8, this.vertex);
    writeU32(target, start + 15, this.part);
    return start + edgePageKeySize;
  }
}

export const edgePageKeySize = 19;

/** Vertex and part of the page key that starts in `bytes`. */
export function readEdgePageKey(bytes: Uint8Array, start: number): { vertex: Rid; part: number } {
  const part = viewOf(bytes).getUint32(start + 15);
  return { vertex: readRidBytes(bytes, start + 8), part };
}

/** index id u32, key components; the RID of non-unique entries is part of `components`. */
export class IxKey implements Key {
  index = 0 as IndexId;
  // One for all: a view of its own for each of the hundred thousands of a large commit, which never is looked at, takes 100 ns.
  components: Uint8Array = noBytes;
  write(target: Uint8Array, start: number): number {
    writeU32(target, start, this.index);
    return copyInto(target, start + 4, this.components);
  }
}

/** For a key a loop is cheaper than a view and a call. @returns the end */
function copyInto(target: Uint8Array, start: number, bytes: Uint8Array): number {
  const length = bytes.length;
  if (length > 64) target.set(bytes, start);
  else for (let i = 0; i < length; i++) target[start + i] = bytes[i] as number;
  return start + length;
}

/** Entries of an index start with this many bytes before their key. */
export const indexPrefixSize = 4;
export const ridSize = 7;

function writeU16(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 8;
  target[at + 1] = value;
}

function writeU32(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

/** bucket u16, position u40 */
export function writeRid(target: Uint8Array, at: number, rid: Rid): void {
  const position = rid % 2 ** 37;
  writeU16(target, at, Math.floor(rid / 2 ** 37));
  target[at + 2] = Math.floor(position / 2 ** 32);
  writeU32(target, at + 3, position % 2 ** 32);
}

export function readRidBytes(bytes: Uint8Array, at: number): Rid {
  const bucket = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  const low =
    (((bytes[at + 3] as number) << 24) |
      ((bytes[at + 4] as number) << 16) |
      ((bytes[at + 5] as number) << 8) |
      (bytes[at + 6] as number)) >>>
    0;
  return (bucket * 2 ** 37 + (bytes[at + 2] as number) * 2 ** 32 + low) as Rid;
}

/** The bytes of a key, for checksums and lists. */
export function keyBytes(key: Key, scratch: Uint8Array): Uint8Array {
  return scratch.subarray(0, key.write(scratch, 0));
}

export function metaKey(name: string): BytesKey {
  return new BytesKey(Buffer.from(name, 'latin1'));
}

/**
 * Receives the keys of a range while it is read, so that none is copied twice: they are laid one behind the other.
 */
export class KeySink {
  bytes: Buffer = Buffer.allocUnsafeSlow(4096);
  length = 0;
  append(source: Uint8Array, start: number, end: number): number {
    if (this.length + end - start > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(this.bytes.length * 2 + end - start);
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }
    let at = this.length;
    for (let i = start; i < end; i++) this.bytes[at++] = source[i] as number;
    this.length = at;
    return at;
  }
}

/** A sub-database whose keys are `Key`s and whose values are bytes as they are. */
export interface Store {
  /** Bytes of the value that the last get found. */
  readonly lastSize: number;
  /** The value in a buffer that the next get overwrites and that may be longer than the value. */
  getBinaryFast(key: Key, options: ReadOptions): Buffer | undefined;
  /** Keys go to the sink, of which `key` is the new length. */
  getRange(options: RangeOptions): Iterable<RangeEntry>;
  /** Only the keys, as lengths of the sink. */
  getKeys(options: RangeOptions): Iterable<number>;
  /** Inside a batch only. The bytes must not change until the batch is committed. */
  put(key: Key, value: Uint8Array): void;
  remove(key: Key): void;
}

export interface RangeOptions extends ReadOptions {
  readonly start: Key;
  readonly end: Key;
  readonly exclusiveStart?: boolean;
  readonly inclusiveEnd?: boolean;
  readonly reverse?: boolean;
  readonly limit: number;
}

export interface RangeEntry {
  readonly key: number;
  /** A record id, `noValue`, or `removedEntry`. */
  readonly value: number;
}

export interface ReadOptions {
  readonly transaction: ReadTransaction;
}

/** What the binding calls Transaction. */
export type ReadTransaction = ReturnType<RootDatabase['useReadTransaction']>;

export interface SubDatabases {
  readonly directory: string;
  readonly root: RootDatabase;
  /** Whether lists of instructions may be handed to LMDB's own thread (`write-instructions.ts`): not to what stands in its place. */
  readonly takesInstructions: boolean;
  readonly meta: Store;
  readonly blk: Store;
  readonly big: Store;
  readonly adj: Store;
  readonly ix: Store;
  readonly ft: Store;
  /** Pages of edge runs (`edge-page.ts`), in a sub-database that every database has had, and nothing has used before. */
  readonly runs: Store;
  readonly job: Store;
  /** Where `getRange` of any store puts its keys. */
  readonly sink: KeySink;
}

export interface OpenOptions {
  readonly directory: string;
  /** Address space to begin with; grows by itself. */
  readonly mapSizeBytes: number;
  /** Read transactions that may be open at once. */
  readonly readersMax: number;
  /** By a thread beside the one that writes, which has it open and gives the environment to both. */
  readonly isReader?: boolean;
  readonly openEnvironment?: OpenEnvironment | undefined;
}

/** Not all of these are in the published types. */
export type EnvironmentSettings = RootDatabaseOptionsWithPath & {
  readonly txnStartThreshold: number;
};

/** Opens the environment in a directory, as LMDB does: the one way to it. A simulation puts something else in its place. */
export type OpenEnvironment = (settings: EnvironmentSettings) => RootDatabase;

/** The highest key of a store as the newest transaction left it; empty when there is none. */
export function lastKeyOf(store: Store, { root, sink }: SubDatabases): Uint8Array {
  // The state that the binding keeps for reads may be an older one.
  root.resetReadTxn();
  const transaction = root.useReadTransaction();
  try {
    sink.length = 0;
    const range = { start: aboveAll, end: belowAll, reverse: true, limit: 1, transaction };
    for (const end of store.getKeys(range)) return new Uint8Array(sink.bytes.subarray(0, end));
    return new Uint8Array();
  } finally {
    transaction.done();
  }
}

export const belowAll = new BytesKey(new Uint8Array(1));
export const aboveAll = new BytesKey(new Uint8Array(32).fill(255));

/** Opens the environment with all of its sub-databases; makes them when the directory is empty. */
export function openSubDatabases(options: OpenOptions): SubDatabases {
  const sink = new KeySink();
  const codec = {
    encoder: { encode: same, decode: decodeRange },
    keyEncoder: {
      writeKey: (key: Key, target: Uint8Array, start: number) => key.write(target, start),
      readKey: (source: Uint8Array, start: number, end: number) => sink.append(source, start, end),
    },
  };
  const isReader = options.isReader === true;
  if (!isReader) {
    requireEnvironmentFile(options.directory);
    reserveLockFile(options.directory, options.readersMax);
  }
  const isCopy = !isReader && isUntouchedCopy(options.directory);
  const settings: EnvironmentSettings = {
    path: options.directory,
    // A directory name with a dot in it would otherwise be taken for a file.
    noSubdir: false,
    overlappingSync: false,
    // Several commits of one turn are gathered by the engine, not by the binding.
    eventTurnBatching: false,
    // Start a transaction as soon as its batch is complete.
    txnStartThreshold: 1,
    mapSize: options.mapSizeBytes,
    pageSize: 4096,
    maxDbs: 32,
    maxReaders: options.readersMax,
    readOnly: isReader,
    ...codec,
  };
  try {
    const root = (options.openEnvironment ?? open)(settings);
    const store = (name: string): Store => root.openDB({ name, ...codec }) as unknown as Store;
    const subs = {
      directory: options.directory,
      root,
      takesInstructions: options.openEnvironment === undefined,
      meta: store('meta'),
      blk: store('blk'),
      big: store('big'),
      adj: store('adj'),
      ix: store('ix'),
      ft: store('ft'),
      runs: store('vec'),
      job: store('job'),
      sink,
    };
    if (isCopy) touch(subs, options.directory);
    return subs;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DatabaseError(
      'CorruptedRecord',
      `the database in '${options.directory}' cannot be opened: ${reason}`,
      { cause: error },
    );
  }
}

/** A small transaction that changes nothing; see `isUntouchedCopy`. */
function touch({ root, meta }: SubDatabases, directory: string): void {
  const key = new BytesKey(Buffer.from('copied'));
  try {
    root.transactionSync(() => {
      meta.put(key, new Uint8Array(1));
      meta.remove(key);
    });
  } catch (error) {
    // It is opened all the same, to be read; the next start tries again.
    if (!isDiskFull(error, directory)) throw error;
  }
}

function same(value: Uint8Array): Uint8Array {
  return value;
}

/** What a range gives for an entry without a value, and for one that says of a chunk's that it is gone. */
export const noValue = -1;
export const removedEntry = -2;
/** Bytes of the value of the latter. */
export const removedEntrySize = 1;

/** Values of ranges are read only as record ids: that of a unique entry, or what stands for something else. */
function decodeRange(bytes: Uint8Array, length: number): number {
  if (length === ridSize) return readRidBytes(bytes, 0);
  return length === removedEntrySize ? removedEntry : noValue;
}
