import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { type Arguments, requireWords } from './arguments.ts';
import { connect } from './connection.ts';
import { type Format, formats, type OutputStyle, rowsText } from './row-output.ts';
import { RowStream } from './row-stream.ts';
import { runShell } from './shell.ts';
import { type AnswerWarning, StatementClient, type StatementEnd } from './statement-client.ts';
import { moved, placedFailure } from './statement-place.ts';
import { type PlacedStatement, StatementSplitter } from './statement-splitter.ts';
import {
  CommandFailure,
  type ExitCode,
  exitCodes,
  printable,
  type Terminal,
  write,
  wrongUse,
} from './terminal.ts';

/** `polyad sql <db> [statement]`: statements, a file, what comes on the input, or a conversation. */
export async function sqlCommand(given: Arguments, terminal: Terminal): Promise<ExitCode> {
  const { words, options } = given;
  const [database = '', statement] = requireWords(words, ['database', 'statement'], 1);
  const style = styleOf(options.format, terminal);
  const limit = options.limit === undefined ? undefined : requireInteger(options.limit);
  const client = new StatementClient(await connect(options, terminal), {
    database,
    language: options.language ?? 'sql',
    limit,
  });
  const shown: Shown = { style, terminal, isCut: false };
  if (statement !== undefined) await runText(client, statement, shown);
  else if (terminal.input.isTTY === true) await runShell(client, style, terminal);
  else await runInput(client, shown);
  return shown.isCut ? exitCodes.cut : exitCodes.ok;
}

/** `polyad cypher <db> [statement]`: as `sqlCommand`, in Cypher. */
export async function cypherCommand(given: Arguments, terminal: Terminal): Promise<ExitCode> {
  return sqlCommand({ ...given, options: { language: 'cypher', ...given.options } }, terminal);
}

/** A script is one statement, and no other language separates statements with a semicolon for sure. */
function isCutAtSemicolons({ language }: StatementClient): boolean {
  return language === 'sql' || language.includes('cypher');
}

/** As `runInput`, for what stands on the command line. */
async function runText(client: StatementClient, text: string, shown: Shown): Promise<void> {
  const splitter = new StatementSplitter();
  splitter.language = client.language;
  const statements = isCutAtSemicolons(client) ? [...splitter.add(`${text}\n`)] : [];
  const rest = splitter.end();
  if (rest !== undefined) statements.push(rest);
  // One alone is sent as it is: the server tells places in it.
  if (statements.length < 2) await runStatement(client, { text, line: 1, column: 1 }, shown);
  else for (const statement of statements) await runStatement(client, statement, shown);
}

/** Statement after statement until one fails. */
async function runInput(client: StatementClient, shown: Shown): Promise<void> {
  const isCut = isCutAtSemicolons(client);
  const splitter = new StatementSplitter();
  splitter.language = client.language;
  const lines: string[] = [];
  const input = Readable.from(wholeText(shown.terminal.input), { objectMode: false });
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (!isCut) lines.push(line);
    else
      for (const statement of splitter.add(`${line}\n`))
        await runStatement(client, statement, shown);
  }
  const whole = { text: lines.join('\n').trimEnd(), line: 1, column: 1 };
  const rest = isCut ? splitter.end() : whole;
  if (rest !== undefined && rest.text !== '') await runStatement(client, rest, shown);
}

/** Bytes that are no UTF-8 would reach the database as replacement characters, and nobody would know. */
async function* wholeText(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of input)
      yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandFailure(exitCodes.failed, 'what comes on the input is no UTF-8');
  }
}

/** How rows are shown, and where. */
interface Shown {
  readonly style: OutputStyle;
  readonly terminal: Terminal;
  /** A limit kept rows of one of the statements back. */
  isCut: boolean;
}

async function runStatement(
  client: StatementClient,
  statement: PlacedStatement,
  shown: Shown,
): Promise<void> {
  const { terminal } = shown;
  try {
    const { count, isTruncated, warnings, leftOut } = await (terminal.output.isTTY === true
      ? showAtOnce(client, statement, shown)
      : showAsTheyCome(client, statement, shown));
    for (const warning of warnings) tellWarning(warning, statement, terminal);
    if (isTruncated) terminal.messages.write(`(there are more than ${count} rows: --limit)\n`);
    if (leftOut !== undefined) terminal.messages.write(`(${leftOut})\n`);
    shown.isCut ||= isTruncated || leftOut !== undefined;
  } catch (error) {
    throw placedFailure(error, statement);
  }
}

interface Ending extends Pick<StatementEnd, 'isTruncated' | 'warnings'> {
  readonly count: number;
  readonly leftOut: string | undefined;
}

async function showAtOnce(
  client: StatementClient,
  { text }: PlacedStatement,
  { style, terminal }: Shown,
): Promise<Ending> {
  const { rows, plan, ...end } = await client.run(text);
  await write(terminal.output, rowsText(rows, style) + (plan ?? ''));
  return { ...end, count: rows.length, leftOut: undefined };
}

async function showAsTheyCome(
  client: StatementClient,
  { text }: PlacedStatement,
  { style, terminal }: Shown,
): Promise<Ending> {
  const rows = new RowStream(terminal.output, style);
  let leftOut: string | undefined;
  try {
    const { plan, ...end } = await client.stream(text, (row) => rows.take(row));
    leftOut = await rows.end();
    if (plan !== undefined) await write(terminal.output, plan);
    return { ...end, count: rows.count, leftOut };
  } catch (error) {
    // What came before it stands before its message.
    await rows.end();
    throw error;
  }
}

/** That rows were cut is told in words of the command line. */
function tellWarning(
  { code, message, position }: AnswerWarning,
  statement: PlacedStatement,
  { messages }: Terminal,
): void {
  if (code === 'RowsCut') return;
  const place = position && moved(position, statement);
  const where = place === undefined ? '' : `line ${place.line}, column ${place.column}: `;
  messages.write(`polyad: warning: ${where}${printable(message)}\n`);
}

/** Frames and colour are for terminals; NO_COLOR takes the colour away (no-color.org). */
function styleOf(format: string | undefined, { output, environment }: Terminal): OutputStyle {
  const isTerminal = output.isTTY === true;
  return {
    format: requireFormat(format ?? 'table'),
    hasFrame: isTerminal,
    hasColour: isTerminal && (environment['NO_COLOR'] ?? '') === '',
    // A terminal that does not know its width says 0.
    width: output.columns || 80,
  };
}

export function requireFormat(text: string): Format {
  const format = formats.find((known) => known === text.toLowerCase());
  if (format === undefined) throw wrongUse(`'${text}' is no format: ${formats.join(', ')}`);
  return format;
}

export function requireInteger(text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw wrongUse(`'${text}' is no integer`);
}
