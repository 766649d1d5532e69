/** A statement of a longer text. */
export interface PlacedStatement {
  readonly text: string;
  /** Where it begins, both from 1. */
  readonly line: number;
  readonly column: number;
}

/**
 * Cuts lines into statements at each `;` that stands in no string, quoted name, comment or block of a script. Linear in the
 * text.
 */
export class StatementSplitter {
  /** Text of the statement that is not complete, up to `#at` looked at. */
  #pending = '';
  #at = 0;
  /** Where `#pending` begins, both from 1. */
  #line = 1;
  #column = 1;
  /** What ends the string, name or comment that is open; empty outside of all. */
  #closing = '';
  #depth = 0;
  /** There is more than blanks and comments. */
  #hasContent = false;
  /** What begins a comment that ends with its line. */
  #lineComment = '-- ';

  /** Comments are written differently from language to language. */
  set language(name: string) {
    this.#lineComment = name.startsWith('sql') ? '-- ' : '//';
  }

  /** Whether a statement has begun and is not complete. */
  get isOpen(): boolean {
    return this.#hasContent || this.#closing !== '';
  }

  /** Whether it stops within a string, a quoted name or a comment. */
  get isQuoting(): boolean {
    return this.#closing !== '';
  }

  /** Adds whole lines. @returns the statements that are complete now, without their `;` */
  add(lines: string): readonly PlacedStatement[] {
    this.#pending += lines;
    const statements: PlacedStatement[] = [];
    while (this.#at < this.#pending.length) {
      if (this.#closing !== '') this.#skip();
      else if (this.#isEnd()) {
        if (this.#hasContent) statements.push(this.#placed(this.#at));
        this.#hasContent = false;
        this.#drop(this.#at + 1);
      } else this.#step();
    }
    if (!this.isOpen) this.clear();
    return statements;
  }

  /** The end of the text: what is left is a statement, too. */
  end(): PlacedStatement | undefined {
    const rest = this.#hasContent ? this.#placed(this.#pending.length) : undefined;
    this.clear();
    return rest;
  }

  clear(): void {
    this.#drop(this.#pending.length);
    this.#closing = '';
    this.#depth = 0;
    this.#hasContent = false;
  }

  #placed(end: number): PlacedStatement {
    const text = this.#pending.slice(0, end);
    const first = text.search(/\S/u);
    const before = this.#placeAfter(first);
    return { text: text.trim(), ...before };
  }

  #drop(count: number): void {
    const { line, column } = this.#placeAfter(count);
    this.#line = line;
    this.#column = column;
    this.#pending = this.#pending.slice(count);
    this.#at = 0;
  }

  /** Columns are characters, as the server counts them. */
  #placeAfter(count: number): { readonly line: number; readonly column: number } {
    const lines = this.#pending.slice(0, count).split('\n');
    const width = [...(lines.at(-1) ?? '')].length;
    if (lines.length === 1) return { line: this.#line, column: this.#column + width };
    return { line: this.#line + lines.length - 1, column: width + 1 };
  }

  #isEnd(): boolean {
    return this.#pending[this.#at] === ';' && this.#depth === 0;
  }

  #step(): void {
    const char = this.#pending[this.#at] as string;
    const isBlock = this.#pending.startsWith('/*', this.#at);
    if (isBlock || this.#pending.startsWith(this.#lineComment, this.#at)) {
      this.#closing = isBlock ? '*/' : '\n';
      this.#at += 2;
      return;
    }
    if (char === "'" || char === '"' || char === '`') this.#closing = char;
    else if (char === '{') this.#depth += 1;
    else if (char === '}') this.#depth = Math.max(0, this.#depth - 1);
    if (char.trim() !== '') this.#hasContent = true;
    this.#at += 1;
  }

  /** Goes behind the end of what is open, or to the end of the text. */
  #skip(): void {
    const closing = this.#closing;
    const hasEscapes = closing === "'" || closing === '"' || closing === '`';
    while (this.#at < this.#pending.length) {
      if (hasEscapes && this.#pending[this.#at] === '\\') this.#at += 2;
      else if (this.#pending.startsWith(closing, this.#at)) {
        this.#at += closing.length;
        this.#closing = '';
        return;
      } else this.#at += 1;
    }
    this.#at = this.#pending.length;
  }
}
