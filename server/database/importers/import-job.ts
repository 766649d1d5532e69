import type { Value } from '#core/value/value.ts';
import type { Runtime } from '#core/runtime.ts';
import type { OperatedDatabase } from '../operations/operated-database.ts';
import type { ProgressReporter } from '../progress/progress-registry.ts';
import type { ImportSettings } from './import-settings.ts';
import type { ImportSink } from './import-sink.ts';

/** What every importer works on. */
export interface ImportJob {
  readonly database: OperatedDatabase;
  readonly sink: ImportSink;
  readonly runtime: Runtime;
  readonly reporter: ProgressReporter;
  readonly settings: ImportSettings;
  /** The unpacked file from its beginning; may be called several times. */
  readonly open: () => Promise<AsyncIterable<Uint8Array>>;
  readonly lineBytesMax: number;
  readonly depthMax: number;
  /** The database is made by the import, so what an export says of it holds. */
  readonly isNew: boolean;
}

/** A JSON value that should be a text. */
export function textOr(value: Value | undefined, otherwise: string): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : otherwise;
}
