import { DatabaseError } from '#core/errors.ts';
import type { IntegerWidths } from '#core/value/integer-width.ts';
import { type LogIndex, noRid, parseRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { CommittedRequest } from '../session/recorded-request.ts';
import type { BulkLoader } from './bulk-loader.ts';
import { hashOf } from './ends/id-table.ts';
import type { IdText } from './ends/id-text.ts';
import { OrdinalRids } from './ends/ordinal-rids.ts';
import { TemporaryIds } from './ends/temporary-ids.ts';

/** Rows of one type with the same properties that wait for being loaded. */
export class PendingRows {
  readonly type: string;
  readonly isEdge: boolean;
  readonly columns: readonly string[];
  readonly values: (Value | undefined)[] = [];
  /** Of integers, where the format tells them. */
  widths: IntegerWidths | undefined;
  /** Number of the line of each row. */
  lines = new Float64Array(64);
  /** Place of the temporary id of each vertex, -1 for none. */
  ids = new Int32Array(64);
  /** Record id of the source of each edge; of vertices their place among the vertex lines. */
  from = new Float64Array(64);
  to = new Float64Array(64);
  count = 0;
  /** Edges before have the record ids of their ends, others may have what stands for them. */
  resolvedCount = 0;

  constructor(type: string, isEdge: boolean, columns: readonly string[]) {
    this.type = type;
    this.isEdge = isEdge;
    this.columns = columns;
  }

  /** Makes room for one row more. */
  reserve(): void {
    if (this.count < this.lines.length) return;
    const capacity = this.count * 2;
    this.lines = doubled(this.lines, capacity);
    this.from = doubled(this.from, capacity);
    if (this.isEdge) this.to = doubled(this.to, capacity);
    else {
      const ids = new Int32Array(capacity);
      ids.set(this.ids);
      this.ids = ids;
    }
  }

  clear(): void {
    this.values.length = 0;
    this.count = 0;
    this.resolvedCount = 0;
  }

  /** Takes back the rows from this line on. */
  cutFrom(line: number): void {
    while (this.count > 0 && (this.lines[this.count - 1] as number) >= line) this.count -= 1;
    this.values.length = Math.min(this.values.length, this.count * this.columns.length);
    this.resolvedCount = Math.min(this.resolvedCount, this.count);
  }
}

function doubled(numbers: Float64Array<ArrayBuffer>, capacity: number): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(capacity);
  grown.set(numbers);
  return grown;
}

/** What an import needs of a loader. */
export type RowLoader = Pick<
  BulkLoader,
  | 'typeNamed'
  | 'propertyOf'
  | 'authorize'
  | 'isVertex'
  | 'hasUniqueKeys'
  | 'addRecords'
  | 'addEdges'
  | 'endChunk'
  | 'commit'
  | 'isLast'
  | 'settle'
  | 'commitEnded'
  | 'cancelChunk'
  | 'savedChunkCount'
  | 'index'
  | 'failedRow'
  | 'failedRid'
  | 'pendingBytes'
  | 'entryBytesMax'
  | 'vetoed'
  | 'close'
>;

export interface ImportRowsOptions {
  readonly loader: RowLoader;
  /** Names of vertices by their place among the vertex lines instead of by id; the number of the first. */
  readonly ordinalBase: number | undefined;
  /** For the hash table of ids. */
  readonly seed: number;
}

/** Rows that are read before they are handed on. */
const rowsPerFlush = 2048;
/** Of lines: they are made into records in one turn. */
const lineBytesPerFlush = 1024 * 1024;
/** Different sets of properties at once. */
const pendingMax = 512;

/**
 * The rows of an import on their way from lines to the loader: gathered by type and properties, vertices before edges, the
 * ends of edges resolved as they come. Readers add rows until `isFull`; then `flush`.
 */
export class ImportRows {
  readonly ids: TemporaryIds;
  readonly loader: RowLoader;
  readonly #ordinalBase: number | undefined;
  readonly #pending = new Map<string, PendingRows>();
  /** Record ids by place among the vertex lines; only when edges name them so. */
  readonly #byOrdinal = new OrdinalRids();
  /** Lines with the rows of the chunk, for duplicate keys that are found when it is committed. */
  readonly #placed: { readonly rids: Float64Array; readonly lines: Float64Array }[] = [];
  /** Of the line that is being read, from 1. */
  line = 0;
  /** Line of the failure, when it was found later. */
  failedLine = 0;
  vertexCount = 0;
  edgeCount = 0;
  withoutIdCount = 0;
  /** Raised when `PendingRows` that were given out are no longer looked at. */
  generation = 0;
  /** Rows since the last flush. */
  waiting = 0;
  /** Stop reading and flush when so many rows wait. */
  #waitingMax = rowsPerFlush;
  #mustFlush = false;
  #waitingBytes = 0;

  constructor(options: ImportRowsOptions) {
    this.loader = options.loader;
    this.#ordinalBase = options.ordinalBase;
    this.ids = new TemporaryIds(options.seed);
  }

  get isOrdinal(): boolean {
    return this.#ordinalBase !== undefined;
  }

  get hasEdges(): boolean {
    return this.edgeCount > 0;
  }

  get isFull(): boolean {
    return this.#mustFlush || this.waiting >= this.#waitingMax;
  }

  /** Rows that may be added until it is full. */
  get room(): number {
    return this.isFull ? 0 : this.#waitingMax - this.waiting;
  }

  /** Lines of so many bytes were read: stops when the rows that wait are too large for a turn. */
  tookLines(bytes: number): void {
    this.#waitingBytes += bytes;
    if (this.#waitingBytes >= lineBytesPerFlush && this.waiting > 0) this.#mustFlush = true;
  }

  /** Stops reading: a long row waits for no others. */
  endWaiting(): void {
    this.#mustFlush = true;
  }

  /** Stops reading after so many rows more, at the latest. */
  limitWaiting(count: number): void {
    this.#waitingMax = Math.min(rowsPerFlush, count);
  }

  /**
   * The rows of a type with these properties.
   * @throws DatabaseError 400 for a type that is not there or of the other kind, `Forbidden`
   */
  pendingFor(type: string, isEdge: boolean, columns: readonly string[]): PendingRows {
    const key = `${isEdge ? 'e' : 'v'}${columns.length}\n${type}\n${columns.join('\n')}`;
    const known = this.#pending.get(key);
    if (known !== undefined) return known;
    const kind = isEdge ? 'edge' : 'vertex';
    const found = this.loader.typeNamed(type);
    if (found?.kind !== kind) {
      const other = found === undefined ? '' : `: it is of kind ${found.kind}`;
      throw this.refusal(`${kind} type '${shown(type)}' not found${other}`);
    }
    try {
      this.loader.authorize(found);
    } catch (error) {
      throw atLine(error, this.line);
    }
    const rows = new PendingRows(type, isEdge, columns);
    this.#pending.set(key, rows);
    return rows;
  }

  /** @throws DatabaseError when edges have come already, or the id is taken */
  addVertex(rows: PendingRows, bytes: Uint8Array, text: IdText): void {
    if (this.edgeCount > 0) throw this.refusal('a vertex after the first edge');
    let entry = -1;
    if (text.end >= 0) {
      entry = this.ids.addText(bytes, text);
      if (entry < 0) {
        const id = Buffer.from(bytes.subarray(text.start, text.end)).toString();
        throw this.refusal(`two vertices have the @id '${shown(id)}'`);
      }
    } else this.withoutIdCount += 1;
    rows.reserve();
    rows.ids[rows.count] = entry;
    rows.lines[rows.count] = this.line;
    rows.from[rows.count] = this.vertexCount;
    rows.count += 1;
    this.vertexCount += 1;
    this.waiting += 1;
  }

  /** Vertices must be loaded before edges name them: false means flush first. */
  get mayAddEdges(): boolean {
    if (this.edgeCount > 0 || this.waiting === 0) return true;
    this.#mustFlush = true;
    return false;
  }

  addEdge(rows: PendingRows, from: Rid, to: Rid): void {
    rows.reserve();
    rows.from[rows.count] = from;
    rows.to[rows.count] = to;
    rows.lines[rows.count] = this.line;
    rows.count += 1;
    this.edgeCount += 1;
    this.waiting += 1;
  }

  /** Edges of the next lines, which the caller has laid behind the last row; at most `room`. */
  countEdges(rows: PendingRows, count: number): void {
    rows.count += count;
    this.line += count;
    this.edgeCount += count;
    this.waiting += count;
  }

  /** As `addEdge`, for ends that are named; they may be looked up later, by `refusedEnd`. @throws DatabaseError 400 */
  addNamedEdge(rows: PendingRows, bytes: Uint8Array, from: IdText, to: IdText): void {
    const source = this.#deferredEnd(bytes, from);
    let target: number;
    try {
      target = this.#deferredEnd(bytes, to);
    } catch (error) {
      // The first end that is wrong is the one that is named.
      this.end(bytes, from);
      throw error;
    }
    this.addEdge(rows, source as Rid, target as Rid);
  }

  #deferredEnd(bytes: Uint8Array, text: IdText): number {
    const deferred = this.#ordinalBase === undefined ? this.ids.deferred(text) : undefined;
    return deferred ?? this.end(bytes, text);
  }

  /**
   * Looks up the ends of edges that were left for later. To be called before rows are flushed, and now and then, so that a wrong one
   * is found in time.
   * @returns the refusal of the first line that names no vertex, whose rows are taken back from it on
   */
  refusedEnd(): Error | undefined {
    let first: Refusal | undefined;
    for (const rows of this.#pending.values()) {
      if (!rows.isEdge || rows.resolvedCount === rows.count) continue;
      for (const ends of [rows.from, rows.to]) {
        const refused = this.#resolve(rows, ends);
        if (refused !== undefined && refused.line < (first?.line ?? Infinity)) first = refused;
      }
      rows.resolvedCount = rows.count;
    }
    if (first === undefined) return undefined;
    for (const rows of this.#pending.values()) rows.cutFrom(first.line);
    this.failedLine = first.line;
    return first.error;
  }

  #resolve({ count, lines, resolvedCount }: PendingRows, ends: Float64Array): Refusal | undefined {
    const { ids } = this;
    for (let at = resolvedCount; ; at += 1) {
      at = ids.resolve(ends, at, count);
      if (at === count) return undefined;
      const line = lines[at] as number;
      const text = ids.deferredText(ends[at] as number);
      const end = this.#named(text);
      if (end === undefined) return { line, error: notFound(line, text) };
      ends[at] = end;
    }
  }

  /** The vertex that an edge names. @throws DatabaseError 400 naming it */
  end(bytes: Uint8Array, text: IdText): Rid {
    if (this.#ordinalBase === undefined) {
      const rid = this.ids.findText(bytes, text);
      if (rid !== undefined) return rid;
    }
    return this.endNamed(Buffer.from(bytes.subarray(text.start, text.end)).toString());
  }

  /** As `end`, for a text. */
  endNamed(text: string): Rid {
    const rid = this.#named(text);
    if (rid === undefined) throw notFound(this.line, text);
    return rid;
  }

  #named(text: string): Rid | undefined {
    if (this.#ordinalBase === undefined) {
      const bytes = Buffer.from(text);
      const rid = this.ids.find(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length));
      if (rid !== undefined) return rid;
    } else if (/^\d{1,15}$/.test(text)) return this.endAt(Number(text), text);
    const rid = text.startsWith('#') ? parseRid(text) : undefined;
    return rid !== undefined && rid !== noRid && this.loader.isVertex(rid) ? rid : undefined;
  }

  /** As `end`, for the number of a vertex line. */
  endAt(ordinal: number, text: string): Rid {
    const at = ordinal - (this.#ordinalBase ?? 0);
    if (at >= 0 && at < this.vertexCount) return this.#byOrdinal.get(at);
    throw notFound(this.line, text);
  }

  /** Hands everything that waits to the loader. */
  async flush(): Promise<void> {
    this.#mustFlush = false;
    this.#waitingBytes = 0;
    for (const rows of this.#pending.values()) {
      if (rows.count > 0) await this.#load(rows);
    }
    this.waiting = 0;
    if (this.#pending.size <= pendingMax) return;
    this.#pending.clear();
    this.generation += 1;
  }

  async #load(rows: PendingRows): Promise<void> {
    const { loader } = this;
    const { type, columns, values, widths, count: rowCount } = rows;
    const isKeyed = loader.hasUniqueKeys(type);
    // Who needs no record ids has them made faster.
    const rids = new Float64Array(isKeyed || !rows.isEdge ? rowCount : 0);
    const batch = { type, columns, values, widths, rowCount, ...(rids.length > 0 && { rids }) };
    try {
      if (rows.isEdge) await loader.addEdges({ ...batch, from: rows.from, to: rows.to });
      else await loader.addRecords(batch);
    } catch (error) {
      const row = loader.failedRow;
      throw row < 0 ? error : this.failureAt(error, rows.lines[row] as number);
    }
    if (!rows.isEdge) this.#nameVertices(rows, rids);
    if (isKeyed) {
      this.#placed.push({ rids, lines: rows.lines.slice(0, rowCount) });
    }
    rows.clear();
  }

  #nameVertices(rows: PendingRows, rids: Float64Array): void {
    for (let at = 0; at < rids.length; at += 1) {
      const entry = rows.ids[at] as number;
      if (entry >= 0) this.ids.setRid(entry, rids[at] as Rid);
    }
    if (this.#ordinalBase === undefined) return;
    for (let at = 0; at < rids.length; at += 1)
      this.#byOrdinal.set(rows.from[at] as number, rids[at] as Rid);
  }

  /**
   * Makes everything that was loaded durable.
   * @param request remembered by this commit
   * @throws DatabaseError with the line of a duplicate key
   */
  async commit(request?: CommittedRequest): Promise<LogIndex> {
    const index = await this.#commit(() => this.loader.commit(request));
    this.#placed.length = 0;
    return index;
  }

  /** As `commit`, of the chunks that the loader was told to end; they have no keys. */
  commitEnded(): Promise<LogIndex> {
    return this.#commit(() => this.loader.commitEnded());
  }

  async #commit(commit: () => Promise<LogIndex>): Promise<LogIndex> {
    try {
      return await commit();
    } catch (error) {
      const line = this.#lineOf(this.loader.failedRid);
      throw line === undefined ? error : this.failureAt(error, line);
    }
  }

  #lineOf(rid: Rid): number | undefined {
    if (rid === noRid) return undefined;
    for (const { rids, lines } of this.#placed) {
      const at = rids.indexOf(rid);
      if (at >= 0) return lines[at];
    }
    return undefined;
  }

  /** The same error with the line that it belongs to. */
  failureAt(error: unknown, line: number): unknown {
    this.failedLine = line;
    return atLine(error, line);
  }

  /** A refusal of the line that is being read. */
  refusal(reason: string): DatabaseError {
    return refusalAt(this.line, reason);
  }
}

interface Refusal {
  readonly line: number;
  readonly error: DatabaseError;
}

function refusalAt(line: number, reason: string): DatabaseError {
  return new DatabaseError('IllegalArgument', `Line ${line}: ${reason}`);
}

function notFound(line: number, text: string): DatabaseError {
  return refusalAt(line, `the vertex '${shown(text)}' of the edge was not found`);
}

function atLine(error: unknown, line: number): unknown {
  if (!(error instanceof DatabaseError)) return error;
  return new DatabaseError(error.code, `Line ${line}: ${error.message}`, {
    arguments: error.arguments,
    ...(error.help === undefined ? undefined : { help: error.help }),
  });
}

function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
