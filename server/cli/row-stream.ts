import type { Writable } from 'node:stream';
import { headText, lineText, type OutputStyle, parseAnswer, type Row } from './row-output.ts';
import { printable, write } from './terminal.ts';

const pieceCharacters = 64 * 1024;
/** Rows that are looked at for columns before the first of them is shown, in characters. */
const heldCharactersMax = 1024 * 1024;
const namedColumnsMax = 5;

/**
 * Rows on their way to a file or pipe, one by one: what is held does not grow with their number. Form `json` is the server's
 * text. The others need to know their columns first: those of the rows in the first megabyte; what later rows bring beside
 * them is left out and told of.
 */
export class RowStream {
  /** Number of rows that were taken. */
  count = 0;
  readonly #output: Writable;
  readonly #style: OutputStyle;
  readonly #lateColumns = new Set<string>();
  #columns: ReadonlySet<string> | undefined;
  #held: string[] = [];
  #heldCharacters = 0;
  #piece = '';

  constructor(output: Writable, style: OutputStyle) {
    this.#output = output;
    this.#style = style;
  }

  /** @param text one row, a JSON object */
  async take(text: string): Promise<void> {
    this.count += 1;
    if (this.#style.format === 'json') this.#piece += `${text}\n`;
    else if (this.#columns === undefined) this.#hold(text);
    else this.#show(parseAnswer(text), this.#columns);
    if (this.#piece.length >= pieceCharacters) await this.#flush();
  }

  /** @returns what was left out, in words; undefined for nothing */
  async end(): Promise<string | undefined> {
    this.#showHeld();
    await this.#flush();
    const late = [...this.#lateColumns];
    if (late.length === 0) return undefined;
    const names = late.slice(0, namedColumnsMax).map(printable).join(', ');
    return `columns that only later rows have are left out: ${names}${late.length > namedColumnsMax ? ', ...' : ''}; -f json shows all`;
  }

  #hold(text: string): void {
    this.#held.push(text);
    this.#heldCharacters += text.length;
    if (this.#heldCharacters >= heldCharactersMax) this.#showHeld();
  }

  #showHeld(): void {
    if (this.#held.length === 0) return;
    const columns = new Set<string>();
    for (const text of this.#held)
      for (const name of Object.keys(parseAnswer(text))) columns.add(name);
    this.#columns = columns;
    this.#piece += headText([...columns], this.#style);
    for (const text of this.#held) this.#show(parseAnswer(text), columns);
    this.#held = [];
  }

  #show(row: Row, columns: ReadonlySet<string>): void {
    for (const name of Object.keys(row)) if (!columns.has(name)) this.#lateColumns.add(name);
    this.#piece += lineText([...columns], row, this.#style);
  }

  async #flush(): Promise<void> {
    if (this.#piece === '') return;
    const piece = this.#piece;
    this.#piece = '';
    await write(this.#output, piece);
  }
}
