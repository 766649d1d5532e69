import { DatabaseError } from '#core/errors.ts';

/** A part of a JSON object that is read bit by bit. */
export interface Section {
  /** Name in the object at the top. */
  readonly name: string;
  /** Text of the whole value, or of one element of an array. */
  readonly text: string;
}

/**
 * Splits one large JSON object into its values, and the arrays among them whose names are listed, or all, into their elements. Only
 * brackets and quotes are looked at. Memory: one value, or one element.
 */
export class JsonSections {
  readonly #split: ReadonlySet<string> | 'all';
  readonly #bytesMax: number;
  readonly #found: Section[] = [];
  #parts: string[] = [];
  #length = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Undefined while the next name is read. */
  #name: string | undefined;
  #isSplitting = false;

  constructor(options: { split: readonly string[] | 'all'; bytesMax: number }) {
    this.#split = options.split === 'all' ? 'all' : new Set(options.split);
    this.#bytesMax = options.bytesMax;
  }

  /** @returns the sections that are complete */
  write(piece: string): Section[] {
    let start = 0;
    const keep = (end: number, next: number): void => {
      this.#keep(piece.slice(start, end));
      start = next;
    };
    for (let at = 0; at < piece.length; at += 1) {
      const char = piece[at] as string;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (char === '\\') this.#isEscaped = true;
        else if (char === '"') this.#isInString = false;
        continue;
      }
      if (char === '"') this.#isInString = true;
      else if (char === '{' || char === '[') {
        this.#depth += 1;
        if (this.#depth === 1) start = at + 1;
        else if (this.#depth === 2 && char === '[' && this.#splits()) {
          this.#isSplitting = true;
          this.#drop();
          start = at + 1;
        }
      } else if (char === '}' || char === ']') {
        this.#depth -= 1;
        if (this.#depth === 1 && this.#isSplitting) {
          keep(at, at + 1);
          this.#complete();
          this.#isSplitting = false;
        } else if (this.#depth === 0) {
          keep(at, at + 1);
          this.#complete();
        }
      } else if (char === ':' && this.#depth === 1 && this.#name === undefined) {
        keep(at, at + 1);
        this.#takeName();
      } else if (char === ',' && this.#depth === 1) {
        keep(at, at + 1);
        this.#complete();
        this.#name = undefined;
      } else if (char === ',' && this.#depth === 2 && this.#isSplitting) {
        keep(at, at + 1);
        this.#complete();
      }
    }
    if (this.#depth > 0) keep(piece.length, piece.length);
    return this.#found.splice(0);
  }

  /** @throws DatabaseError `Validation` when the file ends in the middle of the object */
  end(): void {
    if (this.#depth !== 0 || this.#isInString)
      throw new DatabaseError('Validation', 'the JSON file ends in the middle of a value');
  }

  #splits(): boolean {
    return this.#split === 'all' || this.#split.has(this.#name ?? '');
  }

  #keep(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length > this.#bytesMax)
      throw new DatabaseError('TooLarge', `a JSON value is longer than ${this.#bytesMax} bytes`);
  }

  #drop(): void {
    this.#parts = [];
    this.#length = 0;
  }

  #takeName(): void {
    const name = this.#parts.join('').trim();
    this.#drop();
    this.#name = /^".*"$/s.test(name) ? name.slice(1, -1) : name;
  }

  #complete(): void {
    const text = this.#parts.join('').trim();
    this.#drop();
    if (text !== '' && this.#name !== undefined) this.#found.push({ name: this.#name, text });
  }
}
