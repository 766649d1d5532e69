import { DatabaseError } from '#core/errors.ts';

/**
 * Splits a file of JSON into the texts of its values: the elements of an array at the top, or the values that stand one after
 * the other. Only brackets and quotes are looked at; whoever parses a text finds what is wrong in it. Memory: one value.
 */
export class JsonValues {
  readonly #bytesMax: number;
  readonly #found: string[] = [];
  #parts: string[] = [];
  #length = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Depth at which the values stand: 1 inside of an array at the top. */
  #base = 0;
  #hasBegun = false;
  #isOver = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @returns the texts that are complete */
  write(piece: string): string[] {
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      if (this.#isInString) {
        this.#inString(piece[at] as string);
        continue;
      }
      const char = piece[at] as string;
      if (!this.#hasBegun && !isSpace(char) && char !== '\ufeff') {
        this.#hasBegun = true;
        if (char === '[') {
          this.#base = 1;
          this.#depth = 1;
          start = at + 1;
          continue;
        }
      }
      if (char === '"') this.#isInString = true;
      else if (char === '{' || char === '[') this.#depth += 1;
      else if (char === '}' || char === ']') {
        this.#depth -= 1;
        const isEndOfArray = this.#depth < this.#base;
        this.#keep(piece.slice(start, isEndOfArray ? at : at + 1));
        start = at + 1;
        if (isEndOfArray) {
          this.#complete();
          this.#base = 0;
          this.#depth = 0;
          this.#isOver = true;
        } else if (this.#depth === this.#base && this.#base === 0) this.#complete();
      } else if (char === ',' && this.#depth === this.#base && this.#base === 1) {
        this.#keep(piece.slice(start, at));
        this.#complete();
        start = at + 1;
      }
    }
    this.#keep(piece.slice(start));
    return this.#found.splice(0);
  }

  /** @throws DatabaseError `Validation` when the file ends in the middle of a value */
  end(): string[] {
    if (this.#isInString || this.#depth > 0)
      throw new DatabaseError('Validation', 'the JSON file ends in the middle of a value');
    this.#complete();
    return this.#found.splice(0);
  }

  #inString(char: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (char === '\\') this.#isEscaped = true;
    else if (char === '"') this.#isInString = false;
  }

  #keep(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length > this.#bytesMax)
      throw new DatabaseError('TooLarge', `a JSON value is longer than ${this.#bytesMax} bytes`);
  }

  #complete(): void {
    const text = this.#parts.join('').trim();
    this.#parts = [];
    this.#length = 0;
    if (text === '' || text === '\ufeff') return;
    if (this.#isOver && this.#base === 0)
      throw new DatabaseError('Validation', 'something follows the array of the JSON file');
    this.#found.push(text.startsWith('\ufeff') ? text.slice(1) : text);
  }
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}
