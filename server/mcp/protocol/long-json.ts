import { characterEnd, type Slices } from '#core/value/json-slices.ts';

/*
 * JSON of answers. Most are short texts; a long string in one (an id, an address that is told back, the text of a prompt, rows of
 * a tool) stands in it as it is, and is quoted when it is written, with pauses.
 */

/** A text, or the pieces of a long one, which nobody puts together. */
export type Pieces = string | readonly string[];

/** A text that is written as one JSON string. */
export class Quoted {
  readonly pieces: readonly string[];

  constructor(pieces: readonly string[]) {
    this.pieces = pieces;
  }
}

export type Json = string | readonly (string | Quoted)[];

/** Longer strings are quoted with pauses: some 100 microseconds. */
const quotedAtOnceMax = 64 * 1024;

export function quoted(text: Pieces): Json {
  if (typeof text !== 'string') return [new Quoted(text)];
  return text.length > quotedAtOnceMax ? [new Quoted([text])] : JSON.stringify(text);
}

/** One text of several, which stays in pieces if one of them does. */
export function concatenated(...texts: readonly Pieces[]): Pieces {
  return texts.every((text) => typeof text === 'string') ? texts.join('') : texts.flat();
}

/** As tag of a template: its text, which stays in pieces if one of the values is. */
export function written(texts: TemplateStringsArray, ...values: readonly Pieces[]): Pieces {
  return concatenated(...texts.flatMap((text, at) => [text, ...values.slice(at, at + 1)]));
}

export function lengthOf(text: Pieces): number {
  if (typeof text === 'string') return text.length;
  return text.reduce((length, piece) => length + piece.length, 0);
}

/** The text of valid UTF-8, in pieces where it is long. */
export async function decoded(bytes: Buffer, slices: Slices): Promise<Pieces> {
  if (bytes.length <= quotedAtOnceMax) return bytes.toString('utf8');
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = characterEnd(bytes, at + quotedAtOnceMax);
    pieces.push(bytes.toString('utf8', at, end));
    at = end;
    if (slices.isSpent) await slices.pause();
  }
  return pieces;
}

export function joined(...parts: readonly Json[]): Json {
  return parts.every((part) => typeof part === 'string') ? parts.join('') : parts.flat();
}

/** The bytes, in pieces. */
export async function* bytesOf(json: Json, slices: Slices): AsyncGenerator<Uint8Array> {
  if (typeof json === 'string') {
    yield Buffer.from(json);
    return;
  }
  for (const part of json) {
    if (typeof part === 'string') yield Buffer.from(part);
    else yield* quotedBytes(part, slices);
  }
}

async function* quotedBytes({ pieces }: Quoted, slices: Slices): AsyncGenerator<Uint8Array> {
  yield Buffer.from('"');
  for (const text of pieces) {
    for (let at = 0; at < text.length; at += quotedAtOnceMax) {
      // Half of a character at a border is escaped on both sides, which JSON reads as the whole one.
      const piece = JSON.stringify(text.slice(at, at + quotedAtOnceMax));
      yield Buffer.from(piece.slice(1, -1));
      if (slices.isSpent) await slices.pause();
    }
  }
  yield Buffer.from('"');
}

/** Whether a long text holds a word, letter case aside; looked at with pauses. @param word in small letters */
export async function holdsWord(text: string, word: string, slices: Slices): Promise<boolean> {
  for (let at = 0; at < text.length; at += quotedAtOnceMax) {
    const piece = text.slice(at, at + quotedAtOnceMax + word.length);
    if (piece.toLowerCase().includes(word)) return true;
    if (slices.isSpent) await slices.pause();
  }
  return false;
}
