import { type ChunkRun, putChunks } from './bulk-chunks.ts';
import type { EntryRun } from './bulk-entries.ts';
import { type ImageMemory, sealedSize, sealInto, Slab } from './image-memory.ts';
import type { Key, Store, SubDatabases } from './sub-databases.ts';

/**
 * One put of `size` bytes that start in `slab`, or a removal when there is no slab. The bytes stay as they are from now on:
 * LMDB keeps a pointer to them.
 */
export interface Write {
  readonly store: Store;
  readonly key: Key;
  readonly slab: Slab | undefined;
  readonly start: number;
  readonly size: number;
}

/** What a bulk load writes by the hundred thousand. */
export interface PackedWrites {
  readonly chunkRuns: readonly ChunkRun[];
  readonly entryRuns: readonly EntryRun[];
}

const nothingPacked: PackedWrites = { chunkRuns: [], entryRuns: [] };

const noBytes = new Slab(8);

export function removal(store: Store, key: Key): Write {
  return { store, key, slab: undefined, start: 0, size: 0 };
}

/** A put of the bytes that `memory` gave out last. */
export function putLast(
  store: Store,
  key: Key,
  memory: ImageMemory,
  start: number,
  size: number,
): Write {
  return { store, key, slab: memory.slab, start, size };
}

/** A put of an empty value. */
export function putEmpty(store: Store, key: Key): Write {
  return { store, key, slab: noBytes, start: 0, size: 0 };
}

/** A put of `body` with its checksum. @param keyBytes what `key` writes */
export function putSealed(
  store: Store,
  key: Key,
  keyBytes: Uint8Array,
  memory: ImageMemory,
  body: Uint8Array,
): Write {
  const start = sealInto(memory, keyBytes, body);
  return putLast(store, key, memory, start, sealedSize(body));
}

/**
 * Carries the writes out in order as one LMDB transaction. Resolves when it is durable.
 * @throws what the binding reports; nothing was written then
 */
export async function writeBatch(
  subs: SubDatabases,
  writes: readonly Write[],
  packed: PackedWrites = nothingPacked,
): Promise<void> {
  const { chunkRuns, entryRuns } = packed;
  try {
    await subs.root.batch(() => {
      for (let i = 0; i < writes.length; i++) carryOut(writes[i] as Write);
      for (const run of entryRuns) run.put(subs.ix);
      if (chunkRuns.length > 0) putChunks(chunkRuns, subs.adj);
    });
  } catch (error) {
    throw await reasonOf(error);
  }
}

/** The binding keeps the reason in a second promise, whose rejection would end the process if nobody looked at it. */
async function reasonOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
  } catch (reason) {
    return reason;
  }
  return error;
}

/** Inside a transaction or batch. */
export function carryOut(write: Write): void {
  const { slab } = write;
  if (slab === undefined) {
    write.store.remove(write.key);
    return;
  }
  slab.source.start = write.start;
  slab.source.end = write.start + write.size;
  write.store.put(write.key, slab.source);
}
