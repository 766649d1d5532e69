import { DatabaseError } from '#core/errors.ts';

/** Where others have their turn while a file is read. */
export interface Turns {
  /** Resolves at once while the turn is short; throws when the import is to end. */
  next(): Promise<void> | undefined;
}

/** A line of a file. */
export interface Line {
  readonly bytes: Uint8Array;
  /** From 1. */
  readonly number: number;
}

const lineFeed = 10;

/**
 * The lines of a file without their line feeds; empty ones are left out, numbers count them. A byte order mark is skipped.
 * Memory: one piece and one incomplete line.
 * @throws DatabaseError `TooLarge` for a line beyond `bytesMax`
 */
export async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Line> {
  let rest: Uint8Array[] = [];
  let restLength = 0;
  let number = 0;
  let isFirst = true;
  for await (const piece of pieces) {
    let start = isFirst && hasMark(piece) ? 3 : 0;
    isFirst = false;
    for (;;) {
      const end = piece.indexOf(lineFeed, start);
      if (end < 0) break;
      number += 1;
      const tail = piece.subarray(start, end);
      const bytes = rest.length === 0 ? tail : Buffer.concat([...rest, tail]);
      rest = [];
      restLength = 0;
      start = end + 1;
      if (!isBlank(bytes)) yield { bytes, number };
    }
    if (start >= piece.length) continue;
    rest.push(piece.subarray(start));
    restLength += piece.length - start;
    if (restLength > bytesMax)
      throw new DatabaseError(
        'TooLarge',
        `Line ${number + 1}: the line is longer than ${bytesMax} bytes (service.server.httpBatchLineMaxSize)`,
      );
  }
  const bytes = Buffer.concat(rest);
  if (!isBlank(bytes)) yield { bytes, number: number + 1 };
}

function hasMark(piece: Uint8Array): boolean {
  return piece[0] === 0xef && piece[1] === 0xbb && piece[2] === 0xbf;
}

function isBlank(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte !== 32 && byte !== 13 && byte !== 9) return false;
  }
  return true;
}

const strictUtf8 = { fatal: true } as const;

/** The text of a file in pieces. @throws DatabaseError `Validation` for what is no UTF-8 */
export async function* textOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', strictUtf8);
  try {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; at += pieceBytes) {
        const text = decoder.decode(piece.subarray(at, at + pieceBytes), { stream: true });
        if (text !== '') yield text;
      }
    }
    const text = decoder.decode();
    if (text !== '') yield text;
  } catch (cause) {
    if (cause instanceof TypeError)
      throw new DatabaseError('Validation', 'the file is not valid UTF-8', { cause });
    throw cause;
  }
}

/** Small enough that parsing one does not keep others waiting. */
const pieceBytes = 32 * 1024;
