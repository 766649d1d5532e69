import { createHash, type Hash } from 'node:crypto';
import type { Catalog } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import { makeRid, type Rid } from '#core/value/rid.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { Block } from '#storage/format/block.ts';
import { groupEnd } from '#storage/format/entry-chunk.ts';
import { hasOutsideCells, outsideCellsOf } from '#storage/format/row.ts';
import { encodeShape, type ShapeRegistry } from '#storage/format/shape.ts';
import { BlockWindow } from '#storage/read/block-window.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { VerifiedFile } from '../cluster-view.ts';

type BucketId = Parameters<StorageSnapshot['block']>[0];
type TypeId = Parameters<StorageSnapshot['adjacency']>[2];
type IndexId = Parameters<StorageSnapshot['entries']>[0];

/** What is digested, and by what the columns of its rows are known. */
export interface DigestSource extends Pick<ReadView, 'snapshot' | 'catalog'> {
  readonly shapes: ShapeRegistry;
}

/**
 * Digests of what a database holds, by content and never by layout (ha.md 9.6): rows in the order of their record ids with the
 * columns that they name, cells kept outside of rows, edges of each vertex, entries of each index in the order of their keys, how
 * many rows a window counts, the schema. Two servers that applied the same log have the same ones. Takes turns.
 *
 * A part that cannot be read has a checksum that no other server has.
 */
export async function digestOf(
  source: DigestSource,
  runtime: Runtime,
): Promise<readonly VerifiedFile[]> {
  const { snapshot, catalog } = source;
  const digest = new Digest(source, runtime);
  const files: VerifiedFile[] = [];
  for (const { id, name, windowOn } of catalog.buckets())
    files.push(
      await (windowOn === undefined
        ? digest.part(`${name}.bucket`, 'bucket', (part) => digest.rows(id, part))
        : digest.part(`${name}.window`, 'bucket', (part) => digest.window(id, part))),
    );
  for (const type of edgeTypes(catalog))
    files.push(
      await digest.part(`${type.name}.edges`, 'edges', (part) => digest.edges(type.id, part)),
    );
  for (const { id, name, state } of catalog.indexes())
    if (state === 'READY')
      files.push(await digest.part(`${name}.idx`, 'index', (part) => digest.entries(id, part)));
  // Behind the rows, which tell the columns that are in use.
  files.push(
    await digest.part('dictionary.json', 'dictionary', async (part) => digest.columns(part)),
  );
  for (const meta of ['schema', 'settings'])
    files.push(
      await digest.part(`${meta}.json`, meta, async (part) =>
        part.add(snapshot.meta(meta) ?? new Uint8Array(0)),
      ),
    );
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Where a pass over a database goes on: an area of it, and a place there; '': its beginning. */
export interface Place {
  readonly area: Area;
  readonly id: number;
  readonly at: string;
}

/** In the order in which a pass goes through them; each is one of buckets or indexes. */
const areas = ['rows', 'edges', 'entries'] as const;
type Area = (typeof areas)[number];

export interface SliceOrder {
  /** Undefined: the beginning of the database. */
  readonly from?: Place | undefined;
  readonly weightMax: number;
}

export interface Slice {
  readonly checksum: string;
  /** Rows, edges and entries, and what is long of them: what it costs. */
  readonly weight: number;
  /** Undefined: this was the last one. */
  readonly next: Place | undefined;
  /** Why a part of it cannot be read. */
  readonly unreadable?: string;
}

/**
 * A digest of the part of a database that begins at a place and has a weight of `weightMax`, or little more: it ends between blocks of
 * rows or different keys. Two servers whose copies are equal find the same digest, weight and next place. Takes turns, and drives
 * nothing out of caches.
 */
export async function sliceOf(
  source: DigestSource,
  runtime: Runtime,
  { from, weightMax }: SliceOrder,
): Promise<Slice> {
  const part = new Part();
  const digest = new Digest(source, runtime);
  const found = (next: Place | undefined): Slice => {
    digest.columns(part);
    return { checksum: part.checksum(), weight: part.weight, next };
  };
  try {
    for (const { area, id } of areasFrom(source.catalog, from)) {
      const isBegun = from?.area === area && from.id === id;
      const at = await digest.area(area, id, part, { at: isBegun ? from.at : '', weightMax });
      if (at !== undefined) return found({ area, id, at });
    }
    return found(undefined);
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === 'CorruptedRecord')) throw error;
    const checksum = `unreadable here (${runtime.random.uuid()})`;
    return { checksum, weight: part.weight, next: undefined, unreadable: error.message };
  }
}

function areasFrom(
  catalog: Catalog,
  from: Place | undefined,
): readonly { readonly area: Area; readonly id: number }[] {
  const [rows, edges] = [
    catalog.buckets().filter(({ windowOn }) => windowOn === undefined),
    catalog.types().flatMap(({ kind, buckets }) => (kind === 'vertex' ? buckets : [])),
  ];
  const all = [
    ...rows.map(({ id }) => ({ area: 'rows' as const, id: Number(id) })),
    ...edges.map((id) => ({ area: 'edges' as const, id: Number(id) })),
    ...catalog
      .indexes()
      .filter(({ state }) => state === 'READY')
      .map(({ id }) => ({ area: 'entries' as const, id: Number(id) })),
  ];
  const rank = ({ area, id }: Pick<Place, 'area' | 'id'>) => areas.indexOf(area) * 2 ** 32 + id;
  all.sort((a, b) => rank(a) - rank(b));
  return from === undefined ? all : all.filter((one) => rank(one) >= rank(from));
}

function edgeTypes(catalog: Catalog): readonly { readonly id: TypeId; readonly name: string }[] {
  return catalog.types().filter(({ kind, isDropped }) => kind === 'edge' && isDropped !== true);
}

/** One file of the answer while it is made. */
class Part {
  readonly #hash: Hash = createHash('sha256');
  readonly #number = Buffer.alloc(8);
  size = 0;
  weight = 0;

  add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.size += bytes.length;
    this.weight += 1 + (bytes.length >>> longBits);
  }

  addNumber(number: number): void {
    this.#number.writeDoubleLE(number);
    this.#hash.update(this.#number);
  }

  checksum(): string {
    return this.#hash.digest('hex');
  }
}

/** Of so many bytes each further one weighs as much as a short value. */
const longBits = 8;
const noKey = new Uint8Array(0);
const beyondKeys = new Uint8Array(64).fill(0xff);
interface Range {
  /** Number of a block. */
  readonly from: number;
  readonly weightMax: number;
}

const everything: Range = { from: 0, weightMax: Number.POSITIVE_INFINITY };
const allKeys = { from: noKey, weightMax: Number.POSITIVE_INFINITY };
const stepsPerLook = 256;
const directions: readonly Direction[] = ['out', 'in'];

class Digest {
  readonly #source: DigestSource;
  readonly #runtime: Runtime;
  readonly #timer: SliceTimer;
  readonly #shapesInUse = new Set<number>();
  readonly #window = new BlockWindow();
  #steps = 0;

  constructor(source: DigestSource, runtime: Runtime) {
    this.#source = source;
    this.#runtime = runtime;
    this.#timer = new SliceTimer(runtime);
  }

  async part(
    name: string,
    type: string,
    fill: (part: Part) => Promise<unknown>,
  ): Promise<VerifiedFile> {
    const part = new Part();
    try {
      await fill(part);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.code === 'CorruptedRecord')) throw error;
      const checksum = `unreadable here (${this.#runtime.random.uuid()}): ${error.message}`;
      return { name, checksum, size: part.size, type, isUnreadable: true };
    }
    return { name, checksum: part.checksum(), size: part.size, type };
  }

  /** @returns where in the area it ended; undefined: all of the rest is in the part */
  async area(
    area: Area,
    id: number,
    part: Part,
    { at, weightMax }: { readonly at: string; readonly weightMax: number },
  ): Promise<string | undefined> {
    part.addNumber(areas.indexOf(area));
    part.addNumber(id);
    if (part.weight >= weightMax) return at;
    if (area === 'entries')
      return this.entries(id as IndexId, part, { from: Buffer.from(at, 'hex'), weightMax });
    const range = { from: Number(at), weightMax };
    const next = await (area === 'rows'
      ? this.rows(id as BucketId, part, range)
      : this.#allEdgesOf(id as BucketId, part, range));
    return next === undefined ? undefined : String(next);
  }

  /** @returns the number of the block at which it ended */
  async rows(bucket: BucketId, part: Part, range = everything): Promise<number | undefined> {
    const { snapshot } = this.#source;
    for (let number = range.from; number < snapshot.blockCount(bucket); number += 1) {
      if (part.weight >= range.weightMax) return number;
      const block = snapshot.passingBlock(bucket, number, this.#window);
      if (block !== undefined)
        for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
          const at = block.rowOffset(slot);
          part.addNumber(block.firstPosition + slot);
          part.add(block.bytes.subarray(at, at + block.view.getUint32(at, true)));
          this.#shapesInUse.add(block.view.getUint16(at + 4, true));
          if (hasOutsideCells(block, at)) this.#readOutside(block, { slot, at });
        }
      if (this.#timer.isSpent) await this.#timer.pause();
    }
    return undefined;
  }

  /** The row has length and CRC-32 of a cell outside: reading it compares them. */
  #readOutside(block: Block, { slot, at }: { readonly slot: number; readonly at: number }): void {
    const { snapshot, shapes } = this.#source;
    const row = block.bytes.subarray(at, at + block.view.getUint32(at, true));
    const shape = shapes.shape(block.view.getUint16(at + 4, true));
    const outside = new Set(outsideCellsOf(row, shape));
    const record = snapshot.recordAt(block, slot);
    const known = new Map(shape.columns.map(({ id, name }) => [name, id]));
    for (const name of record.propertyNames()) {
      const id = known.get(name);
      // What has no column stands in the extra map.
      if (id === undefined || outside.has(id)) record.get(name);
    }
  }

  async window(bucket: BucketId, part: Part): Promise<void> {
    part.addNumber(this.#source.snapshot.recordCount(bucket));
  }

  async edges(type: TypeId, part: Part): Promise<void> {
    const { catalog } = this.#source;
    for (const vertices of catalog.types()) {
      if (vertices.kind !== 'vertex') continue;
      for (const bucket of vertices.buckets) await this.#edgesOf(bucket, [type], part);
    }
  }

  #allEdgesOf(bucket: BucketId, part: Part, range: Range): Promise<number | undefined> {
    const types = edgeTypes(this.#source.catalog).map(({ id }) => id);
    return this.#edgesOf(bucket, types, part, range);
  }

  async #edgesOf(
    bucket: BucketId,
    types: readonly TypeId[],
    part: Part,
    range = everything,
  ): Promise<number | undefined> {
    const { snapshot } = this.#source;
    for (let number = range.from; number < snapshot.blockCount(bucket); number += 1) {
      if (part.weight >= range.weightMax) return number;
      const block = snapshot.passingBlock(bucket, number, this.#window);
      if (block === undefined) continue;
      for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
        const vertex = makeRid(bucket, block.firstPosition + slot);
        part.weight += 1;
        for (const type of types)
          for (const direction of directions)
            if (snapshot.degree(vertex, direction, type) > 0)
              addList(part, vertex, snapshot.adjacency(vertex, direction, type));
        if (this.#isDue()) await this.#timer.pause();
      }
    }
    return undefined;
  }

  /** @returns the key at which it ended, or the group of keys in an index that is kept in chunks */
  async entries(
    index: IndexId,
    part: Part,
    range: { readonly from: Uint8Array; readonly weightMax: number } = allKeys,
  ): Promise<string | undefined> {
    const isChunked = this.#source.catalog
      .indexes()
      .some((known) => known.id === index && known.isChunked === true);
    const placeOf = (key: Uint8Array) =>
      Buffer.from(isChunked ? key.subarray(0, groupEnd(key, 0)) : key).toString('hex');
    const cursor = this.#source.snapshot.entries(index, range.from, beyondKeys, 'ascending');
    let last: string | undefined;
    try {
      while (cursor.next()) {
        if (part.weight >= range.weightMax) {
          const place = placeOf(cursor.key);
          // What has one key belongs together: a place between would have to be counted to.
          if (last !== undefined && place !== last) return place;
          last = place;
        }
        part.add(cursor.key);
        part.addNumber(cursor.rid);
        if (this.#isDue()) await this.#timer.pause();
      }
    } finally {
      cursor.close();
    }
    return undefined;
  }

  columns(part: Part): void {
    for (const id of [...this.#shapesInUse].sort((x, y) => x - y)) {
      part.addNumber(id);
      part.add(encodeShape(this.#source.shapes.shape(id)));
    }
  }

  #isDue(): boolean {
    this.#steps += 1;
    return this.#steps % stepsPerLook === 0 && this.#timer.isSpent;
  }
}

/** Edges by their record ids: how a list came to be is nobody's business. */
function addList(part: Part, vertex: Rid, { count, edges, vertices }: AdjacencyList): void {
  part.addNumber(vertex);
  const order = Array.from({ length: count }, (_, at) => at);
  order.sort((x, y) => (edges[x] as number) - (edges[y] as number));
  for (const at of order) {
    part.weight += 1;
    part.addNumber(edges[at] as number);
    part.addNumber(vertices[at] as number);
  }
}
