import { DatabaseError } from '#core/errors.ts';
import { type IntegerWidths, widthsOf } from '#core/value/integer-width.ts';
import type { RecordKind } from '#core/value/record.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { BulkLoader } from '../bulk/bulk-loader.ts';
import { hashOf, IdTable } from '../bulk/ends/id-table.ts';
import type { OperatedDatabase } from '../operations/operated-database.ts';
import type { ProgressReporter } from '../progress/progress-registry.ts';
import { insertRows } from './row-inserts.ts';

/** What an import has read and made. */
export interface ImportCounts {
  parsedRecords: number;
  createdDocuments: number;
  createdVertices: number;
  createdEdges: number;
  errors: number;
  warnings: number;
}

export interface ImportSinkOptions {
  readonly database: OperatedDatabase;
  readonly runtime: Runtime;
  readonly reporter: ProgressReporter;
  /** Records of one commit; undefined: as many as memory allows. */
  readonly commitEvery: number | undefined;
  /** A record that may not be stored is left out and counted, instead of ending the import. */
  readonly skipsRows: boolean;
  /** False: edges are entered at their source only. */
  readonly isBidirectional: boolean;
}

/** Rows of one type with the same properties that wait. */
interface Waiting {
  readonly type: string;
  readonly kind: RecordKind;
  readonly columns: readonly string[];
  readonly widths: IntegerWidths | undefined;
  /** Edges that are entered at their source only. */
  readonly isOneWay: boolean;
  readonly values: Value[];
  /** Entries of the id table, or -1; called with the record id when it is known. */
  readonly named: ((rid: Rid) => void)[];
  readonly from: number[];
  readonly to: number[];
  count: number;
  /** Somebody wants to know the record ids; without, edges are made faster. */
  needsRids: boolean;
}

const waitingMax = 2048;
const groupsMax = 512;
const turnMs = 3;

/**
 * Where importers put what they read. Types that are missing are made; rows are gathered by type and properties and go to a
 * bulk loader, so an interrupted import leaves whole chunks and no edge without its ends.
 */
export class ImportSink {
  readonly counts: ImportCounts = {
    parsedRecords: 0,
    createdDocuments: 0,
    createdVertices: 0,
    createdEdges: 0,
    errors: 0,
    warnings: 0,
  };
  readonly #options: ImportSinkOptions;
  readonly #loader: BulkLoader;
  readonly #ids: IdTable;
  readonly #groups = new Map<string, Waiting>();
  #waiting = 0;
  #sinceCommit = 0;
  #turnStartMs: number;

  constructor(options: ImportSinkOptions) {
    this.#options = options;
    const { database, runtime, isBidirectional } = options;
    this.#loader = database.bulkLoader({
      commitRetries: 5,
      commitRetryDelayMs: 100,
      isBidirectional,
    });
    this.#ids = new IdTable(runtime.random.uint32());
    this.#turnStartMs = runtime.clock.monotonicMs();
  }

  /** Makes the type if it is missing. @throws DatabaseError `IllegalArgument` when it is there and of another kind */
  async requireType(kind: RecordKind, name: string): Promise<void> {
    const { state } = this.#options.database;
    const known = state.catalog.typeNamed(name);
    if (known?.kind === kind) return;
    if (known !== undefined)
      throw new DatabaseError(
        'IllegalArgument',
        `'${name}' is a ${known.kind} type, the import has a ${kind} of it`,
      );
    // The loader sees new types with its next chunk.
    await this.commit();
    await state.alter({
      kind: 'create-type',
      type: kind,
      name,
      ifNotExists: true,
      supertypes: [],
      buckets: [],
      bucketCount: undefined,
      custom: new Map(),
      bidirectional: true,
      lightweight: false,
      uniqueEdges: false,
    });
  }

  /**
   * Adds a document or vertex.
   * @param id names it for edges that come later; @param onRid told of the record id, at the latest by `flush`
   */
  addRecord(
    kind: 'document' | 'vertex',
    type: string,
    properties: ValueMap,
    about: { readonly id?: string | undefined; readonly onRid?: (rid: Rid) => void } = {},
  ): void {
    const { id, onRid } = about;
    const entry = id === undefined ? -1 : this.rowOrSkip(() => this.#newId(id));
    if (entry === undefined) return;
    const group = this.#group(kind, type, properties);
    group.named.push((rid) => {
      if (entry >= 0) this.#ids.setRid(entry, rid);
      onRid?.(rid);
    });
    this.counts.parsedRecords += 1;
  }

  /** Adds an edge between records of the database; call `flush` before when they are new. */
  addEdge(
    type: string,
    from: Rid,
    to: Rid,
    properties: ValueMap,
    about: { readonly onRid?: (rid: Rid) => void; readonly isOneWay?: boolean } = {},
  ): void {
    const { onRid, isOneWay } = about;
    const group = this.#group('edge', type, properties, isOneWay);
    group.from.push(from);
    group.to.push(to);
    group.named.push(onRid ?? nothing);
    if (onRid !== undefined) group.needsRids = true;
    this.counts.parsedRecords += 1;
  }

  /**
   * Makes a part of a row from what the file says of it.
   * @returns undefined when the row may not be and is to be left out, which is counted
   */
  rowOrSkip<T>(make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (!this.#options.skipsRows || !(error instanceof DatabaseError)) throw error;
      this.counts.parsedRecords += 1;
      this.counts.errors += 1;
      return undefined;
    }
  }

  /** A vertex that was there before may be named by this id, unless a new one has it. */
  nameStored(id: string, rid: Rid): void {
    const bytes = Buffer.from(id);
    const entry = this.#ids.add(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length));
    if (entry >= 0) this.#ids.setRid(entry, rid);
  }

  /** The record with this id; `noRid` when there is none. */
  ridOf(id: string): Rid {
    const bytes = Buffer.from(id);
    const entry = this.#ids.find(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length));
    return entry < 0 ? noRid : this.#ids.ridOf(entry);
  }

  /** To be called after each record: hands rows on, gives others their turn, ends when the import is to end. */
  pace(): Promise<void> | undefined {
    if (this.#waiting >= waitingMax) return this.flush();
    const { runtime } = this.#options;
    if (runtime.clock.monotonicMs() - this.#turnStartMs < turnMs) return undefined;
    return this.#turn();
  }

  /** Hands everything that waits to the loader: vertices and documents first. */
  async flush(): Promise<void> {
    for (const isEdge of [false, true])
      for (const group of this.#groups.values())
        if (group.count > 0 && (group.kind === 'edge') === isEdge) await this.#load(group);
    this.#sinceCommit += this.#waiting;
    this.#waiting = 0;
    if (this.#groups.size > groupsMax) this.#groups.clear();
    const { commitEvery } = this.#options;
    if (commitEvery !== undefined && this.#sinceCommit >= commitEvery) await this.commit();
    await this.#turn();
  }

  /** Makes everything so far durable and visible. */
  async commit(): Promise<void> {
    if (this.#waiting > 0) await this.flush();
    await this.#loader.commit();
    this.#sinceCommit = 0;
  }

  /** Lets go of what was not committed; to be called at the end, however it came. */
  close(): void {
    this.#loader.close();
  }

  async #turn(): Promise<void> {
    const { runtime, reporter } = this.#options;
    reporter.check();
    this.#report();
    await runtime.timers.yield();
    reporter.check();
    this.#turnStartMs = runtime.clock.monotonicMs();
  }

  #report(): void {
    const { reporter } = this.#options;
    reporter.count('parsed', this.counts.parsedRecords);
    reporter.count('documents', this.counts.createdDocuments);
    reporter.count('vertices', this.counts.createdVertices);
    reporter.count('edges', this.counts.createdEdges);
  }

  #newId(id: string): number {
    const bytes = Buffer.from(id);
    const entry = this.#ids.add(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length));
    if (entry >= 0) return entry;
    throw new DatabaseError('Validation', `two records have the id '${id.slice(0, 100)}'`);
  }

  #group(kind: RecordKind, type: string, properties: ValueMap, isOneWay = false): Waiting {
    const columns = [...properties.keys()];
    const widths = widthsOf(properties);
    const sizes = widths === undefined ? '' : [...widths].join(' ');
    const key = `${isOneWay ? 'one-way ' : ''}${kind}\n${type}\n${columns.join('\n')}\n${sizes}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = {
        type,
        kind,
        columns,
        widths,
        isOneWay,
        values: [],
        named: [],
        from: [],
        to: [],
        count: 0,
        needsRids: false,
      };
      this.#groups.set(key, group);
    }
    for (const value of properties.values()) group.values.push(value);
    group.count += 1;
    this.#waiting += 1;
    return group;
  }

  async #load(group: Waiting): Promise<void> {
    if (this.#options.skipsRows) return this.#insert(group);
    const { type, kind, columns, widths, count: rowCount } = group;
    const hasRids = kind !== 'edge' || group.needsRids;
    const rids = new Float64Array(hasRids ? rowCount : 0);
    const values = group.values.splice(0);
    const batch = { type, columns, values, widths, rowCount, ...(hasRids && { rids }) };
    if (kind === 'edge') {
      const from = Float64Array.from(group.from.splice(0));
      const to = Float64Array.from(group.to.splice(0));
      await this.#loader.addEdges({ ...batch, from, to, isOneWay: group.isOneWay });
      this.counts.createdEdges += rowCount;
    } else {
      await this.#loader.addRecords(batch);
      if (kind === 'vertex') this.counts.createdVertices += rowCount;
      else this.counts.createdDocuments += rowCount;
    }
    group.count = 0;
    const named = group.named.splice(0);
    if (!hasRids) return;
    for (let at = 0; at < rowCount; at += 1) named[at]?.(rids[at] as Rid);
  }

  /** One transaction, in which what may not be stored is left out. */
  async #insert(group: Waiting): Promise<void> {
    const { type, kind, columns, widths, count: rowCount } = group;
    const rows = {
      type,
      kind,
      columns,
      widths,
      values: group.values.splice(0),
      rowCount,
      from: group.from.splice(0),
      to: group.to.splice(0),
      isOneWay: kind === 'edge' && (group.isOneWay || !this.#options.isBidirectional),
    };
    group.count = 0;
    const named = group.named.splice(0);
    const rids = await insertRows(this.#options.database, rows, () =>
      this.#options.runtime.timers.yield(),
    );
    let stored = 0;
    for (let at = 0; at < rowCount; at += 1) {
      const rid = rids[at] as Rid;
      if (rid === noRid) {
        this.counts.errors += 1;
        continue;
      }
      stored += 1;
      named[at]?.(rid);
    }
    if (kind === 'edge') this.counts.createdEdges += stored;
    else if (kind === 'vertex') this.counts.createdVertices += stored;
    else this.counts.createdDocuments += stored;
  }
}

function nothing(): void {}
