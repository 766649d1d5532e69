import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { gunzipSync, constants } from 'node:zlib';
import { systemRuntime } from '#platform/system-runtime.ts';
import { type ApiClient, codeOf, refusalOf, requireOk } from './api-client.ts';
import { type Arguments, requireWords } from './arguments.ts';
import { connect } from './connection.ts';
import { linesOf, textOf } from './lines.ts';
import { grouped, ProgressBar, sizeText } from './progress-bar.ts';
import { quoted, runStreamed, showingProgress } from './server-operation.ts';
import {
  CommandFailure,
  type ExitCode,
  exitCodes,
  printable,
  type Terminal,
  write,
  wrongUse,
} from './terminal.ts';

type BatchFormat = 'jsonl' | 'csv';

/** Vertices and edges for `/batch`. */
interface BatchInput {
  readonly stream: Readable;
  readonly format: BatchFormat;
  readonly isPacked: boolean;
  /** Bytes; undefined when nobody knows. */
  readonly size: number | undefined;
}

const inputName = '-';

/**
 * `polyad import <db> <file|url|->`. A local file of vertices and edges, or what comes on the input, is streamed to `/batch`;
 * everything else is imported by the server itself: into a database that exists, or a new one.
 */
export async function importCommand(
  { words, options }: Arguments,
  terminal: Terminal,
): Promise<ExitCode> {
  const [database = '', source = ''] = requireWords(words, ['database', 'file']);
  const client = await connect(options, terminal);
  const bar = new ProgressBar(terminal);
  try {
    const input = await batchInput(source, options.format, terminal);
    const report =
      input === undefined
        ? await importByServer(client, { database, url: urlOf(source, client) }, bar)
        : await upload(client, database, input, bar);
    bar.clear();
    await write(terminal.output, `${report}\n`);
  } finally {
    bar.clear();
  }
  return exitCodes.ok;
}

const headBytes = 64 * 1024;

/** What `/batch` can read; undefined when it is of another kind. */
async function batchInput(
  source: string,
  asked: string | undefined,
  { input }: Terminal,
): Promise<BatchInput | undefined> {
  if (/^[a-z]+:\/\//i.test(source)) return undefined;
  if (asked !== undefined && asked !== 'jsonl' && asked !== 'csv')
    throw wrongUse(`'${asked}' is no format of an import: jsonl, csv`);
  if (source === inputName) return pipedInput(input, asked);
  const { head, size } = await fileHead(source);
  const format = asked ?? formatOf(head);
  if (format === undefined) return undefined;
  const stream = createReadStream(source, { highWaterMark: 256 * 1024 });
  return { stream, format, isPacked: isPacked(head), size };
}

/** What comes on the input; its first piece tells what it is. */
async function pipedInput(input: Readable, asked: BatchFormat | undefined): Promise<BatchInput> {
  const pieces = input[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  let head = new Uint8Array(0);
  while (head.length < headBytes) {
    const { done, value } = await pieces.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
    // A slow sender is not waited for once the first line is there.
    if (head.includes(0x0a)) break;
  }
  const format = asked ?? formatOf(head);
  if (format === undefined)
    throw wrongUse('what comes on the input is no form of /batch that could be told: --format');
  const all = async function* () {
    if (head.length > 0) yield head;
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next())
      yield next.value;
  };
  const stream = Readable.from(all(), { objectMode: false });
  return { stream, format, isPacked: isPacked(head), size: undefined };
}

/** @param head the beginning of what is imported, perhaps packed */
function formatOf(head: Uint8Array): BatchFormat | undefined {
  const [line = ''] = textOfHead(head)
    .replace(/^\ufeff/, '')
    .trimStart()
    .split('\n', 1);
  if (/^\{.*"@type"\s*:\s*"(v|vertex|e|edge)"/.test(line)) return 'jsonl';
  const columns = line.split(',').map((column) => column.replace(/^"|"$/g, '').trim());
  return columns.includes('@type') && columns.includes('@class') ? 'csv' : undefined;
}

function textOfHead(head: Uint8Array): string {
  if (!isPacked(head)) return Buffer.from(head).toString('utf8');
  try {
    // The beginning of an archive has no end.
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8');
  } catch (error) {
    throw new CommandFailure(exitCodes.failed, (error as Error).message);
  }
}

/** The beginning of a file and its length; of a pipe that has a name there is none without taking it away. */
async function fileHead(path: string): Promise<{ head: Uint8Array; size: number }> {
  try {
    const found = await stat(path);
    if (!found.isFile() && !found.isDirectory())
      throw wrongUse(`'${path}' is no file; '${inputName}' reads what comes on the input`);
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
      return { head: buffer.subarray(0, bytesRead), size: found.size };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(exitCodes.failed, (error as Error).message);
  }
}

function isPacked(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

interface BatchCounts {
  readonly verticesCreated: number;
  readonly edgesCreated: number;
}

interface BatchEvent {
  readonly progress?: BatchCounts;
  readonly summary?: BatchCounts & { readonly elapsedMs: number };
  readonly error?: BatchCounts & {
    readonly message: string;
    readonly status: number;
    readonly partialCommit?: boolean;
  };
}

/** @returns what to tell at the end */
async function upload(
  client: ApiClient,
  database: string,
  { stream, format, isPacked: packed, size = 0 }: BatchInput,
  bar: ProgressBar,
): Promise<string> {
  let sent = 0;
  let stored: BatchCounts = { verticesCreated: 0, edgesCreated: 0 };
  const show = () =>
    bar.show(size > 0 ? sent / size : undefined, `${sizeText(sent)}, ${told(stored)}`);
  const counted = new Transform({
    transform(piece: Buffer, _encoding, done) {
      sent += piece.length;
      show();
      done(null, piece);
    },
  });
  stream.on('error', (error) => counted.destroy(error));
  const answer = await client.open({
    method: 'POST',
    path: `/batch/${encodeURIComponent(database)}?idMapping=false`,
    headers: {
      'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
      accept: 'application/x-ndjson',
      ...(packed && { 'content-encoding': 'gzip' }),
    },
    body: stream.pipe(counted),
  });
  const status = answer.statusCode ?? 0;
  if (status !== 200) throw refusalOf(status, await textOf(answer));
  for await (const line of linesOf(answer)) {
    if (line === '') continue;
    const { progress, summary, error } = JSON.parse(line) as BatchEvent;
    if (error !== undefined) throw broken(error);
    if (summary !== undefined)
      return `Imported ${told(summary)} in ${(summary.elapsedMs / 1000).toFixed(1)} s`;
    if (progress !== undefined) stored = progress;
    show();
  }
  throw new CommandFailure(exitCodes.failed, 'the server ended the answer before it was complete');
}

function told({ verticesCreated, edgesCreated }: BatchCounts): string {
  const vertices = `${grouped(verticesCreated)} ${verticesCreated === 1 ? 'vertex' : 'vertices'}`;
  return `${vertices}, ${grouped(edgesCreated)} ${edgesCreated === 1 ? 'edge' : 'edges'}`;
}

function broken(error: NonNullable<BatchEvent['error']>): CommandFailure {
  const left = error.partialCommit === true ? ` (stored before: ${told(error)})` : '';
  return new CommandFailure(codeOf(error.status), `${error.message}${left}`);
}

/** A file that the server is to read must be where the server is. */
function urlOf(source: string, { target }: ApiClient): string {
  if (/^[a-z]+:\/\//i.test(source)) return source;
  const { hostname } = target.url;
  if (['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
    return pathToFileURL(resolve(source)).href;
  throw new CommandFailure(
    exitCodes.usage,
    `'${source}' holds no vertices and edges in the form of /batch, and ${hostname} cannot read files of this machine: give it a URL`,
  );
}

async function importByServer(
  client: ApiClient,
  { database, url }: { database: string; url: string },
  bar: ProgressBar,
): Promise<string> {
  const path = `/exists/${encodeURIComponent(database)}`;
  const { text } = requireOk(await client.send({ method: 'GET', path }));
  if (JSON.parse(text).result !== true) {
    const command = `import database ${quoted(database)} ${url}`;
    return importedText(await runStreamed(client, { command }, bar));
  }
  const { sleep } = systemRuntime.timers;
  const statement = { language: 'sql', command: `IMPORT DATABASE '${url.replaceAll("'", '%27')}'` };
  const answer = client.send({
    method: 'POST',
    path: `/command/${encodeURIComponent(database)}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(statement),
  });
  const done = await showingProgress(client, { database, bar, sleep }, answer);
  return importedText(JSON.parse(done.text).result?.[0] ?? {});
}

function importedText(counts: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const [name, what] of [
    ['createdDocuments', 'documents'],
    ['createdVertices', 'vertices'],
    ['createdEdges', 'edges'],
    ['errors', 'errors'],
    ['warnings', 'warnings'],
  ] as const) {
    const count = counts[name];
    if (typeof count === 'number') parts.push(`${grouped(count)} ${what}`);
  }
  return printable(`Imported ${parts.length > 0 ? parts.join(', ') : 'everything'}`);
}
