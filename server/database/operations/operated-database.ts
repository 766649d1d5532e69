import type { SettingsReader } from '#config/effective-settings.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { RowFile } from '#query/operators/operator.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { BulkLoader } from '../bulk/bulk-loader.ts';
import type { OperationCall } from '../progress/operation-run.ts';
import type { BulkLoadOptions } from '../bulk/bulk-loader.ts';

/** An open database as operations see it. */
export interface OperatedDatabase {
  readonly name: string;
  readonly engine: StorageEngine;
  readonly state: DatabaseState;
  readonly settings: SettingsReader;
  formats(): TemporalFormats;
  /** Persists a setting of the database. */
  setSetting(key: string, text: string): Promise<void>;
  bulkLoader(options?: BulkLoadOptions): BulkLoader;
  close(why: 'closed'): Promise<void>;
}

/** The operations that are SQL statements. */
export interface StatementOperations {
  /** @returns the row of the statement */
  run(database: OperatedDatabase, call: OperationCall): Promise<ValueMap>;
  /** LOAD CSV. @param requireFiles throws for who may not read files of the server */
  rowFile(order: {
    readonly url: string;
    readonly delimiter: string;
    readonly requireFiles: () => void;
  }): RowFile;
}
