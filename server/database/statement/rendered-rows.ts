import type {
  RenderedRows,
  RenderPause,
  ResultBatch,
  ResultStream,
  RowRenderer,
} from '../session.ts';

const noRows: ResultBatch = { rowCount: 0, values: [] };

/** Batches of a stream, written row by row where they were made. A result that is there already needs no `pull`. */
export class RenderedBatches implements RenderedRows {
  rowCount = 0;
  pulledCount: number;
  readonly #stream: Pick<ResultStream, 'complete' | 'nextBatch'>;
  readonly #renderer: RowRenderer;
  readonly #rowCountMax: number;
  readonly #isComplete: boolean;
  #batch: ResultBatch;
  /** The next row of the batch, and the one behind the last that is written of it. */
  #row = 0;
  #end: number;

  constructor(
    stream: Pick<ResultStream, 'complete' | 'nextBatch'>,
    renderer: RowRenderer,
    rowCountMax: number,
  ) {
    const { complete } = stream;
    this.#stream = stream;
    this.#renderer = renderer;
    this.#rowCountMax = rowCountMax;
    this.#isComplete = complete !== undefined;
    this.#batch = complete ?? noRows;
    this.pulledCount = this.#batch.rowCount;
    this.#end = Math.min(this.pulledCount, rowCountMax);
  }

  get isCut(): boolean {
    return this.pulledCount > this.#rowCountMax;
  }

  write({ bytes, rows }: { readonly bytes: number; readonly rows: number }): RenderPause {
    const renderer = this.#renderer;
    const batch = this.#batch;
    const last = Math.min(this.#end, this.#row + rows);
    let pause: RenderPause | undefined;
    let row = this.#row;
    while (row < last && pause === undefined) {
      if (renderer.write(batch, row)) {
        row += 1;
        if (renderer.length >= bytes) pause = 'bytes';
      } else pause = 'long';
    }
    this.rowCount += row - this.#row;
    this.#row = row;
    if (pause !== undefined) return pause;
    if (last < this.#end) return 'rows';
    return this.#isComplete || this.isCut ? 'end' : 'batch';
  }

  *longRow(): Generator<void> {
    const row = this.#row;
    this.#row += 1;
    this.rowCount += 1;
    yield* this.#renderer.writeInPieces(this.#batch, row);
  }

  async pull(): Promise<boolean> {
    if (this.#isComplete) return false;
    const batch = await this.#stream.nextBatch();
    this.#batch = batch ?? noRows;
    this.#row = 0;
    this.#end = Math.min(this.#batch.rowCount, this.#rowCountMax - this.rowCount);
    this.pulledCount += this.#batch.rowCount;
    return batch !== undefined;
  }
}
