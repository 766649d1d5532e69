import type { Slices } from '#core/json-value.ts';
import type { Runtime } from '#core/runtime.ts';
import type { LogIndex } from '#core/rid.ts';
import { SliceTimer } from '#transaction/slice-timer.ts';
import type { CommittedRequest } from '../session.ts';
import { CsvReader } from './csv-reader.ts';
import { ImportRows, type RowLoader } from './import-rows.ts';
import { JsonlReader } from './jsonl-reader.ts';
import { LineBuffer } from './line-buffer.ts';

/** Turns lines into rows. */
export interface ImportReader {
  readonly skippedLineCount: number;
  /** Reads lines from `buffer.start` on, until there is none, the rows are full or a long line follows. */
  read(buffer: LineBuffer): void;
  /** Reads one line of any length, giving others a turn now and then. */
  readLongLine(buffer: LineBuffer, slices: Slices): Promise<void>;
}

export interface BatchImportOptions {
  readonly loader: RowLoader;
  readonly format: 'jsonl' | 'csv';
  /** Records of one commit; undefined: 50,000, and behind the first with edges as many as memory allows. */
  readonly commitEvery: number | undefined;
  /** Edges name vertices by their place among the vertex lines; the number of the first. */
  readonly ordinalBase: number | undefined;
  readonly depthMax: number;
  readonly lineBytesMax: number;
  readonly runtime: Runtime;
  /** Called after each durable chunk. */
  readonly onCommit: (index: LogIndex) => void | Promise<void>;
  /** What the last commit is to remember of its request; asked before it, when anything was loaded. */
  readonly request?: () => Promise<CommittedRequest>;
  /** A full chunk is committed when the first row of the next one was read, so that the last one is known to be the last. */
  readonly keepsFullChunk?: boolean;
}

/** What is durable, and what was read. */
export interface ImportCounts {
  readonly vertices: number;
  readonly edges: number;
  readonly lines: number;
  readonly skippedLines: number;
  readonly bytes: number;
}

interface LoadedRows {
  readonly vertices: number;
  readonly edges: number;
  /** Temporary ids: how many, and the place behind the last one. */
  readonly ids: { readonly count: number; readonly end: number };
  /** Whether there were edges, vetoed ones included. */
  readonly hasEdges: boolean;
}

const defaultCommitEvery = 50_000;
/** A million edges fit in; the process then takes some 450 MB. */
const chunkBytesMax = 160 * 1024 * 1024;

/**
 * One import of vertices and edges from a body that arrives in pieces (contract, POST /batch). Each commit holds the rows of
 * a prefix of the lines. Memory: one piece, some thousand rows, one chunk of the loader and the temporary ids.
 */
export class BatchImport {
  readonly rows: ImportRows;
  readonly #options: BatchImportOptions;
  readonly #buffer: LineBuffer;
  readonly #reader: ImportReader;
  #bytes = 0;
  #committed: LoadedRows = { vertices: 0, edges: 0, ids: { count: 0, end: 0 }, hasEdges: false };
  #loaded = 0;
  /** The chunk when it is full, and to be committed as soon as a row of the next one is there. */
  #due: LoadedRows | undefined;

  constructor(options: BatchImportOptions) {
    const { loader, ordinalBase, runtime, depthMax } = options;
    this.#options = options;
    this.rows = new ImportRows({ loader, ordinalBase, seed: runtime.random.uint32() });
    this.#buffer = new LineBuffer(options.lineBytesMax);
    this.#reader =
      options.format === 'jsonl' ? new JsonlReader(this.rows, depthMax) : new CsvReader(this.rows);
    this.#limitWaiting();
  }

  /** Of committed chunks. */
  get counts(): ImportCounts {
    return this.#countsWith(this.#committed);
  }

  /** As `counts` when everything that was loaded will have been committed. */
  get loadedCounts(): ImportCounts {
    return this.#countsWith(this.#loadedRows);
  }

  #countsWith({ vertices, edges }: LoadedRows): ImportCounts {
    const { line, failedLine } = this.rows;
    return {
      vertices,
      edges,
      lines: failedLine > 0 ? failedLine : line,
      skippedLines: this.#reader.skippedLineCount,
      bytes: this.#bytes,
    };
  }

  /** Temporary ids of committed vertices: how many, and the place behind the last one in `rows.ids`. */
  get committedIds(): { readonly count: number; readonly end: number } {
    return this.#committed.ids;
  }

  /** Records that were read, committed or not. */
  get readCount(): number {
    return this.rows.vertexCount + this.rows.edgeCount;
  }

  /** Takes the next piece of the body. @throws DatabaseError naming the line; the import is over then */
  async write(piece: Uint8Array): Promise<void> {
    this.#bytes += piece.length;
    this.#buffer.append(piece);
    await this.#drain();
    this.#buffer.requireLength(this.#buffer.restLength, this.rows.line + 1);
  }

  /** Whether a full chunk waits for a row of the next one. */
  get hasFullChunk(): boolean {
    return this.#due !== undefined;
  }

  /** Commits a full chunk without waiting any longer. */
  async commitFullChunk(): Promise<void> {
    if (this.#due !== undefined) await this.#commit();
  }

  /** The body is complete: reads its last line. */
  async complete(): Promise<void> {
    if (this.#buffer.complete()) await this.#drain();
  }

  /** Commits what is left. */
  async end(): Promise<void> {
    await this.complete();
    await this.#commitDue();
    await this.rows.flush();
    await this.#commitLast();
  }

  /** The import is over before its end: lets go of what was not committed. */
  close(): void {
    this.rows.loader.close();
  }

  async #drain(): Promise<void> {
    const { rows } = this;
    for (;;) {
      try {
        await this.#read();
      } catch (error) {
        throw await this.#earliest(error);
      }
      await this.#commitDue();
      if (!rows.isFull) return;
      await this.#flush();
    }
  }

  /** Until the rows are full or no line is left. */
  async #read(): Promise<void> {
    const { rows } = this;
    const buffer = this.#buffer;
    for (;;) {
      const { start } = buffer;
      this.#reader.read(buffer);
      const refused = rows.refusedEnd();
      if (refused !== undefined) throw refused;
      rows.tookLines(buffer.start - start);
      if (rows.isFull || !buffer.isLongLineNext) return;
      await this.#reader.readLongLine(buffer, new SliceTimer(this.#options.runtime));
    }
  }

  async #flush(): Promise<void> {
    const { rows } = this;
    this.#loaded += rows.waiting;
    await rows.flush();
    const isFull = this.#loaded >= this.#chunkRecords || rows.loader.pendingBytes >= chunkBytesMax;
    if (isFull) this.#due = this.#loadedRows;
    if (this.#options.keepsFullChunk !== true) await this.#commitDue();
    this.#limitWaiting();
  }

  async #commitDue(): Promise<void> {
    const isNextThere = this.rows.waiting > 0 || this.#options.keepsFullChunk !== true;
    if (this.#due !== undefined && isNextThere) await this.#commit();
  }

  async #commitLast(): Promise<void> {
    const { rows } = this;
    const request = this.readCount > 0 ? await this.#options.request?.() : undefined;
    if (rows.loader.pendingBytes > 0) await this.#commit(request);
    else if (request !== undefined) await rows.commit(request);
  }

  async #commit(request?: CommittedRequest): Promise<void> {
    const { rows } = this;
    const loaded = this.#due ?? this.#loadedRows;
    this.#due = undefined;
    // A chunk of which triggers have kept every row is over, too.
    this.#loaded = 0;
    if (rows.loader.pendingBytes === 0) return;
    const index = await rows.commit(request);
    this.#committed = loaded;
    await this.#options.onCommit(index);
  }

  /** What the loader has been given; rows that wait are not among it. To be asked when none wait. */
  get #loadedRows(): LoadedRows {
    const { loader, vertexCount, edgeCount, ids } = this.rows;
    const { vetoed } = loader;
    return {
      vertices: vertexCount - vetoed.records,
      edges: edgeCount - vetoed.edges,
      ids: { count: ids.count, end: ids.end },
      hasEdges: edgeCount > 0,
    };
  }

  /**
   * Each commit of edges rewrites the lists of the vertices that they touch, so a large load of edges is several times faster
   * in few commits than in many.
   */
  get #chunkRecords(): number {
    const { commitEvery } = this.#options;
    if (commitEvery !== undefined) return commitEvery;
    return this.#committed.hasEdges ? Number.POSITIVE_INFINITY : defaultCommitEvery;
  }

  /** Reading stops exactly at the border of a chunk. */
  #limitWaiting(): void {
    this.rows.limitWaiting(this.#chunkRecords - (this.#due === undefined ? this.#loaded : 0));
  }

  /** Rows that wait may be refused too, and come before the line that was refused now. */
  async #earliest(error: unknown): Promise<unknown> {
    try {
      if (this.#due !== undefined) await this.#commit();
      const refused = this.rows.refusedEnd();
      await this.rows.flush();
      return refused ?? error;
    } catch (earlier) {
      return earlier;
    }
  }
}
