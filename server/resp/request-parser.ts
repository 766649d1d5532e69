import type { ByteText } from '#core/text/byte-text.ts';
import { DatabaseError } from '#core/errors.ts';
import { splitLines } from '#language/redis/words.ts';

/*
 * Requests of the wire protocol (RESP) out of chunks that may be cut anywhere: arrays of bulk strings, and lines of words for people.
 * Bytes are looked at once; nothing is allocated for what is only announced. Words are byte texts: one character a byte.
 */

/** What a client sent cannot be read on: it is told, and the connection closed. */
export class ProtocolError extends Error {}

export interface ParserLimits {
  /** Words of a request. */
  readonly wordCountMax: number;
  /** Bytes of a word. */
  readonly wordBytesMax: number;
  /** Bytes of all words of a request; a longer one is read past and given as `tooLong`. */
  readonly requestBytesMax: number;
  /** The client has not logged in: requests are short (as in Redis). */
  readonly isUnauthenticated: boolean;
}

/** In place of a request whose words were longer than `requestBytesMax` together. */
export const tooLong = Symbol('request too long');

export type Request = readonly ByteText[] | typeof tooLong;

/** Of a line that announces a length. */
const lengthTokenMax = 64;
const inlineMax = 64 * 1024;
const unauthenticatedWordsMax = 10;
const unauthenticatedBytesMax = 16 * 1024;
/** What a word takes beside its bytes. */
const wordBytes = 16;

const cr = 13;
const lf = 10;
const dollar = 36;
const star = 42;
const zero = 48;
const nine = 57;

type ChunkBuffer = Buffer & { latin1Slice(start: number, end: number): string };

type State = 'start' | 'inline' | 'array length' | 'word' | 'word length' | 'body' | 'body end';

export class RequestParser {
  readonly #limits: () => ParserLimits;
  #chunk: ChunkBuffer | undefined;
  #at = 0;
  #state: State = 'start';
  /** The part of a line that came in earlier chunks. */
  #carry = '';
  #wordsLeft = 0;
  #words: ByteText[] = [];
  #requestBytes = 0;
  #isTooLong = false;
  /** Of a word that is cut: its bytes still to come, and those that came. */
  #bodyLeft = 0;
  #parts: string[] = [];
  /** There are some, or a long one. */
  #isCut = false;
  /** In place of the parts, for a long word. */
  #long: LongWord | undefined;

  /** @param limits asked at the beginning of each request */
  constructor(limits: () => ParserLimits) {
    this.#limits = limits;
  }

  /** What came of a request that is not complete. */
  get heldBytes(): number {
    if (this.#isTooLong) return 0;
    return this.#carry.length + this.#requestBytes - this.#bodyLeft;
  }

  /** What is used of the chunk. */
  get position(): number {
    return this.#at;
  }

  get limits(): ParserLimits {
    return this.#limits();
  }

  /** The chunk before must be used up: `next` has given undefined. */
  feed(chunk: Buffer): void {
    this.#chunk = chunk as ChunkBuffer;
    this.#at = 0;
  }

  /** The next request; undefined when more bytes are needed. @throws ProtocolError */
  next(): Request | undefined {
    const chunk = this.#chunk;
    if (chunk === undefined) return undefined;
    while (this.#at < chunk.length) {
      const request = this.#step(chunk);
      if (request !== undefined) return request;
    }
    this.#chunk = undefined;
    return undefined;
  }

  #step(chunk: ChunkBuffer): Request | undefined {
    switch (this.#state) {
      case 'start':
        if (chunk[this.#at] === star) {
          this.#at += 1;
          this.#state = 'array length';
        } else this.#state = 'inline';
        return undefined;
      case 'array length':
        return this.#arrayLength(chunk);
      case 'word':
        this.#wordStart(chunk[this.#at] as number);
        return undefined;
      case 'word length':
        return this.#wordLength(chunk);
      case 'body':
        return this.#body(chunk);
      case 'body end':
        return this.#bodyEnd(chunk);
      default:
        return this.#inline(chunk);
    }
  }

  #arrayLength(chunk: ChunkBuffer): Request | undefined {
    const count = this.#length(chunk, 'invalid multibulk length');
    if (count === undefined) return undefined;
    const limits = this.#limits();
    if (count > limits.wordCountMax) throw new ProtocolError('invalid multibulk length');
    if (limits.isUnauthenticated && count > unauthenticatedWordsMax)
      throw new ProtocolError('unauthenticated multibulk length');
    this.#state = count > 0 ? 'word' : 'start';
    this.#wordsLeft = count;
    return undefined;
  }

  #wordStart(byte: number): void {
    if (byte !== dollar)
      throw new ProtocolError(`expected '$', got '${String.fromCharCode(byte)}'`);
    this.#at += 1;
    this.#state = 'word length';
  }

  #wordLength(chunk: ChunkBuffer): Request | undefined {
    const length = this.#length(chunk, 'invalid bulk length');
    if (length === undefined) return undefined;
    if (length === -1) throw new ProtocolError('unexpected null bulk string argument');
    const limits = this.#limits();
    if (length < 0 || length > limits.wordBytesMax) throw new ProtocolError('invalid bulk length');
    if (limits.isUnauthenticated && length > unauthenticatedBytesMax)
      throw new ProtocolError('unauthenticated bulk length');
    this.#requestBytes += length + wordBytes;
    if (this.#requestBytes > limits.requestBytesMax && !this.#isTooLong) {
      this.#isTooLong = true;
      this.#words = [];
    }
    this.#bodyLeft = length;
    this.#state = 'body';
    // An empty word has no bytes to wait for.
    return this.#at < chunk.length || length === 0 ? this.#body(chunk) : undefined;
  }

  #body(chunk: ChunkBuffer): Request | undefined {
    const start = this.#at;
    const end = start + this.#bodyLeft;
    if (end + 2 <= chunk.length && !this.#isCut) {
      // The common case: the word and its end are here.
      if (chunk[end] !== cr || chunk[end + 1] !== lf)
        throw new ProtocolError('invalid bulk length');
      this.#at = end + 2;
      return this.#word(this.#isTooLong ? '' : chunk.latin1Slice(start, end));
    }
    const to = Math.min(end, chunk.length);
    if (!this.#isTooLong) this.#keep(chunk, start, to);
    this.#bodyLeft -= to - start;
    this.#at = to;
    if (this.#bodyLeft > 0) return undefined;
    this.#state = 'body end';
    return undefined;
  }

  /** A part of a word that is cut. */
  #keep(chunk: ChunkBuffer, from: number, to: number): void {
    this.#isCut = true;
    if (this.#long === undefined && (this.#parts.length > 0 || this.#bodyLeft <= longWordMin))
      this.#parts.push(chunk.latin1Slice(from, to));
    else {
      this.#long ??= new LongWord(this.#bodyLeft);
      this.#long.add(chunk.subarray(from, to));
    }
  }

  #cutWord(): ByteText {
    const parts = this.#parts;
    this.#parts = [];
    const word = this.#long?.text() ?? (parts.length === 1 ? (parts[0] as string) : parts.join(''));
    this.#long = undefined;
    this.#isCut = false;
    return word;
  }

  #bodyEnd(chunk: ChunkBuffer): Request | undefined {
    const expected = this.#carry === '' ? cr : lf;
    if (chunk[this.#at] !== expected) throw new ProtocolError('invalid bulk length');
    this.#at += 1;
    if (expected === cr) {
      this.#carry = '\r';
      return undefined;
    }
    this.#carry = '';
    return this.#word(this.#cutWord());
  }

  #word(word: ByteText): Request | undefined {
    if (!this.#isTooLong) this.#words.push(word);
    this.#wordsLeft -= 1;
    if (this.#wordsLeft > 0) {
      this.#state = 'word';
      return undefined;
    }
    const request = this.#isTooLong ? tooLong : this.#words;
    this.#words = [];
    this.#requestBytes = 0;
    this.#isTooLong = false;
    this.#state = 'start';
    return request;
  }

  /** The number on the rest of a line; undefined when its end has not come. @param problem what is wrong with another text */
  #length(chunk: ChunkBuffer, problem: string): number | undefined {
    if (this.#carry === '') {
      const quick = this.#quickLength(chunk);
      if (quick !== undefined) return quick;
    }
    const end = chunk.indexOf(lf, this.#at);
    const to = end < 0 ? chunk.length : end + 1;
    const endLength = end < 0 ? 0 : 2;
    if (this.#carry.length + to - this.#at > lengthTokenMax + endLength)
      throw new ProtocolError(problem);
    this.#carry += chunk.latin1Slice(this.#at, to);
    this.#at = to;
    if (end < 0) return undefined;
    const text = this.#carry;
    this.#carry = '';
    if (!/^-?\d{1,18}\r\n$/.test(text)) throw new ProtocolError(problem);
    return Number(text.slice(0, -2));
  }

  /** Some digits and the end of the line; anything else is left to the long way. */
  #quickLength(chunk: ChunkBuffer): number | undefined {
    let at = this.#at;
    let length = 0;
    const last = at + 9;
    for (; at < last; at += 1) {
      const byte = chunk[at];
      if (byte === undefined || byte < zero || byte > nine) break;
      length = length * 10 + byte - zero;
    }
    if (at === this.#at || chunk[at] !== cr || chunk[at + 1] !== lf) return undefined;
    this.#at = at + 2;
    return length;
  }

  /** A line of words, quoted where they have blanks in them. */
  #inline(chunk: ChunkBuffer): Request | undefined {
    const end = chunk.indexOf(lf, this.#at);
    const to = end < 0 ? chunk.length : end + 1;
    if (this.#carry.length + to - this.#at > inlineMax)
      throw new ProtocolError('too big inline request');
    this.#carry += chunk.latin1Slice(this.#at, to);
    this.#at = to;
    if (end < 0) return undefined;
    const line = this.#carry;
    this.#carry = '';
    this.#state = 'start';
    return line.length <= 2 && line.trim() === '' ? undefined : wordsOf(line);
  }
}

/** A longer word that is cut is gathered as bytes. */
const longWordMin = 2 ** 20;
/** Seldom, since the copy is a turn by itself; pages that nothing was written to take no memory. */
const growthFactor = 64;

/**
 * The bytes of a word of megabytes, in a buffer that grows by what has come and not by what is announced. The text is made of it in
 * one copy outside of the collected memory; hundreds of texts would be joined in one turn, and collected.
 */
class LongWord {
  readonly #length: number;
  #bytes = Buffer.allocUnsafeSlow(longWordMin);
  #used = 0;

  /** @param length of the whole word, above `longWordMin` */
  constructor(length: number) {
    this.#length = length;
  }

  add(part: Buffer): void {
    const used = this.#used + part.length;
    if (used > this.#bytes.length) {
      const size = Math.max(used, Math.min(this.#length, this.#bytes.length * growthFactor));
      const grown = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(grown, 0, 0, this.#used);
      this.#bytes = grown;
    }
    part.copy(this.#bytes, this.#used);
    this.#used = used;
  }

  text(): ByteText {
    return (this.#bytes as ChunkBuffer).latin1Slice(0, this.#used);
  }
}

function wordsOf(line: string): readonly ByteText[] | undefined {
  try {
    return splitLines(line)[0]?.words;
  } catch (error) {
    if (error instanceof DatabaseError) throw new ProtocolError('unbalanced quotes in request');
    throw error;
  }
}
