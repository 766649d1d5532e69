import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import { takesShortcut } from '#platform/shortcuts.ts';
import { ChunkMerge, type ChunkRun } from '../bulk/chunks.ts';
import type { EntryRun } from '../bulk/entry-runs.ts';
import { environmentFileName } from '../environment/file.ts';
import { type ImageMemory, sealedSize, sealInto, Slab } from './image-memory.ts';
import { requireSpace } from '../storage-failure.ts';
import type { Key, Store, SubDatabases } from '../format/sub-databases.ts';
import { WriteInstructions } from './write-instructions.ts';

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

/** What a large commit writes by the hundred thousand. */
export interface PackedWrites {
  readonly chunkRuns: readonly ChunkRun[];
  /** Taken out before the others are put in. */
  readonly removalRuns: readonly EntryRun[];
  readonly additionRuns: readonly EntryRun[];
}

const nothingPacked: PackedWrites = { chunkRuns: [], removalRuns: [], additionRuns: [] };

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

/** More writes than this are gathered over several turns of the event loop; a slice of them takes a millisecond or two. */
const writesPerSlice = 2048;

/**
 * Carries the writes out in order as one LMDB transaction. Resolves when it is durable. No other one is under way meanwhile.
 * @param gathers many of them over several turns of the event loop; otherwise all in one, which is long for them
 * @throws what the binding reports; nothing was written then
 */
export async function writeBatch(
  subs: SubDatabases,
  writes: readonly Write[],
  timers: Pick<Timers, 'yield'>,
  packed: PackedWrites = nothingPacked,
  gathers = subs.takesInstructions && takesShortcut('write-instructions'),
): Promise<void> {
  requireSpaceFor(subs, writes, packed);
  const { chunkRuns, removalRuns, additionRuns } = packed;
  const isPacked = chunkRuns.length > 0 || removalRuns.length > 0 || additionRuns.length > 0;
  if (writes.length > writesPerSlice || isPacked) {
    if (gathers) return writeInSlices(subs, writes, timers, packed);
    requireKeys(subs, writes);
  }
  try {
    await subs.root.batch(() => {
      for (let i = 0; i < writes.length; i++) carryOut(writes[i] as Write);
      if (isPacked) carryOutPacked(subs, packed);
    });
  } catch (error) {
    throw await reasonOf(error);
  }
}

/** Values from this size on stand in pages of their own. */
const outsideBytesMin = 2_000;
/** Of an index, with its share of the pages above. */
const entryBytes = 64;
const pageBytes = 4096;

/**
 * What LMDB may need beyond the pages that it has free: values of their own pages, leaves half full of the others, and a copy of each
 * page that is changed.
 * @throws an error as of a full disk, when there is less
 */
export function requireSpaceFor(
  { directory }: SubDatabases,
  writes: readonly Write[],
  packed: PackedWrites = nothingPacked,
): void {
  const bytes = bytesOf(writes, packed);
  const fileBytes = statSync(join(directory, environmentFileName)).size;
  requireSpace(directory, bytes + Math.min(writes.length * pageBytes, fileBytes));
}

/** Of the pages that LMDB needs for the writes at most, without those above. */
export function bytesOf(
  writes: readonly Write[],
  { additionRuns, chunkRuns }: PackedWrites,
): number {
  let bytes = 0;
  for (let i = 0; i < writes.length; i++) {
    const { size } = writes[i] as Write;
    bytes += size < outsideBytesMin ? 2 * size : size + pageBytes;
  }
  for (const { count } of additionRuns) bytes += count * entryBytes;
  for (const { byteCount } of chunkRuns) bytes += 2 * byteCount;
  return bytes;
}

/** The binding keeps what a batch did before it failed over a key. @throws DatabaseError `Internal`, with nothing written */
function requireKeys({ root }: SubDatabases, writes: readonly Write[]): void {
  const { maxKeySize } = root as unknown as { readonly maxKeySize: number };
  const scratch = Buffer.alloc(64 * 1024);
  for (let i = 0; i < writes.length; i++) {
    const size = (writes[i] as Write).key.write(scratch, 0);
    if (size === 0 || size > maxKeySize)
      throw new DatabaseError(
        'Internal',
        `a key of ${size} bytes is not within LMDB's 1 to ${maxKeySize}`,
      );
  }
}

/** Inside a batch. */
function carryOutPacked(subs: SubDatabases, packed: PackedWrites): void {
  for (const run of packed.removalRuns) run.remove(subs.ix, 0, run.count);
  for (const run of packed.additionRuns) run.put(subs.ix, 0, run.count);
  const merge = new ChunkMerge(packed.chunkRuns);
  while (merge.put(subs.adj, writesPerSlice));
}

async function writeInSlices(
  subs: SubDatabases,
  writes: readonly Write[],
  timers: Pick<Timers, 'yield'>,
  { chunkRuns, removalRuns, additionRuns }: PackedWrites,
): Promise<void> {
  const instructions = new WriteInstructions(subs);
  const targets = new Map<Store, Pick<Store, 'put' | 'remove'>>();
  for (let i = 0; i < writes.length; i++) {
    const write = writes[i] as Write;
    let target = targets.get(write.store);
    if (target === undefined) {
      target = instructions.into(write.store);
      targets.set(write.store, target);
    }
    carryOut(write, target);
    if ((i + 1) % writesPerSlice === 0) await timers.yield();
  }
  const ix = instructions.into(subs.ix);
  for (const run of removalRuns) {
    for (let from = 0; from < run.count; from += writesPerSlice) {
      run.remove(ix, from, Math.min(from + writesPerSlice, run.count));
      await timers.yield();
    }
  }
  for (const run of additionRuns) {
    for (let from = 0; from < run.count; from += writesPerSlice) {
      run.put(ix, from, Math.min(from + writesPerSlice, run.count));
      await timers.yield();
    }
  }
  const merge = new ChunkMerge(chunkRuns);
  const adj = instructions.into(subs.adj);
  while (merge.put(adj, writesPerSlice)) await timers.yield();
  await instructions.carryOut();
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

/** Inside a transaction or batch, or into a list of instructions. */
export function carryOut(write: Write, target: Pick<Store, 'put' | 'remove'> = write.store): void {
  const { slab } = write;
  if (slab === undefined) {
    target.remove(write.key);
    return;
  }
  slab.source.start = write.start;
  slab.source.end = write.start + write.size;
  target.put(write.key, slab.source);
}
