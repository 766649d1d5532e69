import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import { noRid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { BulkWriter } from '#storage/bulk/writer.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { BulkMark } from '#storage/bulk/writer.ts';
import type { BulkChanges } from './bulk-changes.ts';
import { BulkEnds } from './ends/bulk-ends.ts';
import type { BulkKeys } from './bulk-keys.ts';
import { requireSame } from './same-type.ts';

/** Where a chunk ended, and what it needs when it is committed. */
interface EndedChunk {
  readonly mark: BulkMark;
  readonly types: ReadonlySet<TypeDefinition>;
  /** Columns of ends, and ranges of changes, up to there. */
  readonly endColumns: number;
  readonly changeRanges: number;
}

export interface Gathering {
  readonly writer: BulkWriter;
  readonly changes: BulkChanges;
  /** The keys of the chunk that is being made. */
  readonly makeKeys: () => BulkKeys;
}

/** What a commit of chunks is judged by. */
export interface JudgedBy {
  readonly latest: StorageSnapshot;
  /** The schema that the rows were made by, and the newest. */
  readonly before: Catalog;
  readonly now: Catalog;
  /** Whether nobody else has committed since the load began: then all ends are still there. */
  readonly isAlone: boolean;
  readonly timers: Pick<Timers, 'yield'>;
}

/**
 * What the next commit of a load holds: chunks that were ended, in order, and behind them the one that is being made. They share
 * the commit, and nothing else: each is judged as if it had one of its own, and what comes behind a place can be split off or
 * forgotten. Only the last may have unique keys, since an earlier chunk could hold the same.
 */
export class GatheredChunks {
  readonly writer: BulkWriter;
  readonly changes: BulkChanges;
  readonly #makeKeys: () => BulkKeys;
  #ends = new BulkEnds();
  #keys: BulkKeys;
  /** Of the chunk that is being made. */
  #types = new Set<TypeDefinition>();
  readonly #ended: EndedChunk[] = [];
  /** Whether the edges of a type are entered at both of their vertices. */
  readonly hasBothSides = new Map<TypeId, boolean>();
  /** Place of the chunk that was found wrong. */
  #refused = 0;

  constructor({ writer, changes, makeKeys }: Gathering) {
    this.writer = writer;
    this.changes = changes;
    this.#makeKeys = makeKeys;
    this.#keys = makeKeys();
  }

  get keys(): BulkKeys {
    return this.#keys;
  }

  get ends(): BulkEnds {
    return this.#ends;
  }

  /** Types whose records the chunk that is being made holds. */
  get types(): Set<TypeDefinition> {
    return this.#types;
  }

  get endedCount(): number {
    return this.#ended.length;
  }

  /** Whether something came behind the last chunk that was ended. */
  get hasOpenChunk(): boolean {
    return this.writer.pendingBytes > (this.#ended.at(-1)?.mark.bytes ?? 0);
  }

  /** Buckets of all types. */
  buckets(): BucketId[] {
    const types = new Set(this.#types);
    for (const chunk of this.#ended) for (const type of chunk.types) types.add(type);
    return [...types].flatMap(({ buckets }) => buckets);
  }

  /** The record whose key was found taken, `noRid` for none. */
  get takenRid(): Rid {
    return this.#refused === this.#ended.length ? this.#keys.failedRid : noRid;
  }

  /** Everything so far belongs to chunks that are complete. */
  endChunk(): void {
    this.#ended.push({
      mark: this.writer.mark(),
      types: this.#types,
      endColumns: this.#ends.columnCount,
      changeRanges: this.changes.rangeCount,
    });
    this.#types = new Set();
  }

  /** Moves the chunk that is being made away from those that were ended, to which nothing may be added then. */
  async split(): Promise<GatheredChunks> {
    const last = this.#ended.at(-1) as EndedChunk;
    const rest = new GatheredChunks({
      writer: await this.writer.split(last.mark),
      changes: this.changes.split(last.changeRanges),
      makeKeys: this.#makeKeys,
    });
    rest.#ends = this.#ends.split(last.endColumns, last.mark.next);
    rest.#types = this.#types;
    rest.#keys = this.#keys;
    for (const [type, hasBoth] of this.hasBothSides) rest.hasBothSides.set(type, hasBoth);
    this.#types = new Set();
    this.#keys = this.#makeKeys();
    return rest;
  }

  /**
   * Forgets the chunk that was found wrong, and what came behind it.
   * @returns how many chunks are left that may still be committed; 0 when the fault lies with none of them
   */
  cutRefused(): number {
    const isOneOfThem = this.#refused < this.#ended.length || this.hasOpenChunk;
    if (!isOneOfThem) return 0;
    this.cutBehind(this.#refused);
    return this.#refused;
  }

  /** Forgets what came behind so many ended chunks, if there are any; nothing may be added then. */
  cutBehind(count: number): void {
    const last = this.#ended[count - 1];
    if (last === undefined) return;
    this.writer.cutAt(last.mark);
    this.#ends.split(last.endColumns, last.mark.next);
    this.changes.split(last.changeRanges);
    this.#ended.length = count;
    this.#types = new Set();
    this.#keys = this.#makeKeys();
  }

  /**
   * Judges each chunk; what fails afterwards is not the fault of one of them.
   * @throws DatabaseError `ConcurrentModification`, `DuplicatedKey`, `RecordNotFound` for an end of an edge
   */
  async verify({ latest, before, now, isAlone, timers }: JudgedBy): Promise<void> {
    const ended = this.#ended;
    for (let chunk = 0; chunk <= ended.length; chunk += 1) {
      this.#refused = chunk;
      const types = ended[chunk]?.types ?? this.#types;
      for (const type of types) requireSame(type, { before, now });
    }
    await this.#keys.requireFree(latest, timers);
    if (!isAlone) await this.#requireEnds(latest, timers);
    this.#refused = 0;
  }

  async #requireEnds(latest: StorageSnapshot, timers: Pick<Timers, 'yield'>): Promise<void> {
    try {
      await this.#ends.requireAll(latest, timers);
    } catch (error) {
      const { failedColumn } = this.#ends;
      const chunk = this.#ended.findIndex(({ endColumns }) => failedColumn < endColumns);
      if (chunk >= 0) this.#refused = chunk;
      throw error;
    }
  }
}
