import type { DatabaseError } from '#core/errors.ts';
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
  for (let line = scanner.next(); line !== undefined; line = scanner.next()) lines.push(line);
  return lines;
}

const closing: Readonly<Record<string, string>> = { '{': '}', '[': ']' };
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' };
const hexByte = /^[0-9a-fA-F]{2}$/;

class LineScanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): Line | undefined {
    for (;;) {
      this.#skipBlanks();
      if (this.#at >= this.#text.length) return undefined;
      if (this.#isLineEnd()) this.#at += 1;
      else if (this.#isComment()) this.#skipLine();
      else return this.#line();
    }
  }

  #line(): Line {
    const at = this.#at;
    const words: string[] = [];
    while (this.#at < this.#text.length && !this.#isLineEnd()) {
      words.push(this.#word());
      this.#skipBlanks();
    }
    return { words, at };
  }

  #word(): string {
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") return this.#quoted(first);
    const start = this.#at;
    if (first === '{' || first === '[') {
      this.#nested();
      this.#requireWordEnd(start);
    } else this.#passPlain();
    return this.#text.slice(start, this.#at);
  }

  /** To the next blank; the properties of an address may have blanks around them: `Type[first, last]`. */
  #passPlain(): void {
    while (this.#at < this.#text.length && !this.#isBlank()) {
      if (this.#text[this.#at] === '[') this.#at = this.#endOfBrackets() ?? this.#at;
      this.#at += 1;
    }
  }

  #endOfBrackets(): number | undefined {
    const end = this.#text.indexOf(']', this.#at);
    if (end < 0) return undefined;
    const lineEnd = this.#text.indexOf('\n', this.#at);
    return lineEnd >= 0 && lineEnd < end ? undefined : end;
  }

  /** From a brace or bracket to the one that closes it; texts inside are passed over. */
  #nested(): void {
    const start = this.#at;
    const open: string[] = [];
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (character === '"' || character === "'") {
        this.#passText(character);
        continue;
      }
      this.#at += 1;
      const close = closing[character];
      if (close !== undefined) open.push(close);
      else if (character === open.at(-1)) open.pop();
      if (open.length === 0) return;
    }
    throw this.#fault(`'${this.#text[start]}' is not closed`, start);
  }

  #passText(quote: string): void {
    const start = this.#at;
    this.#at += 1;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at];
      this.#at += character === '\\' ? 2 : 1;
      if (character === quote) return;
    }
    throw this.#fault('the quotes are not closed', start);
  }

  #quoted(quote: string): string {
    const start = this.#at;
    this.#at += 1;
    let word = '';
    let from = this.#at;
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) throw this.#fault('the quotes are not closed', start);
      if (character === quote) break;
      this.#at += 1;
      if (character !== '\\') continue;
      word += this.#text.slice(from, this.#at - 1) + this.#escaped(quote);
      from = this.#at;
    }
    word += this.#text.slice(from, this.#at);
    this.#at += 1;
    this.#requireWordEnd(start);
    return word;
  }

  /** What an escape stands for; in single quotes only the quote itself and `\` can be escaped. */
  #escaped(quote: string): string {
    const character = this.#text[this.#at] ?? '';
    this.#at += 1;
    if (quote === "'")
      return character === "'" || character === '\\' ? character : `\\${character}`;
    const hex = this.#text.slice(this.#at, this.#at + 2);
    if (character === 'x' && hexByte.test(hex)) {
      this.#at += 2;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    return escapes[character] ?? character;
  }

  #requireWordEnd(start: number): void {
    if (this.#at < this.#text.length && !this.#isBlank())
      throw this.#fault('a blank is missing after the word that begins here', start);
  }

  #isComment(): boolean {
    return this.#text[this.#at] === '#' || this.#text.startsWith('//', this.#at);
  }

  #skipLine(): void {
    while (this.#at < this.#text.length && !this.#isLineEnd()) this.#at += 1;
  }

  #skipBlanks(): void {
    while (this.#at < this.#text.length && this.#isBlank() && !this.#isLineEnd()) this.#at += 1;
  }

  #isLineEnd(): boolean {
    return this.#text[this.#at] === '\n';
  }

  #isBlank(): boolean {
    const character = this.#text[this.#at];
    return character === ' ' || character === '\t' || character === '\r' || character === '\n';
  }

  #fault(problem: string, offset: number): DatabaseError {
    return syntaxError({ text: this.#text, offset, problem });
  }
}
