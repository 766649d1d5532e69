import { assert } from '#core/assert.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { RenderedRows, RenderPause, RowRenderer } from '../session.ts';
import type { FromThread } from './messages.ts';

/** How a statement moves on. */
export interface Move {
  readonly renderer: RowRenderer;
  readonly rowCountMax: number;
  /** Throws the reason for which the statement is to end. */
  readonly check: () => void;
  /** Told what ends the statement when its rows are pulled. */
  readonly failed: (error: unknown) => void;
  /** The statement runs elsewhere from now on: nothing of it is needed here. */
  readonly moved: () => void;
}

type Rows = FromThread & { readonly kind: 'rows' };

/** Bytes of a long row that are handed on at a time. */
const pieceBytes = 64 * 1024;

export interface MovedRowsOptions {
  readonly renderer: RowRenderer;
  readonly rowCountMax: number;
  /** Throws the reason for which the statement is to end. */
  readonly check: () => void;
  /** A message was taken. @param spent memory of the rows before, which are written */
  readonly taken: (spent: ArrayBuffer | undefined) => void;
  /** Nobody wants more: the thread is told, once. */
  readonly stop: () => void;
}

/** Rows of a statement that runs in a reader thread, as they arrive. */
export class MovedRows implements RenderedRows {
  rowCount = 0;
  pulledCount = 0;
  /** The state that the statement saw; known at its end. */
  index: LogIndex | undefined;
  readonly #options: MovedRowsOptions;
  readonly #arrived: Rows[] = [];
  #current: Rows | undefined;
  #spent: ArrayBuffer | undefined;
  #isEnded = false;
  #isStopped = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(options: MovedRowsOptions) {
    this.#options = options;
  }

  get isCut(): boolean {
    const { rowCountMax } = this.#options;
    return this.pulledCount > rowCountMax && this.rowCount >= rowCountMax;
  }

  // --- from the thread

  add(rows: Rows): void {
    this.#arrived.push(rows);
    this.#wake?.();
  }

  end(pulledCount: number, index: LogIndex): void {
    this.#isEnded = true;
    this.index = index;
    // Rows that were pulled after the last written one.
    const last = this.#arrived.at(-1);
    if (last === undefined) this.pulledCount = pulledCount;
    else this.#arrived[this.#arrived.length - 1] = { ...last, pulledCount };
    this.#wake?.();
  }

  fail(error: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#failure = { error };
    this.#wake?.();
  }

  // --- for the door

  write({ bytes }: { readonly bytes: number; readonly rows: number }): RenderPause {
    const rows = this.#current;
    if (rows === undefined) return 'batch';
    if (rows.isLong) return 'long';
    this.#current = undefined;
    const { renderer } = this.#options;
    this.#append(rows.bytes);
    this.#spent = rows.bytes.buffer;
    this.rowCount += rows.rowCount;
    return renderer.length >= bytes ? 'bytes' : 'batch';
  }

  *longRow(): Generator<void> {
    const rows = this.#current;
    assert(rows?.isLong === true, 'a long row is asked for when there is one');
    this.#current = undefined;
    this.rowCount += 1;
    for (let at = 0; at < rows.bytes.length; at += pieceBytes) {
      if (at > 0) yield;
      this.#append(rows.bytes.subarray(at, at + pieceBytes));
    }
  }

  async pull(): Promise<boolean> {
    const { check, taken } = this.#options;
    check();
    this.#current = undefined;
    while (this.#arrived.length === 0 && !this.#isEnded && !this.#isStopped) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    check();
    const rows = this.#arrived.shift();
    if (rows !== undefined) {
      this.#current = rows;
      this.pulledCount = rows.pulledCount;
      taken(this.#spent);
      this.#spent = undefined;
      return true;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return false;
  }

  /** Nobody takes rows any more. */
  close(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#arrived.length = 0;
    this.#current = undefined;
    if (!this.#isEnded) this.#options.stop();
    this.#wake?.();
  }

  #append(bytes: Uint8Array): void {
    this.#options.renderer.append?.(bytes);
  }
}

/** Rows of which nobody knows yet where they come from: the first pull decides. */
export class ChosenRows implements RenderedRows {
  readonly #choose: () => Promise<RenderedRows>;
  #rows: RenderedRows | undefined;
  #isClosed = false;

  readonly #failed: (error: unknown) => void;

  /** @param failed told of what `pull` throws */
  constructor(choose: () => Promise<RenderedRows>, failed: (error: unknown) => void) {
    this.#choose = choose;
    this.#failed = failed;
  }

  get rowCount(): number {
    return this.#rows?.rowCount ?? 0;
  }

  get pulledCount(): number {
    return this.#rows?.pulledCount ?? 0;
  }

  get isCut(): boolean {
    return this.#rows?.isCut ?? false;
  }

  /** Of the state that it saw, when it ran elsewhere and has ended. */
  get index(): LogIndex | undefined {
    return this.#rows instanceof MovedRows ? this.#rows.index : undefined;
  }

  write(until: { readonly bytes: number; readonly rows: number }): RenderPause {
    return this.#rows?.write(until) ?? 'batch';
  }

  *longRow(): Generator<void> {
    assert(this.#rows !== undefined, 'a long row is asked for when there is one');
    yield* this.#rows.longRow();
  }

  async pull(): Promise<boolean> {
    try {
      if (this.#rows === undefined) {
        this.#rows = await this.#choose();
        if (this.#isClosed) this.close();
      }
      return await this.#rows.pull();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    if (this.#rows instanceof MovedRows) this.#rows.close();
  }
}
