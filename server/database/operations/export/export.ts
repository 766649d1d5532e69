import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import { directorySynced, makeDirectories } from '#platform/files.ts';
import { writePieces } from '#platform/file-sink.ts';
import { formatFileTimestamp } from '#platform/timestamp.ts';
import type { ProgressReporter } from '../../progress/progress-registry.ts';
import { graphmlPieces } from './graphml.ts';
import { graphsonPieces } from './graphson.ts';
import { jsonlPieces } from './jsonl.ts';
import type { ExportSource, ExportTotals } from './reader.ts';
import type { OperatedDatabase } from '../operated-database.ts';
import { OperationSettings } from '../operation-settings.ts';

const formats = ['jsonl', 'graphml', 'graphson'] as const;
export type ExportFormat = (typeof formats)[number];

/** What is exported, and where to. */
export interface ExportOrder {
  readonly format: ExportFormat;
  /** Plain name of a file in the directory of exports. */
  readonly fileName: string;
  readonly overwrites: boolean;
}

const settingNames = ['format', 'overwrite'] as const;
/** What is being written starts with this. */
const temporaryPrefix = '.export-tmp-';

/**
 * The order of an EXPORT DATABASE statement. Without a URL the name is `<database>-export-<timestamp>.<format>.tgz`; the format
 * is that of the setting, else that of the name, else jsonl.
 * @throws DatabaseError `IllegalArgument` for a path, an unknown format or setting
 */
export function exportOrder(
  database: string,
  about: {
    readonly url: string | undefined;
    readonly settings: Value | undefined;
    readonly nowMs: number;
  },
): ExportOrder {
  const settings = new OperationSettings('export', about.settings);
  const wanted = settings.text('format')?.toLowerCase();
  const overwrites = settings.flag('overwrite') ?? false;
  settings.requireNoOther(settingNames);
  const given = about.url === undefined ? undefined : plainName(about.url);
  const format = formats.find((name) => name === (wanted ?? formatOfName(given ?? '')));
  if (format === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `export format '${wanted?.slice(0, 40)}' is unknown; use one of ${formats.join(', ')}`,
    );
  const fileName = given ?? defaultName(database, format, about.nowMs);
  return { format, fileName, overwrites };
}

function defaultName(database: string, format: ExportFormat, nowMs: number): string {
  const milliseconds = String(nowMs % 1000).padStart(3, '0');
  return `${database}-export-${formatFileTimestamp(nowMs)}${milliseconds}.${format}.tgz`;
}

function formatOfName(name: string): string {
  const extensions = name.toLowerCase().split('.').slice(1);
  return formats.find((format) => extensions.includes(format)) ?? 'jsonl';
}

/** @throws DatabaseError `IllegalArgument` for a name that leads anywhere else than into the directory of exports */
function plainName(url: string): string {
  const name = url.replace(/^file:\/\//i, '');
  const isPlain = /^[^/\\\u0000-\u001f\u007f:*?"<>|]{1,240}$/.test(name);
  if (isPlain && !name.includes('..') && !name.startsWith('.')) return name;
  throw new DatabaseError(
    'IllegalArgument',
    `export file '${url.slice(0, 160).replace(/[\u0000-\u001f\u007f]/g, '?')}' must be a plain file name: exports go to the directory 'exports' of the server`,
  );
}

export interface ExportJob {
  readonly database: OperatedDatabase;
  readonly order: ExportOrder;
  readonly directory: string;
  readonly runtime: Runtime;
  readonly reporter: ProgressReporter;
  readonly serverVersion: string;
}

/**
 * Writes one state of the database to a file, while statements go on. The file appears under its name when it is whole. Names
 * that end with `.tgz` or `.gz` are packed with gzip.
 * @throws DatabaseError `IllegalArgument` when the file is there already and is not to be replaced
 */
export async function writeExport(job: ExportJob): Promise<ExportTotals> {
  const { directory, order, reporter, runtime, database } = job;
  makeDirectories(directory, 0o750);
  const target = join(directory, order.fileName);
  await requireFree(target, order);
  const suffix = runtime.random.uint32().toString(16).padStart(8, '0');
  const temporary = join(directory, `${temporaryPrefix}${suffix}`);
  const totals: ExportTotals = { documents: 0, vertices: 0, edges: 0, warnings: 0 };
  reporter.step(`writing ${order.format}`, undefined);
  const view = database.state.view();
  try {
    const source: ExportSource = { name: database.name, view, runtime, reporter, totals };
    const isPacked = /\.(tgz|gz)$/i.test(order.fileName);
    await writePieces(temporary, piecesOf(source, job), { isPacked, signal: reporter.signal });
    reporter.check();
    await requireFree(target, order);
    await rename(temporary, target);
    await directorySynced(directory);
    return totals;
  } finally {
    view[Symbol.dispose]();
    await rm(temporary, { force: true });
  }
}

function piecesOf(source: ExportSource, job: ExportJob): AsyncGenerator<string> {
  const { order, runtime, serverVersion, database } = job;
  switch (order.format) {
    case 'jsonl':
      return jsonlPieces(source, {
        createdAt: runtime.clock.now(),
        serverVersion,
        settings: database.settings,
      });
    case 'graphml':
      return graphmlPieces(source, database.formats());
    case 'graphson':
      return graphsonPieces(source);
  }
}

async function requireFree(path: string, { fileName, overwrites }: ExportOrder): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined || (overwrites && facts.isFile())) return;
  throw new DatabaseError(
    'IllegalArgument',
    `export file '${fileName}' exists already; WITH overwrite = true replaces it`,
  );
}
