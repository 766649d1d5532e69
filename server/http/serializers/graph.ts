import { pathElements } from '#core/value/path.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { RecordLookup, ResultBatch } from '#database/session.ts';
import type { JsonWriter } from '../answer/json-writer.ts';

const comma = 44;
const edgesPerLook = 256;

/**
 * Serializer `graph` (http-api.md 5.3): vertices apart from edges, each once. A row that is a vertex or an edge gives
 * itself; a projection gives every vertex, edge and link to one that is found in its columns, and an edge found there brings
 * its two ends. Everything else gives nothing. `studioGraph` has the edges between its vertices, too.
 */
export class GraphCollector {
  readonly #vertices: JsonWriter;
  readonly #edges: JsonWriter;
  readonly #records: RecordLookup;
  readonly #seen = new Set<Rid>();
  readonly #vertexRids: Rid[] = [];
  readonly #countMax: number;
  readonly #byteLengthMax: number;
  #isOverflowing = false;

  /**
   * @param countMax vertices and edges that are taken; one more sets `isTruncated`
   * @param byteLengthMax above it no further one is taken: the caller is to refuse the answer
   */
  constructor(options: {
    vertices: JsonWriter;
    edges: JsonWriter;
    records: RecordLookup;
    countMax: number;
    byteLengthMax: number;
  }) {
    this.#vertices = options.vertices;
    this.#edges = options.edges;
    this.#records = options.records;
    this.#countMax = options.countMax;
    this.#byteLengthMax = options.byteLengthMax;
  }

  /** Vertices and edges taken. */
  get count(): number {
    return this.#seen.size;
  }

  get isTruncated(): boolean {
    return this.#isOverflowing;
  }

  get byteLength(): number {
    return this.#vertices.length + this.#edges.length;
  }

  /** @param isProjection the row has columns instead of being one value */
  add(batch: ResultBatch, row: number, columnCount: number, isProjection: boolean): void {
    const offset = row * columnCount;
    for (let i = 0; i < columnCount; i++)
      this.#collect(batch.values[offset + i] as Value, isProjection);
  }

  /** Adds the edges that connect vertices which are there. Gives back now and then, so that others have their turn. */
  *connect(): Generator<void> {
    // What is added are edges, so the vertices stay the same.
    for (const vertex of this.#vertexRids) {
      for (const { count, edges, vertices } of this.#records.outgoing(vertex)) {
        for (let i = 0; i < count && !this.#isOverflowing; i++) {
          if (this.#seen.has(vertices[i] as Rid)) this.#addLinked(edges[i] as Rid, false);
          if ((i + 1) % edgesPerLook === 0) yield;
        }
      }
      yield;
    }
  }

  /** `"vertices":[...],"edges":[...]` as pieces of bytes. */
  finish(): readonly Uint8Array[] {
    return [
      Buffer.from('"vertices":['),
      this.#vertices.take(0),
      Buffer.from('],"edges":['),
      this.#edges.take(0),
      Buffer.from(']'),
    ];
  }

  #collect(value: Value, isNested: boolean): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value as readonly Value[]) this.#collect(item, true);
    } else if (value instanceof Map) {
      for (const item of (value as ValueMap).values()) this.#collect(item, true);
    } else if (!(value instanceof Uint8Array) && 'valueKind' in value) {
      if (value.valueKind === 'record') this.#addRecord(value, isNested);
      else if (value.valueKind === 'link') this.#addLinked(value.rid, isNested);
      else if (value.valueKind === 'path')
        for (const element of pathElements(value)) this.#collect(element, true);
    }
  }

  #addLinked(rid: Rid, isNested: boolean): void {
    if (this.#seen.has(rid)) return;
    const record = this.#records.record(rid);
    if (record) this.#addRecord(record, isNested);
  }

  #addRecord(record: StoredRecord, isNested: boolean): void {
    if (record.kind === 'document' || this.#seen.has(record.rid)) return;
    if (this.byteLength > this.#byteLengthMax) return;
    if (this.#seen.size >= this.#countMax) {
      this.#isOverflowing = true;
      return;
    }
    this.#seen.add(record.rid);
    if (record.kind === 'vertex') {
      this.#vertexRids.push(record.rid);
      this.#writeVertex(record);
    } else {
      this.#writeEdge(record);
      if (!isNested) return;
      this.#addLinked(record.out, false);
      this.#addLinked(record.in, false);
    }
  }

  #writeVertex(vertex: StoredRecord): void {
    const writer = this.#vertices;
    this.#open(writer, vertex);
    writer.name('i');
    writer.integer(this.#records.degree(vertex.rid, 'in'));
    writer.byte(comma);
    writer.name('o');
    writer.integer(this.#records.degree(vertex.rid, 'out'));
    writer.byte(125);
  }

  #writeEdge(edge: StoredRecord): void {
    const writer = this.#edges;
    this.#open(writer, edge);
    writer.name('i');
    writer.rid(edge.in);
    writer.byte(comma);
    writer.name('o');
    writer.rid(edge.out);
    writer.byte(125);
  }

  #open(writer: JsonWriter, record: StoredRecord): void {
    if (writer.length > 0) writer.byte(comma);
    writer.byte(123);
    writer.name('r');
    writer.rid(record.rid);
    writer.byte(comma);
    writer.name('t');
    writer.string(record.typeName);
    writer.byte(comma);
    writer.name('p');
    writer.properties(record);
    writer.byte(comma);
  }
}
