import type { Slices } from '#core/value/json-slices.ts';
import type { LineBuffer } from './line-buffer.ts';

/** Turns lines into rows. */
export interface ImportReader {
  readonly skippedLineCount: number;
  /** Reads lines from `buffer.start` on, until there is none, the rows are full or a long line follows. */
  read(buffer: LineBuffer): void;
  /** Reads one line of any length, giving others a turn now and then. */
  readLongLine(buffer: LineBuffer, slices: Slices): Promise<void>;
}
