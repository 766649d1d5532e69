import { createInterface, type Interface } from 'node:readline';
import { ShellHistory } from './shell-history.ts';
import { type Format, formats, type OutputStyle, rowsText } from './row-output.ts';
import type { StatementClient } from './statement-client.ts';
import { StatementSplitter } from './statement-splitter.ts';
import { CommandFailure, printable, type Terminal } from './terminal.ts';

const helpText = `Statements end with ';' and may have several lines. Ctrl-C stops one, Ctrl-D leaves.
  \\help                 this text
  \\format table|json|csv  how rows are shown
  \\language <name>      language of statements: sql, sqlscript, cypher, ...
  \\use <database>       goes to another database
  \\types                types of the database
  \\limit <n>|off        largest number of rows
  \\timing               shows how long statements take, or no longer
  \\begin \\commit \\rollback  a transaction over several statements
  \\quit                 leaves
`;

/** A conversation: statements as they are typed, and commands that begin with a backslash. */
export async function runShell(
  client: StatementClient,
  style: OutputStyle,
  terminal: Terminal,
): Promise<void> {
  await new Shell(client, style, terminal).run();
}

class Shell {
  readonly #client: StatementClient;
  readonly #terminal: Terminal;
  readonly #history: ShellHistory;
  readonly #reader: Interface;
  readonly #splitter = new StatementSplitter();
  /** Lines of the statement that is not complete. */
  #typed: string[] = [];
  #recalled: string[] | undefined;
  /** Lines that came while a statement ran. */
  readonly #waiting: string[] = [];
  #style: OutputStyle;
  #running: AbortController | undefined;
  #isBusy = false;
  #isTimed = false;
  #isClosed = false;
  #whenClosed: () => void = () => {};

  constructor(client: StatementClient, style: OutputStyle, terminal: Terminal) {
    this.#client = client;
    this.#style = style;
    this.#terminal = terminal;
    this.#splitter.language = client.language;
    this.#history = new ShellHistory(terminal.environment);
    this.#reader = createInterface({
      input: terminal.input,
      output: terminal.output,
      terminal: true,
      history: [...this.#history.newestFirst()],
      historySize: this.#history.lengthMax,
    });
    // What can be recalled is statements, not the lines that were typed.
    this.#reader.on('history', (recalled: string[]) => this.#showHistory(recalled));
  }

  /** @param recalled what the reader recalls, newest first; it is changed in its place */
  #showHistory(recalled: string[]): void {
    this.#recalled = recalled;
    recalled.splice(0, recalled.length, ...this.#history.newestFirst());
  }

  /** Keeps a statement, or several that share lines, or a command. */
  #remember(lines: readonly string[]): void {
    const entry = lines.join('\n').trimEnd();
    if (entry === '') return;
    this.#history.add(entry);
    if (this.#recalled !== undefined) this.#showHistory(this.#recalled);
  }

  async run(): Promise<void> {
    this.#say(`Connected to database '${this.#client.database}'. \\help tells what there is.\n`);
    const closed = new Promise<void>((resolve) => {
      this.#whenClosed = resolve;
    });
    this.#reader.on('line', (line) => {
      this.#waiting.push(line);
      void this.#work();
    });
    this.#reader.on('SIGINT', () => this.#interrupt());
    this.#reader.on('close', () => {
      this.#isClosed = true;
      if (!this.#isBusy) this.#whenClosed();
    });
    this.#prompt();
    await closed;
    this.#running?.abort();
    if (this.#client.isInTransaction) {
      this.#say('The transaction is rolled back.\n');
      await this.#client.end('rollback').catch(() => {});
    }
    this.#say('\n');
  }

  /** Takes the lines that wait, one after the other. */
  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let line = this.#waiting.shift(); line !== undefined; line = this.#waiting.shift()) {
      try {
        await this.#take(line);
      } catch (error) {
        this.#tell(error);
      }
    }
    this.#isBusy = false;
    if (this.#isClosed) this.#whenClosed();
    else this.#prompt();
  }

  /** @param given a line, or a recalled statement of several, which has other ends of lines */
  async #take(given: string): Promise<void> {
    const line = given.replaceAll('\r', '\n');
    const text = line.trim();
    const isFirst = !this.#splitter.isOpen;
    // Nothing of a statement begins with a backslash, so commands work within one, too.
    const isCommand = isFirst ? /^(\\|(help|exit|quit);?$)/i : /^\\/;
    if (!this.#splitter.isQuoting && isCommand.test(text)) {
      this.#remember([line]);
      await this.#command(text);
      return;
    }
    if (isFirst) this.#typed = [];
    this.#typed.push(line);
    const statements = this.#splitter.add(`${line}\n`);
    if (!this.#splitter.isOpen) this.#remember(this.#typed);
    for (const { text } of statements) await this.#execute(text);
  }

  async #execute(statement: string): Promise<void> {
    this.#running = new AbortController();
    const startedMs = this.#terminal.nowMs();
    try {
      const answer = await this.#client.run(statement, this.#running.signal);
      const { rows, isTruncated, plan, warnings } = answer;
      this.#say(rowsText(rows, this.#style) + (plan ?? ''));
      if (this.#style.format === 'table' && plan === undefined) {
        const more = isTruncated ? ', there are more: \\limit' : '';
        this.#say(`${rows.length} row${rows.length === 1 ? '' : 's'}${more}\n`);
      }
      for (const { code, message } of warnings)
        if (code !== 'RowsCut') this.#say(`Warning: ${printable(message)}\n`);
    } finally {
      this.#running = undefined;
      const ms = this.#terminal.nowMs() - startedMs;
      if (this.#isTimed) this.#say(`${ms.toFixed(1)} ms\n`);
    }
  }

  async #command(text: string): Promise<void> {
    const [name = '', ...words] = text.replace(/;$/, '').split(/\s+/);
    const [word] = words;
    const client = this.#client;
    switch (name.toLowerCase()) {
      case '\\help':
      case '\\?':
      case 'help':
        this.#say(helpText);
        break;
      case '\\format':
        this.#setFormat(word);
        break;
      case '\\language':
        if (word !== undefined) client.language = word;
        this.#splitter.language = client.language;
        this.#say(`Language is ${client.language}.\n`);
        break;
      case '\\use':
        this.#use(word);
        break;
      case '\\types':
        await this.#types();
        break;
      case '\\limit':
        this.#setLimit(word);
        break;
      case '\\timing':
        this.#isTimed = !this.#isTimed;
        this.#say(`Timing is ${this.#isTimed ? 'on' : 'off'}.\n`);
        break;
      case '\\begin':
        await client.begin();
        this.#say('A transaction has begun.\n');
        break;
      case '\\commit':
      case '\\rollback':
        if (!client.isInTransaction) {
          this.#say('There is no transaction; \\begin opens one.\n');
          break;
        }
        await client.end(name.toLowerCase() === '\\commit' ? 'commit' : 'rollback');
        this.#say('The transaction has ended.\n');
        break;
      case '\\quit':
      case '\\q':
      case 'exit':
      case 'quit':
        this.#waiting.length = 0;
        this.#reader.close();
        break;
      default:
        this.#say(`There is no command ${printable(name)}; \\help lists them.\n`);
    }
  }

  #setFormat(word: string | undefined): void {
    const format = formats.find((known): known is Format => known === word?.toLowerCase());
    if (format === undefined) this.#say(`Formats are ${formats.join(', ')}.\n`);
    else this.#style = { ...this.#style, format };
  }

  #setLimit(word: string | undefined): void {
    if (word === 'off') this.#client.limit = undefined;
    else if (word !== undefined && /^\d{1,9}$/.test(word)) this.#client.limit = Number(word);
    const { limit } = this.#client;
    this.#say(limit === undefined ? 'There is no limit.\n' : `Limit is ${limit} rows.\n`);
  }

  #use(word: string | undefined): void {
    if (this.#client.isInTransaction) this.#say('End the transaction first.\n');
    else if (word !== undefined) this.#client.database = word.replace(/^`(.*)`$/, '$1');
    this.#say(`Database is '${printable(this.#client.database)}'.\n`);
  }

  async #types(): Promise<void> {
    const { language } = this.#client;
    this.#client.language = 'sql';
    try {
      await this.#execute('SELECT name, type, records FROM schema:types ORDER BY name');
    } finally {
      this.#client.language = language;
    }
  }

  /** Ctrl-C: the running statement ends with its request; else what is typed is thrown away. */
  #interrupt(): void {
    if (this.#running !== undefined) {
      this.#waiting.length = 0;
      this.#running.abort();
      return;
    }
    if (this.#reader.line === '' && !this.#splitter.isOpen) this.#say('\nCtrl-D or \\quit leaves.');
    this.#splitter.clear();
    this.#say('\n');
    // Clears the line that is being typed.
    this.#reader.write(null, { ctrl: true, name: 'u' });
    this.#prompt();
  }

  #tell(error: unknown): void {
    if (error instanceof Error && error.name === 'AbortError') this.#say('Stopped.\n');
    else if (error instanceof CommandFailure) this.#say(`Error: ${printable(error.message)}\n`);
    else throw error;
  }

  #prompt(): void {
    const name = printable(this.#client.database);
    const mark = this.#client.isInTransaction ? '*' : '';
    const prompt = this.#splitter.isOpen ? `${' '.repeat(name.length)}...> ` : `${name}${mark}> `;
    this.#reader.setPrompt(prompt);
    this.#reader.prompt();
  }

  #say(text: string): void {
    this.#terminal.output.write(text);
  }
}
