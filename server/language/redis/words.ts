import type { DatabaseError } from '#core/errors.ts';
import { toEnd } from '#core/pausing-work.ts';
import { TextPieces } from '#core/text/text-pieces.ts';
import { syntaxError } from '../syntax-error.ts';

/*
 * Command lines as people write them (redis.md 5.7): words between blanks; quotes hold a word together, and so do the braces and
 * brackets of JSON, over line breaks, too. One pass, no recursion.
 */

/** One command line. */
export interface Line {
  readonly words: readonly string[];
  /** Where it begins in the text. */
  readonly at: number;
}

/**
 * The command lines of a text, without blank ones and comments (`#` or `//` at the beginning of a line).
 * @throws DatabaseError `Syntax` for a quote, brace or bracket that is not closed
 */
export function splitLines(text: string): readonly Line[] {
  const scanner = new LineScanner(text);
  const lines: Line[] = [];
  for (;;) {
    const line = toEnd(scanner.next());
    if (line === undefined) return lines;
    lines.push(line);
  }
}

type Steps<T> = Generator<undefined, T, undefined>;

/** Units of the text between two places to pause: some 100 microseconds. */
const unitsPerStep = 8 * 1024;

const tab = 9;
const lineFeed = 10;
const carriageReturn = 13;
const blank = 32;
const doubleQuote = 34;
const hash = 35;
const singleQuote = 39;
const slash = 47;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' };
const hexByte = /^[0-9a-fA-F]{2}$/;

function isBlank(unit: number): boolean {
  return unit === blank || unit === lineFeed || unit === carriageReturn || unit === tab;
}

function isQuote(unit: number): boolean {
  return unit === doubleQuote || unit === singleQuote;
}

/** Looks at each unit once, whatever the text: texts of megabytes come from outside. */
export class LineScanner {
  readonly #text: string;
  #at = 0;
  /** The next `]` and the next line end, when they were last looked for. */
  #closeAt = -1;
  #lineEndAt = -1;
  /** Behind this place it is time for a step. */
  #stepAt = unitsPerStep;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next line, with places to pause. @throws DatabaseError as `splitLines` */
  *next(): Steps<Line | undefined> {
    for (;;) {
      this.#skipBlanks();
      if (this.#at > this.#stepAt) yield this.#step();
      if (this.#at >= this.#text.length) return undefined;
      if (this.#isLineEnd()) this.#at += 1;
      else if (this.#isComment()) this.#skipLine();
      else return yield* this.#line();
    }
  }

  #step(): undefined {
    this.#stepAt = this.#at + unitsPerStep;
    return undefined;
  }

  *#line(): Steps<Line> {
    const at = this.#at;
    const words: string[] = [];
    while (this.#at < this.#text.length && !this.#isLineEnd()) {
      const first = this.#text.charCodeAt(this.#at);
      words.push(isQuote(first) ? yield* this.#quoted(first) : yield* this.#word(first));
      this.#skipBlanks();
      if (this.#at > this.#stepAt) yield this.#step();
    }
    return { words, at };
  }

  *#word(first: number): Steps<string> {
    const start = this.#at;
    if (first === openBrace || first === openBracket) {
      yield* this.#nested();
      this.#requireWordEnd(start);
    } else while (!this.#passPlain()) yield this.#step();
    return this.#text.slice(start, this.#at);
  }

  /**
   * To the next blank; the properties of an address may have blanks around them: `Type[first, last]`.
   * @returns false when it is time for a step before
   */
  #passPlain(): boolean {
    const text = this.#text;
    let at = this.#at;
    let isOver = true;
    while (at < text.length) {
      const unit = text.charCodeAt(at);
      if (isBlank(unit)) break;
      if (at > this.#stepAt) {
        isOver = false;
        break;
      }
      if (unit === openBracket) at = this.#endOfBrackets(at) ?? at;
      at += 1;
    }
    this.#at = at;
    return isOver;
  }

  /** Of the bracket at `at`, on its line. What was found is kept: of a million brackets without an end each would look for it. */
  #endOfBrackets(at: number): number | undefined {
    const text = this.#text;
    if (this.#closeAt < at) this.#closeAt = placeOf(text, ']', at);
    if (this.#lineEndAt < at) this.#lineEndAt = placeOf(text, '\n', at);
    return this.#closeAt < Math.min(this.#lineEndAt, text.length) ? this.#closeAt : undefined;
  }

  /** From a brace or bracket to the one that closes it; texts inside are passed over. */
  *#nested(): Steps<void> {
    const text = this.#text;
    const start = this.#at;
    const open: number[] = [];
    while (this.#at < text.length) {
      if (this.#at > this.#stepAt) yield this.#step();
      const unit = text.charCodeAt(this.#at);
      if (isQuote(unit)) {
        const at = this.#at;
        this.#at += 1;
        while (!this.#passText(unit, at)) yield this.#step();
        continue;
      }
      this.#at += 1;
      if (unit === openBrace) open.push(closeBrace);
      else if (unit === openBracket) open.push(closeBracket);
      else if (unit === open[open.length - 1]) open.pop();
      if (open.length === 0) return;
    }
    throw this.#fault(`'${text[start]}' is not closed`, start);
  }

  /** Behind the text that begins at `start`. @returns false when it is time for a step before */
  #passText(quote: number, start: number): boolean {
    const text = this.#text;
    let at = this.#at;
    while (at < text.length) {
      const unit = text.charCodeAt(at);
      const isOver = unit === quote;
      if (!isOver && at > this.#stepAt) {
        this.#at = at;
        return false;
      }
      at += unit === backslash ? 2 : 1;
      if (!isOver) continue;
      this.#at = at;
      return true;
    }
    throw this.#fault('the quotes are not closed', start);
  }

  *#quoted(quote: number): Steps<string> {
    const text = this.#text;
    const start = this.#at;
    this.#at += 1;
    // Made at the first escape, which most words do not have.
    let before: TextPieces | undefined;
    let from = this.#at;
    for (;;) {
      if (this.#at >= text.length) throw this.#fault('the quotes are not closed', start);
      if (this.#at > this.#stepAt) yield this.#step();
      const unit = text.charCodeAt(this.#at);
      if (unit === quote) break;
      this.#at += 1;
      if (unit !== backslash) continue;
      before ??= new TextPieces();
      if (from < this.#at - 1) before.add(text.slice(from, this.#at - 1));
      before.add(this.#escaped(quote));
      from = this.#at;
    }
    const last = text.slice(from, this.#at);
    this.#at += 1;
    this.#requireWordEnd(start);
    return before === undefined ? last : before.text() + last;
  }

  /** What an escape stands for; in single quotes only the quote itself and `\` can be escaped. */
  #escaped(quote: number): string {
    const character = this.#text[this.#at] ?? '';
    this.#at += 1;
    if (quote === singleQuote)
      return character === "'" || character === '\\' ? character : `\\${character}`;
    const hex = this.#text.slice(this.#at, this.#at + 2);
    if (character === 'x' && hexByte.test(hex)) {
      this.#at += 2;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    return escapes[character] ?? character;
  }

  #requireWordEnd(start: number): void {
    if (this.#at < this.#text.length && !isBlank(this.#text.charCodeAt(this.#at)))
      throw this.#fault('a blank is missing after the word that begins here', start);
  }

  #isComment(): boolean {
    const unit = this.#text.charCodeAt(this.#at);
    return unit === hash || (unit === slash && this.#text.charCodeAt(this.#at + 1) === slash);
  }

  #skipLine(): void {
    this.#at = placeOf(this.#text, '\n', this.#at);
  }

  #skipBlanks(): void {
    const text = this.#text;
    let at = this.#at;
    for (let unit = text.charCodeAt(at); isBlank(unit) && unit !== lineFeed; )
      unit = text.charCodeAt(++at);
    this.#at = at;
  }

  #isLineEnd(): boolean {
    return this.#text.charCodeAt(this.#at) === lineFeed;
  }

  #fault(problem: string, offset: number): DatabaseError {
    return syntaxError({ text: this.#text, offset, problem });
  }
}

/** The length of the text when there is none. */
function placeOf(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at < 0 ? text.length : at;
}
