import { resolve } from 'node:path';
import {
  loadCsvAllowFileUrls,
  loadCsvAllowRemoteUrls,
  loadCsvImportDirectory,
} from '#config/cypher-settings.ts';
import type { Settings } from '#config/effective-settings.ts';
import {
  serverHttpBatchLineMaxSize,
  serverSecurityImportMaxSize,
} from '#config/server-settings.ts';
import type { Effect } from '#core/effects.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Wait } from '#core/pausing-work.ts';
import type { Authorizer } from '#core/principal.ts';
import { openUnpacked } from '#platform/archive/packed-file.ts';
import type { RowFile } from '#query/operators/operator.ts';
import { CsvRows } from '../importers/csv-rows.ts';
import { textOf } from '../importers/lines.ts';
import type { StatementAsker } from '../statement/context.ts';
import type { StatementOperations } from './operated-database.ts';
import { openSource, shownUrl, type SourceFile } from './source.ts';

type Order = Parameters<StatementOperations['rowFile']>[0];
type Row = Exclude<ReturnType<RowFile['next']>, Wait | undefined>;

interface Surroundings {
  readonly settings: Settings;
  readonly paths: { root: string; exports: string; databases: string; closed: readonly string[] };
}

const securityOnly: ReadonlySet<Effect> = new Set<Effect>(['security']);

/** @throws DatabaseError `Forbidden` for who may not read files of the server (security.md 4.3) */
export function requireFilesOf(
  asker: StatementAsker | undefined,
  authorizer: Authorizer,
  database: string,
): void {
  if (asker === undefined)
    throw new DatabaseError('Forbidden', 'files of the server are read for users only');
  asker.judge?.(securityOnly);
  if (asker.principal.isRoot) return;
  authorizer.require(asker.principal, database, { effects: securityOnly, types: [] });
}

/**
 * The file of LOAD CSV (cypher.md 3.2), from where imports read and under the same rules. Piece by piece: memory does not grow with
 * the file.
 */
export class CsvFile implements RowFile {
  readonly name: string;
  readonly #order: Order;
  readonly #surroundings: Surroundings;
  readonly #abort = new AbortController();
  #source: SourceFile | undefined;
  #pieces: AsyncGenerator<readonly Row[]> | undefined;
  #rows: readonly Row[] = [];
  #position = 0;
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;
  #wait: Wait | undefined;
  #refusal: unknown;

  constructor(order: Order, surroundings: Surroundings) {
    this.#order = order;
    this.#surroundings = surroundings;
    this.name = shownUrl(order.url);
  }

  next(): Row | Wait | undefined {
    const row = this.#rows[this.#position];
    if (row !== undefined) {
      this.#position += 1;
      return row;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#isEnded) return undefined;
    this.#wait ??= { over: this.#more(), isWork: false, standStill() {} };
    return this.#wait;
  }

  close(): void {
    this.#isEnded = true;
    this.#rows = [];
    this.#abort.abort();
    if (this.#wait === undefined) void this.#dispose();
  }

  /** Never rejects. */
  async #more(): Promise<void> {
    try {
      this.#pieces ??= this.#read();
      const { value, done } = await this.#pieces.next();
      this.#rows = value ?? [];
      this.#position = 0;
      if (done === true) this.#isEnded = true;
    } catch (error) {
      this.#failure = { error: this.#told(error) };
    }
    this.#wait = undefined;
    if (this.#isEnded || this.#failure !== undefined) await this.#dispose();
  }

  /** What the system says of a file is told by its name; who may not read it is told no more than that. */
  #told(error: unknown): unknown {
    if (error instanceof DatabaseError || !(error instanceof Error)) return error;
    if (error === this.#refusal) return error;
    const { code = error.message } = error as NodeJS.ErrnoException;
    return new DatabaseError('CommandExecution', `cannot read '${this.name}': ${code}`, {
      cause: error,
    });
  }

  async *#read(): AsyncGenerator<readonly Row[]> {
    const { settings } = this.#surroundings;
    this.#source = await this.#opened();
    const { pieces } = await openUnpacked(this.#source.name, {
      path: this.#source.path,
      entry: this.#source.entry,
      bytesMax: settings.get(serverSecurityImportMaxSize),
      bytesSetting: serverSecurityImportMaxSize.key,
    });
    const { delimiter } = this.#order;
    const fieldMax = settings.get(serverHttpBatchLineMaxSize);
    const reader = new CsvRows({ delimiter, trims: false, fieldMax, escapes: true });
    const numbered = (rows: readonly (readonly (string | undefined)[])[]): readonly Row[] =>
      rows.map((fields, at) => ({
        fields: fields.map((field) => field ?? null),
        line: reader.lines[at] as number,
      }));
    for await (const text of textOf(pieces)) {
      if (this.#isEnded) return;
      yield numbered(reader.write(text));
    }
    yield numbered(reader.end());
  }

  /** Whoever judges the statement refuses with an error of its own. */
  #requireFiles(requireFiles: () => void): void {
    try {
      requireFiles();
    } catch (error) {
      this.#refusal = error;
      throw error;
    }
  }

  #opened(): Promise<SourceFile> {
    const { settings, paths } = this.#surroundings;
    const { url, requireFiles } = this.#order;
    const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase() ?? 'file';
    const isRemote = scheme === 'http' || scheme === 'https';
    if (isRemote) requireAllowed(settings, loadCsvAllowRemoteUrls);
    else if (scheme === 'file') {
      requireAllowed(settings, loadCsvAllowFileUrls);
      this.#requireFiles(requireFiles);
    } else throw new DatabaseError('Forbidden', `LOAD CSV reads no '${scheme}:'`);
    const directory = settings.get(loadCsvImportDirectory);
    return openSource(url, {
      settings,
      door: 'statement',
      rootPath: paths.root,
      exportsPath: paths.exports,
      closedDirectories: paths.closed,
      temporaryDirectory: paths.databases,
      within: directory === '' ? undefined : resolve(paths.root, directory),
      signal: this.#abort.signal,
      onRead: () => {},
    });
  }

  async #dispose(): Promise<void> {
    this.#rows = this.#isEnded && this.#failure === undefined ? this.#rows : [];
    const source = this.#source;
    this.#source = undefined;
    await this.#pieces?.return(undefined).catch(() => {});
    await source?.dispose().catch(() => {});
  }
}

function requireAllowed(settings: Settings, spec: typeof loadCsvAllowFileUrls): void {
  if (!settings.get(spec))
    throw new DatabaseError('Forbidden', `LOAD CSV of this URL is switched off by ${spec.key}`);
}
