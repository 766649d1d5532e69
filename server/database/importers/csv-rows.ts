import { DatabaseError } from '#core/errors.ts';

/** A field: undefined when nothing stood between the delimiters, not even quotes. */
export type CsvField = string | undefined;

const quote = '"';

/**
 * Splits CSV into rows (RFC 4180): fields in quotes may hold delimiters, line ends and doubled quotes. Fed piece by piece.
 */
export class CsvRows {
  readonly #delimiter: string;
  readonly #trims: boolean;
  readonly #fieldMax: number;
  readonly #rows: CsvField[][] = [];
  #row: CsvField[] = [];
  #field = '';
  #wasQuoted = false;
  #state: 'start' | 'plain' | 'quoted' | 'afterQuote' = 'start';
  #line = 1;
  readonly #escapes: boolean;
  #rowLine = 1;
  #lines: number[] = [];

  /** @param options `escapes`: `\"` in quotes is a quote, too */
  constructor(options: {
    delimiter: string;
    trims: boolean;
    fieldMax: number;
    escapes?: boolean;
  }) {
    this.#escapes = options.escapes === true;
    this.#delimiter = options.delimiter;
    this.#trims = options.trims;
    this.#fieldMax = options.fieldMax;
  }

  /** The number of the line that is being read, from 1. */
  get line(): number {
    return this.#line;
  }

  /** The lines on which the rows begin that were given last. */
  get lines(): readonly number[] {
    return this.#lines;
  }

  /** @returns the rows that are complete */
  write(piece: string): CsvField[][] {
    this.#lines = [];
    for (let at = 0; at < piece.length; at += 1) {
      const char = piece[at] as string;
      if (char === '\n') this.#line += 1;
      switch (this.#state) {
        case 'quoted': {
          const end = piece.indexOf(quote, at);
          const run = end < 0 ? piece.slice(at) : piece.slice(at, end);
          if (run.length > 0) {
            for (let i = 1; i < run.length; i += 1) if (run[i] === '\n') this.#line += 1;
            this.#append(run);
            at += run.length - 1;
          } else if (this.#escapes && this.#field.endsWith('\\')) {
            this.#field = this.#field.slice(0, -1) + quote;
          } else this.#state = 'afterQuote';
          break;
        }
        case 'afterQuote':
          if (char === quote) {
            this.#append(quote);
            this.#state = 'quoted';
          } else this.#plain(char);
          break;
        case 'start':
          if (char === quote) {
            this.#wasQuoted = true;
            this.#state = 'quoted';
          } else this.#plain(char);
          break;
        default:
          this.#plain(char);
      }
    }
    return this.#rows.splice(0);
  }

  /** @returns the last row, when the file does not end with a line end */
  end(): CsvField[][] {
    if (this.#state === 'quoted')
      throw new DatabaseError('Validation', `Line ${this.#line}: a quote is not closed`);
    this.#lines = [];
    if (this.#row.length > 0 || this.#field !== '' || this.#wasQuoted) this.#endRow();
    return this.#rows.splice(0);
  }

  #plain(char: string): void {
    if (char === this.#delimiter) this.#endField();
    else if (char === '\n') this.#endRow();
    else if (char !== '\r') {
      // White space around quotes is nothing of the field.
      const isAround = this.#state === 'afterQuote' && (char === ' ' || char === '\t');
      if (isAround) return;
      this.#append(char);
      const isBlank = this.#state === 'start' && this.#trims && (char === ' ' || char === '\t');
      if (isBlank) this.#field = '';
      else this.#state = 'plain';
    }
  }

  #append(text: string): void {
    this.#field += text;
    if (this.#field.length > this.#fieldMax)
      throw new DatabaseError(
        'TooLarge',
        `Line ${this.#line}: a field is longer than ${this.#fieldMax} characters`,
      );
  }

  #endField(): void {
    const text = this.#trims && !this.#wasQuoted ? this.#field.trim() : this.#field;
    this.#row.push(text === '' && !this.#wasQuoted ? undefined : text);
    this.#field = '';
    this.#wasQuoted = false;
    this.#state = 'start';
  }

  #endRow(): void {
    this.#endField();
    // A line with nothing on it is no row.
    if (this.#row.length > 1 || this.#row[0] !== undefined) {
      this.#rows.push(this.#row);
      this.#lines.push(this.#rowLine);
    }
    this.#rowLine = this.#line;
    this.#row = [];
  }
}

/** Those of the second kind are parts of words as well, so they count only where there is none of the first. */
const delimiters = [
  [',', '\t', '|', ';'],
  [' ', '-', '_'],
] as const;

/** The delimiter that stands most often in the first line, outside of quotes (http-api.md 18.5); undefined: there is none. */
export function guessDelimiter(head: string): string | undefined {
  const [line = ''] = head.replace(/"[^"]*"/g, '').split(/\r?\n/);
  for (const candidates of delimiters) {
    let best: string | undefined;
    let most = 0;
    for (const candidate of candidates) {
      const count = line.split(candidate).length - 1;
      if (count > most) {
        most = count;
        best = candidate;
      }
    }
    if (best !== undefined) return best;
  }
  return undefined;
}
