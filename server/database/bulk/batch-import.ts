import type { Runtime } from '#core/runtime.ts';
import type { LogIndex } from '#core/value/rid.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { CommittedRequest } from '../session/recorded-request.ts';
import { CsvReader } from './csv/reader.ts';
import type { ImportReader } from './import-reader.ts';
import { ImportRows, type RowLoader } from './import-rows.ts';
import { JsonlReader } from './jsonl/reader.ts';
import { LineBuffer } from './line-buffer.ts';

export interface BatchImportOptions {
  readonly loader: RowLoader;
  readonly format: 'jsonl' | 'csv';
  /** Records of a chunk. */
  readonly commitEvery: number;
  /** Memory of what is gathered for one commit; default 128 MiB. */
  readonly commitBytesMax?: number;
  /** Chunks that come quickly one behind the other may share a commit. */
  readonly sharesCommits?: boolean;
  /** Edges name vertices by their place among the vertex lines; the number of the first. */
  readonly ordinalBase: number | undefined;
  readonly depthMax: number;
  readonly lineBytesMax: number;
  readonly runtime: Runtime;
  /** Called for each durable chunk, in order, with what was durable and read at its end. */
  readonly onCommit: (chunk: CommittedChunk) => void | Promise<void>;
  /** What the last commit is to remember of its request; asked before it, when anything was loaded. */
  readonly request?: () => Promise<CommittedRequest>;
  /** Full chunks are committed when the first row of the next one was read, so that the last one is known to be the last. */
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

export interface CommittedChunk {
  readonly index: LogIndex;
  readonly counts: ImportCounts;
  /** Whether there were edges up to its end. */
  readonly hasEdges: boolean;
  /** Temporary ids of its vertices and those before: how many, and the place behind the last one in `rows.ids`. */
  readonly ids: IdRange;
}

interface IdRange {
  readonly count: number;
  readonly end: number;
}

type LoadedRows = Omit<CommittedChunk, 'index'>;

const nothing: LoadedRows = {
  counts: { vertices: 0, edges: 0, lines: 0, skippedLines: 0, bytes: 0 },
  ids: { count: 0, end: 0 },
  hasEdges: false,
};

/** Of a call that does not say. */
export const defaultCommitEvery = 50_000;
/** A million edges fit in; the process then takes some 450 MB. */
const defaultCommitBytes = 128 * 1024 * 1024;
/** A chunk of this share of it shares no commit: that costs little beside its rows, and parting it from others would cost a copy. */
const sharedShare = 1 / 4;
/** How long a chunk waits for others; then what a slow client sends is worth a commit of its own. */
const sharedMsMax = 5000;

/**
 * One import of vertices and edges from a body that arrives in pieces (contract, POST /batch). Each commit holds the rows of
 * a prefix of the lines, in whole chunks. Chunks may share a commit, since each commit of edges rewrites the lists of the
 * vertices that they touch; whatever ends the import, those that are complete are committed as if they shared nothing.
 * Memory: one piece, some thousand rows, what the loader holds of one commit and the temporary ids.
 */
export class BatchImport {
  readonly rows: ImportRows;
  readonly #options: BatchImportOptions;
  readonly #buffer: LineBuffer;
  readonly #reader: ImportReader;
  #bytes = 0;
  #committed = nothing;
  /** Rows of the chunk that is being made. */
  #loaded = 0;
  /** Chunks that are complete, and not committed. */
  #full: LoadedRows[] = [];
  /** Memory of these. */
  #fullBytes = 0;
  /** When the first of them was. */
  #fullSinceMs = 0;
  /** They are to be committed as soon as a row of the next one is there. */
  #isDue = false;

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
    return this.#countsWith(this.#committed.counts);
  }

  /** As `counts` when everything that was loaded will have been committed. */
  get loadedCounts(): ImportCounts {
    return this.#loadedRows.counts;
  }

  #countsWith({ vertices, edges }: Pick<ImportCounts, 'vertices' | 'edges'>): ImportCounts {
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
  get committedIds(): IdRange {
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

  /** Whether a full chunk waits for others, or for a row of the next one. */
  get hasFullChunk(): boolean {
    return this.#full.length > 0;
  }

  /** Commits the full chunks without waiting any longer. */
  async commitFullChunks(): Promise<void> {
    if (this.hasFullChunk) await this.#commitFull();
  }

  /**
   * The import ends for a reason that is not its own: what is complete stays.
   * @returns the reason, or why what came before it cannot be committed
   */
  async endAfter(reason: unknown): Promise<unknown> {
    try {
      if (this.#loaded > 0) this.rows.loader.cancelChunk();
      this.#loaded = 0;
      await this.commitFullChunks();
      return reason;
    } catch (error) {
      return error;
    }
  }

  /** The body is complete: reads its last line. */
  async complete(): Promise<void> {
    if (this.#buffer.complete()) await this.#drain();
  }

  /** Commits what is left. The lists of vertices are as one commit of all would have left them when it is over. */
  async end(): Promise<void> {
    await this.complete();
    await this.#commitDue();
    await this.#load();
    this.rows.loader.isLast = true;
    await this.#commitLast();
    await this.rows.loader.settle();
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
    const { commitEvery, keepsFullChunk } = this.#options;
    await this.#load();
    const { pendingBytes } = rows.loader;
    const chunkBytes = pendingBytes - this.#fullBytes;
    const { chunkBytesMax, sharedBytes, commitBytes } = this.#limits;
    if (this.hasFullChunk && (pendingBytes >= commitBytes || chunkBytes >= sharedBytes))
      this.#isDue = true;
    if (this.#loaded >= commitEvery || chunkBytes >= chunkBytesMax) this.#endChunk();
    if (keepsFullChunk !== true) await this.#commitDue();
    this.#limitWaiting();
  }

  /**
   * In a cluster a chunk ends where its entry of the log is full; rows take less there than in memory. Several share an entry: each
   * one reads and writes the lists of all vertices that its edges touch, on every server.
   */
  get #limits() {
    const entryBytes = this.rows.loader.entryBytesMax ?? Infinity;
    const { commitBytesMax = defaultCommitBytes } = this.#options;
    return {
      chunkBytesMax: Math.min(commitBytesMax, entryBytes / 2),
      sharedBytes: Math.min(commitBytesMax * sharedShare, entryBytes / 4),
      commitBytes: Math.min(commitBytesMax, (entryBytes / 4) * 3),
    };
  }

  async #load(): Promise<void> {
    this.#loaded += this.rows.waiting;
    await this.rows.flush();
  }

  #endChunk(): void {
    const { loader } = this.rows;
    const now = this.#options.runtime.clock.monotonicMs();
    if (!this.hasFullChunk) this.#fullSinceMs = now;
    this.#full.push(this.#loadedRows);
    this.#loaded = 0;
    const isShared = this.#options.sharesCommits === true && loader.endChunk();
    const chunkBytes = loader.pendingBytes - this.#fullBytes;
    this.#fullBytes += chunkBytes;
    // Another one like it would have to be parted from them when they are committed.
    const { commitBytes, sharedBytes } = this.#limits;
    const isLast = chunkBytes >= sharedBytes || this.#fullBytes + chunkBytes > commitBytes;
    if (!isShared || isLast || now - this.#fullSinceMs >= sharedMsMax) this.#isDue = true;
  }

  async #commitDue(): Promise<void> {
    const isNextThere = this.rows.waiting > 0 || this.#options.keepsFullChunk !== true;
    if (this.#isDue && isNextThere) await this.#commitFull();
  }

  async #commitFull(): Promise<void> {
    const { rows } = this;
    if (this.#loaded > 0) await this.#commit(() => rows.commitEnded());
    else await this.#commit(() => rows.commit());
  }

  async #commitLast(): Promise<void> {
    const { rows } = this;
    const request = this.readCount > 0 ? await this.#options.request?.() : undefined;
    if (rows.loader.pendingBytes > 0) {
      if (this.#loaded > 0) this.#full.push(this.#loadedRows);
      await this.#commit(() => rows.commit(request));
    } else if (request !== undefined) await rows.commit(request);
  }

  /** Commits the chunks that are full. */
  async #commit(commit: () => Promise<unknown>): Promise<void> {
    const full = this.#full;
    this.#full = [];
    this.#fullBytes = 0;
    this.#isDue = false;
    // A chunk of which triggers have kept every row is over, too.
    if (this.rows.loader.pendingBytes === 0) return;
    try {
      await commit();
    } catch (error) {
      await this.#tell(full.slice(0, this.rows.loader.savedChunkCount));
      throw error;
    }
    await this.#tell(full);
  }

  async #tell(chunks: readonly LoadedRows[]): Promise<void> {
    const { index } = this.rows.loader;
    for (const chunk of chunks) {
      this.#committed = chunk;
      await this.#options.onCommit({ ...chunk, index });
    }
  }

  /** What the loader has been given; rows that wait are not among it. To be asked when none wait. */
  get #loadedRows(): LoadedRows {
    const { loader, vertexCount, edgeCount, ids } = this.rows;
    const { vetoed } = loader;
    const vertices = vertexCount - vetoed.records;
    return {
      counts: this.#countsWith({ vertices, edges: edgeCount - vetoed.edges }),
      ids: { count: ids.count, end: ids.end },
      hasEdges: edgeCount > 0,
    };
  }

  /** Reading stops exactly at the border of a chunk. */
  #limitWaiting(): void {
    this.rows.limitWaiting(this.#options.commitEvery - this.#loaded);
  }

  /** Rows that wait may be refused too, and come before the line that was refused now. */
  async #earliest(error: unknown): Promise<unknown> {
    try {
      if (this.#isDue) await this.#commitFull();
      const refused = this.rows.refusedEnd();
      await this.#load();
      return refused ?? error;
    } catch (earlier) {
      return earlier;
    }
  }
}
