import type { Settings } from '#config/effective-settings.ts';
import {
  serverHttpBatchLineMaxSize,
  serverHttpJsonMaxDepth,
  serverSecurityImportMaxSize,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import { openUnpacked } from '#platform/archive/packed-file.ts';
import { detectFormat } from '../importers/detect-format.ts';
import type { ImportJob } from '../importers/import-job.ts';
import type { ImportFormat, ImportPart, ImportSettings } from '../importers/import-settings.ts';
import { type ImportCounts, ImportSink } from '../importers/import-sink.ts';
import type { ProgressReporter } from '../progress/progress-registry.ts';
import type { OperatedDatabase } from './operated-database.ts';
import type { SourceFile } from './source.ts';

export interface ImportOrder {
  readonly database: OperatedDatabase;
  /** The main file; undefined when the settings name all files. */
  readonly url: string | undefined;
  readonly settings: ImportSettings;
  /** Makes what a URL names readable. */
  readonly source: (url: string) => Promise<SourceFile>;
  readonly serverSettings: Settings;
  readonly runtime: Runtime;
  readonly reporter: ProgressReporter;
  readonly isNew: boolean;
}

const headBytes = 8192;

/** A number of steps that no import reaches exactly: how many there are depends on the file. */
export const importStepCount = 5;

/**
 * Reads files into a database: the main one, then those of documents, vertices and edges. All vertices of one import are known
 * to its edges by their ids. Works in short turns and ends when it is cancelled; what was committed until then stays.
 * @throws DatabaseError naming the line or value at fault
 */
export async function importFiles(order: ImportOrder): Promise<ImportCounts> {
  const { database, url, settings, runtime, reporter } = order;
  const { parts } = settings;
  if (url === undefined && parts.length === 0)
    throw new DatabaseError(
      'IllegalArgument',
      'IMPORT DATABASE needs a URL, or one of the settings documents, vertices, edges',
    );
  const { commitEvery, onRowError, edgeBidirectional } = settings;
  const skipsRows = onRowError === 'skip';
  const sink = new ImportSink({
    database,
    runtime,
    reporter,
    commitEvery,
    skipsRows,
    isBidirectional: edgeBidirectional,
  });
  const main: readonly ImportPart[] =
    url === undefined
      ? []
      : [{ ...settings.main, url, format: settings.format ?? settings.main.format }];
  try {
    for (const part of [...main, ...parts]) await importPart(order, part, sink);
    await sink.commit();
    return sink.counts;
  } finally {
    sink.close();
  }
}

async function importPart(order: ImportOrder, part: ImportPart, sink: ImportSink): Promise<void> {
  const { database, settings, serverSettings, runtime, reporter, isNew } = order;
  reporter.step('fetching', undefined);
  const file = await order.source(part.url);
  try {
    const options = {
      path: file.path,
      entry: file.entry,
      bytesMax: serverSettings.get(serverSecurityImportMaxSize),
      bytesSetting: serverSecurityImportMaxSize.key,
    };
    const open = async () => {
      const { pieces } = await openUnpacked(file.name, options);
      const { parsingLimitBytes } = settings;
      return parsingLimitBytes === undefined ? pieces : limited(pieces, parsingLimitBytes);
    };
    const unpacked = await openUnpacked(file.name, options);
    const format = part.format ?? detectFormat(unpacked.name, await headOf(unpacked.pieces));
    if (settings.probeOnly) return;
    reporter.step(`reading ${format}`, undefined);
    const job: ImportJob = {
      database,
      sink,
      runtime,
      reporter,
      settings,
      open,
      lineBytesMax: serverSettings.get(serverHttpBatchLineMaxSize),
      depthMax: serverSettings.get(serverHttpJsonMaxDepth),
      isNew,
    };
    await runImporter(format, job, part);
    await sink.flush();
  } finally {
    await file.dispose();
  }
}

/** Readers are loaded when somebody imports. */
async function runImporter(format: ImportFormat, job: ImportJob, part: ImportPart): Promise<void> {
  if (job.settings.mapping !== undefined && format !== 'json')
    throw new DatabaseError(
      'IllegalArgument',
      `import setting 'mapping' is of JSON files, and this one is ${format}`,
    );
  switch (format) {
    case 'csv':
      return (await import('../importers/csv.ts')).importCsv(job, part);
    case 'json':
      if (job.settings.mapping !== undefined)
        return (await import('../importers/mapped-json.ts')).importMappedJson(job, part);
      return (await import('../importers/json.ts')).importJson(job, part);
    case 'jsonl':
      return (await import('../importers/jsonl.ts')).importJsonl(job);
    case 'graphml':
      return (await import('../importers/graphml.ts')).importGraphml(job);
    case 'graphson':
      return (await import('../importers/graphson.ts')).importGraphson(job);
    case 'orientdb':
      return (await import('../importers/orientdb.ts')).importOrientdb(job);
  }
}

async function headOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    found.push(piece);
    length += piece.length;
    if (length >= headBytes) break;
  }
  return Buffer.concat(found).toString('utf8', 0, headBytes);
}

/** Whole lines within the first bytes of a file. */
async function* limited(
  pieces: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let left = bytesMax;
  for await (const piece of pieces) {
    if (piece.length <= left) {
      left -= piece.length;
      yield piece;
      continue;
    }
    const end = piece.subarray(0, left).lastIndexOf(10);
    yield piece.subarray(0, end + 1);
    return;
  }
}
