import { createHash, type Hash } from 'node:crypto';
import type { Catalog } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import { makeRid, type Rid } from '#core/value/rid.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { Block } from '#storage/format/block.ts';
import { hasOutsideCells, outsideCellsOf } from '#storage/format/row.ts';
import { encodeShape, type ShapeRegistry } from '#storage/format/shape.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { VerifiedFile } from '../cluster-view.ts';

type BucketId = Parameters<StorageSnapshot['block']>[0];
type TypeId = Parameters<StorageSnapshot['adjacency']>[2];

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
  files.push(await digest.part('dictionary.json', 'dictionary', (part) => digest.columns(part)));
  for (const meta of ['schema', 'settings'])
    files.push(
      await digest.part(`${meta}.json`, meta, async (part) =>
        part.add(snapshot.meta(meta) ?? new Uint8Array(0)),
      ),
    );
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function edgeTypes(catalog: Catalog): readonly { readonly id: TypeId; readonly name: string }[] {
  return catalog.types().filter(({ kind, isDropped }) => kind === 'edge' && isDropped !== true);
}

/** One file of the answer while it is made. */
class Part {
  readonly #hash: Hash = createHash('sha256');
  readonly #number = Buffer.alloc(8);
  size = 0;

  add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.size += bytes.length;
  }

  addNumber(number: number): void {
    this.#number.writeDoubleLE(number);
    this.#hash.update(this.#number);
  }

  checksum(): string {
    return this.#hash.digest('hex');
  }
}

const noKey = new Uint8Array(0);
const beyondKeys = new Uint8Array(64).fill(0xff);
const stepsPerLook = 256;
const directions: readonly Direction[] = ['out', 'in'];

class Digest {
  readonly #source: DigestSource;
  readonly #runtime: Runtime;
  readonly #timer: SliceTimer;
  readonly #shapesInUse = new Set<number>();
  #steps = 0;

  constructor(source: DigestSource, runtime: Runtime) {
    this.#source = source;
    this.#runtime = runtime;
    this.#timer = new SliceTimer(runtime);
  }

  async part(
    name: string,
    type: string,
    fill: (part: Part) => Promise<void>,
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

  async rows(bucket: BucketId, part: Part): Promise<void> {
    const { snapshot } = this.#source;
    for (let number = 0; number < snapshot.blockCount(bucket); number += 1) {
      const block = snapshot.block(bucket, number);
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
      for (const bucket of vertices.buckets) await this.#edgesOf(bucket, type, part);
    }
  }

  async #edgesOf(bucket: BucketId, type: TypeId, part: Part): Promise<void> {
    const { snapshot } = this.#source;
    for (let number = 0; number < snapshot.blockCount(bucket); number += 1) {
      const block = snapshot.block(bucket, number);
      if (block === undefined) continue;
      for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
        const vertex = makeRid(bucket, block.firstPosition + slot);
        for (const direction of directions)
          if (snapshot.degree(vertex, direction, type) > 0)
            addList(part, vertex, snapshot.adjacency(vertex, direction, type));
        if (this.#isDue()) await this.#timer.pause();
      }
    }
  }

  async entries(index: Parameters<StorageSnapshot['entries']>[0], part: Part): Promise<void> {
    const cursor = this.#source.snapshot.entries(index, noKey, beyondKeys, 'ascending');
    try {
      while (cursor.next()) {
        part.add(cursor.key);
        part.addNumber(cursor.rid);
        if (this.#isDue()) await this.#timer.pause();
      }
    } finally {
      cursor.close();
    }
  }

  async columns(part: Part): Promise<void> {
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
    part.addNumber(edges[at] as number);
    part.addNumber(vertices[at] as number);
  }
}
