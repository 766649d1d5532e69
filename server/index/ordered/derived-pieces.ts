import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { EntryChanges } from '#storage/engine.ts';
import type { IndexTarget } from '#storage/index-target.ts';
import type { KeyPieces } from '../key-port.ts';
import type { IndexMemory } from '../search-memory.ts';

/** Where the entries of a record go. */
export interface DerivedInto {
  readonly target: IndexTarget;
  readonly memory: IndexMemory | undefined;
  readonly changes: EntryChanges;
  readonly version: LogIndex;
  readonly rid: Rid;
}

/** One set of a million keys would stop for 100 ms whenever it grows. */
const shardCount = 128;

/**
 * Reports what a record with very many keys has before and after a change: entries that stay are left alone. Each step takes some
 * milliseconds.
 */
export function* derivePieces(
  old: readonly Uint8Array[] | KeyPieces,
  now: readonly Uint8Array[] | KeyPieces,
  { target, memory, changes, version, rid }: DerivedInto,
): Generator<undefined, void, undefined> {
  const remove = (key: Uint8Array): void => {
    changes.remove(target, key, rid);
    memory?.entry(version, key, rid, -1);
  };
  const former = new KeySet();
  const isNew = isNone(old);
  const isGone = isNone(now);
  for (const keys of piecesOf(old)) {
    if (isGone) keys.forEach(remove);
    else for (const key of keys) former.add(key);
    yield;
  }
  for (const keys of piecesOf(now)) {
    for (const key of keys) {
      if (!isNew && former.delete(key)) continue;
      changes.add(target, key, rid);
      memory?.entry(version, key, rid, 1);
    }
    yield;
  }
  for (const keys of former.pieces()) {
    keys.forEach(remove);
    yield;
  }
}

/** Of keys made at once there is one piece. */
export function piecesOf(keys: readonly Uint8Array[] | KeyPieces): Iterable<readonly Uint8Array[]> {
  return areAllMade(keys) ? [keys] : keys;
}

export function areAllMade(keys: readonly Uint8Array[] | KeyPieces): keys is readonly Uint8Array[] {
  return Array.isArray(keys);
}

function isNone(keys: readonly Uint8Array[] | KeyPieces): boolean {
  return areAllMade(keys) && keys.length === 0;
}

const keysPerPiece = 1024;

class KeySet {
  readonly #shards = Array.from({ length: shardCount }, () => new Set<string>());

  add(key: Uint8Array): void {
    this.#shardOf(key).add(textOf(key));
  }

  /** @returns whether it was there */
  delete(key: Uint8Array): boolean {
    return this.#shardOf(key).delete(textOf(key));
  }

  *pieces(): Generator<readonly Uint8Array[], void, undefined> {
    let piece: Uint8Array[] = [];
    for (const shard of this.#shards) {
      for (const text of shard) {
        piece.push(Buffer.from(text, 'latin1'));
        if (piece.length < keysPerPiece) continue;
        yield piece;
        piece = [];
      }
    }
    if (piece.length > 0) yield piece;
  }

  #shardOf(key: Uint8Array): Set<string> {
    const { length } = key;
    const at =
      ((key[length >> 1] as number) * 31 + (key[length >> 2] as number) * 7 + length) % shardCount;
    return this.#shards[at] as Set<string>;
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}
