import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { gunzipSync, constants } from 'node:zlib';
import { systemRuntime } from '#platform/system-runtime.ts';
import { type ApiClient, refusalOf, requireOk } from './api-client.ts';
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

/**
 * `polyad import <db> <file|url>`. A local file of vertices and edges is streamed to `/batch`; everything else is imported by
 * the server itself: into a database that exists, or a new one.
 */
export async function importCommand(
  { words, options }: Arguments,
  terminal: Terminal,
): Promise<ExitCode> {
  const [database = '', source = ''] = requireWords(words, ['database', 'file']);
  const client = await connect(options, terminal);
  const bar = new ProgressBar(terminal);
  try {
    const format = /^[a-z]+:\/\//i.test(source)
      ? undefined
      : await batchFormat(source, options.format);
    const report =
      format === undefined
        ? await importByServer(client, { database, url: urlOf(source, client) }, bar)
        : await upload(client, { database, path: source, format }, bar);
    bar.clear();
    await write(terminal.output, `${report}\n`);
  } finally {
    bar.clear();
  }
  return exitCodes.ok;
}

const headBytes = 64 * 1024;

/** How `/batch` reads the file; undefined when it is of another kind. */
async function batchFormat(
  path: string,
  asked: string | undefined,
): Promise<BatchFormat | undefined> {
  if (asked !== undefined && asked !== 'jsonl' && asked !== 'csv')
    throw wrongUse(`'${asked}' is no format of an import: jsonl, csv`);
  const head = await headOf(path);
  if (asked !== undefined) return asked;
  const [line = ''] = head
    .replace(/^\ufeff/, '')
    .trimStart()
    .split('\n', 1);
  if (/^\{.*"@type"\s*:\s*"(v|vertex|e|edge)"/.test(line)) return 'jsonl';
  const columns = line.split(',').map((column) => column.replace(/^"|"$/g, '').trim());
  return columns.includes('@type') && columns.includes('@class') ? 'csv' : undefined;
}

/** The beginning of a file, unpacked. */
async function headOf(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
      const bytes = buffer.subarray(0, bytesRead);
      if (!isPacked(bytes)) return bytes.toString('utf8');
      // The beginning of an archive has no end.
      return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
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
  readonly error?: BatchCounts & { readonly message: string; readonly partialCommit?: boolean };
}

/** @returns what to tell at the end */
async function upload(
  client: ApiClient,
  { database, path, format }: { database: string; path: string; format: BatchFormat },
  bar: ProgressBar,
): Promise<string> {
  const { size } = await stat(path);
  const file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  await file.close();
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
  const input = createReadStream(path, { highWaterMark: 256 * 1024 });
  input.on('error', (error) => counted.destroy(error));
  const answer = await client.open({
    method: 'POST',
    path: `/batch/${encodeURIComponent(database)}?idMapping=false`,
    headers: {
      'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
      accept: 'application/x-ndjson',
      ...(isPacked(buffer) && { 'content-encoding': 'gzip' }),
    },
    body: input.pipe(counted),
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
  return new CommandFailure(exitCodes.failed, `${error.message}${left}`);
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
