import type { PropertyDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { type LogIndex, makeRid, noRid } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import { BatchImport, defaultCommitEvery } from '#database/bulk/batch-import.ts';
import type { EdgeBatch, RecordBatch } from '#database/bulk/bulk-batch.ts';
import type { RowLoader } from '#database/bulk/import-rows.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

export interface LoadedRow {
  readonly type: string;
  readonly columns: readonly string[];
  readonly values: readonly (Value | undefined)[];
  /** Of edges: places among the vertices. */
  readonly ends?: readonly [number, number];
}

/** Takes rows instead of storing them: vertex n gets the record id #1:n. Types that start with E are edge types. */
export class RecordingLoader {
  readonly rows: LoadedRow[] = [];
  readonly commits: number[] = [];
  readonly savedChunkCount = 0;
  #ended = 0;
  readonly failedRow = -1;
  readonly failedRid = noRid;
  readonly declared = new Map<string, PropertyDefinition>();
  /** Rows, of which each is a byte. */
  protected pendingRows = 0;
  readonly vetoed = { records: 0, edges: 0 };

  isLast = false;

  close(): void {}
  async settle(): Promise<void> {}

  #vertexCount = 0;

  typeNamed(name: string): TypeDefinition {
    return { name, kind: name.startsWith('E') ? 'edge' : 'vertex' } as TypeDefinition;
  }
  propertyOf(_type: TypeDefinition, name: string): PropertyDefinition | undefined {
    return this.declared.get(name);
  }
  authorize(): void {}
  isVertex(): boolean {
    return false;
  }
  hasUniqueKeys(): boolean {
    return false;
  }
  async addRecords(batch: RecordBatch): Promise<void> {
    this.#take(batch);
    for (let at = 0; at < batch.rowCount; at += 1) {
      if (batch.rids) batch.rids[at] = makeRid(1, this.#vertexCount);
      this.#vertexCount += 1;
    }
  }
  async addEdges(batch: EdgeBatch): Promise<void> {
    this.#take(batch, (at) => [endOf(batch.from[at]), endOf(batch.to[at])]);
  }
  get pendingBytes(): number {
    return this.pendingRows;
  }
  get index(): LogIndex {
    return this.commits.length as LogIndex;
  }
  endChunk(): boolean {
    this.#ended = this.rows.length;
    return true;
  }
  cancelChunk(): void {
    this.rows.length = this.#ended;
  }
  async commit(): Promise<LogIndex> {
    this.pendingRows = 0;
    this.commits.push(this.rows.length);
    return this.index;
  }
  async commitEnded(): Promise<LogIndex> {
    this.pendingRows = this.rows.length - this.#ended;
    this.commits.push(this.#ended);
    return this.index;
  }

  #take(batch: RecordBatch | EdgeBatch, ends?: (at: number) => [number, number]): void {
    const { type, columns, values, rowCount } = batch;
    for (let at = 0; at < rowCount; at += 1) {
      const row = values.slice(at * columns.length, (at + 1) * columns.length);
      this.rows.push({ type, columns, values: row, ...(ends && { ends: ends(at) }) });
    }
    this.pendingRows += rowCount;
  }
}

function endOf(end: unknown): number {
  return Number(end) - makeRid(1, 0);
}

/** Imports a body that arrives in pieces of these lengths, over and over. */
export async function importBody(
  body: Uint8Array,
  pieceLengths: readonly number[],
  options: {
    readonly format?: 'jsonl' | 'csv';
    readonly commitEvery?: number;
    readonly sharesCommits?: boolean;
    readonly lineBytesMax?: number;
    readonly runtime?: Runtime;
  } = {},
  loader = new RecordingLoader(),
): Promise<{ readonly loader: RecordingLoader; readonly batch: BatchImport }> {
  const batch = new BatchImport({
    loader: loader as unknown as RowLoader,
    format: options.format ?? 'jsonl',
    commitEvery: options.commitEvery ?? defaultCommitEvery,
    sharesCommits: options.sharesCommits ?? false,
    ordinalBase: undefined,
    depthMax: 512,
    lineBytesMax: options.lineBytesMax ?? 1024 * 1024,
    runtime: options.runtime ?? systemRuntime,
    onCommit: () => {},
  });
  for (let at = 0, piece = 0; at < body.length; piece += 1) {
    const length = pieceLengths[piece % pieceLengths.length] ?? 1024;
    // A copy: what a socket gave is not used after it was written.
    await batch.write(Uint8Array.from(body.subarray(at, at + length)));
    at += length;
  }
  await batch.end();
  return { loader, batch };
}
