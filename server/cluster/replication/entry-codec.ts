import { DatabaseError } from '#core/errors.ts';

// What stands in one entry of the Raft log (ha.md 5.1). Numbers are little-endian.
//
//   u8 format version   u8 kind   u8 flags   u8 0   u32 body length   f64 wall time (epoch ms of the leader)   f64 txId
//   database kinds only: 16 bytes, the uuid of the database
//   body
//
// Bodies: write-sets.ts for `transaction` and `rows`; those of server kinds belong to the folder `catalog`.

const formatVersion = 1;
const headerSize = 24;
const txIdOffset = 16;
const uuidSize = 16;

/** An entry is at most this long, so that every transport and every cache can hold it. */
export const entryBytesMax = 32 * 1024 * 1024;
/** What an entry is longer than its body. */
export const entryOverhead = headerSize + uuidSize;

export const entryKind = {
  // Of one database.
  transaction: 1,
  /** A bulk load: a write set of new rows only, which each node builds into whole blocks. */
  rows: 2,
  verifyMark: 3,
  // Of the server: each of them is a barrier.
  clusterInit: 32,
  databaseCreate: 33,
  databaseDrop: 34,
  databaseStage: 35,
  databasePublish: 36,
  databaseStageAbort: 37,
  users: 38,
  peers: 39,
  baseline: 40,
  feature: 41,
} as const;

export type EntryKindNumber = (typeof entryKind)[keyof typeof entryKind];

const firstServerKind = 32;
const known = new Set<number>(Object.values(entryKind));

export interface ClusterEntry {
  readonly kind: EntryKindNumber;
  readonly wallTimeMs: number;
  /** Contiguous per database from 1 for what changes it; 0 for what does not, and for the server. */
  readonly txId: number;
  /** Of the database, lower case with dashes; undefined for server kinds. */
  readonly database: string | undefined;
  /** A view of the entry's bytes when decoded. */
  readonly body: Uint8Array;
}

export function isServerKind(kind: number): boolean {
  return kind >= firstServerKind;
}

/** @param rest what follows `body` in it: large pieces need not be put together before */
export function encodeEntry(
  { kind, wallTimeMs, txId, database, body }: ClusterEntry,
  rest: readonly Uint8Array[] = [],
): Uint8Array {
  const start = headerSize + (database === undefined ? 0 : uuidSize);
  let length = body.length;
  for (const piece of rest) length += piece.length;
  // Out of the pool: a buffer of its own is what a small entry would cost most.
  const bytes = Buffer.allocUnsafe(start + length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  bytes[0] = formatVersion;
  bytes[1] = kind;
  bytes[2] = 0;
  bytes[3] = 0;
  view.setUint32(4, length, true);
  view.setFloat64(8, wallTimeMs, true);
  view.setFloat64(txIdOffset, txId, true);
  if (database !== undefined) bytes.set(uuidBytes(database), headerSize);
  bytes.set(body, start);
  let at = start + body.length;
  for (const piece of rest) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Gives an encoded entry its number, when its place is certain. */
export function setTxId(bytes: Uint8Array, txId: number): void {
  new DataView(bytes.buffer, bytes.byteOffset).setFloat64(txIdOffset, txId, true);
}

/** Of a newer build: whoever applies stops before it, since nothing may be skipped. */
export class UnknownEntry extends DatabaseError {
  constructor(what: string) {
    super(
      'Internal',
      `an entry of the Raft log cannot be read: ${what}; it needs a newer version of this server`,
    );
  }
}

/** @throws UnknownEntry for a format, a kind or flags of another build; DatabaseError `Internal` for a wrong length */
export function decodeEntry(bytes: Uint8Array): ClusterEntry {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = bytes[1] ?? 0;
  if (bytes.length < headerSize) throw unreadable('a wrong length');
  if (bytes[0] !== formatVersion || !known.has(kind) || bytes[2] !== 0)
    throw new UnknownEntry(`format ${bytes[0]}, kind ${kind}, flags ${bytes[2]}`);
  const start = headerSize + (isServerKind(kind) ? 0 : uuidSize);
  if (bytes.length !== start + view.getUint32(4, true)) throw unreadable('a wrong length');
  const database =
    start === headerSize ? undefined : uuidText(bytes.subarray(headerSize, headerSize + uuidSize));
  return {
    kind: kind as EntryKindNumber,
    wallTimeMs: view.getFloat64(8, true),
    txId: view.getFloat64(txIdOffset, true),
    database,
    body: bytes.subarray(start),
  };
}

function unreadable(what: string): DatabaseError {
  return new DatabaseError('Internal', `an entry of the Raft log cannot be read: ${what}`);
}

/** Most entries follow others of the same database. */
let written: { readonly text: string; readonly bytes: Buffer } | undefined;
let read: { readonly text: string; readonly bytes: Buffer } | undefined;

export function uuidBytes(uuid: string): Uint8Array {
  if (written?.text === uuid) return written.bytes;
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  if (bytes.length !== uuidSize) throw new DatabaseError('Internal', `'${uuid}' is no uuid`);
  written = { text: uuid, bytes };
  return bytes;
}

export function uuidText(bytes: Uint8Array): string {
  if (read?.bytes.equals(bytes) === true) return read.text;
  const own = Buffer.from(bytes);
  const hex = own.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  const text = [...parts, hex.slice(20)].join('-');
  read = { text, bytes: own };
  return text;
}
