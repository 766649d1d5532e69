import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '#core/log.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import type { Value } from '#core/value/value.ts';
import { Settings } from '#config/effective-settings.ts';
import { makeDatabases } from '#database/catalogue/make-databases.ts';
import type { DatabaseHandle, ResultStream } from '#database/session.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { sqlFrontend } from '#language/sql/frontend.ts';
import { sqlScriptFrontend } from '#language/sqlscript/frontend.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { type PlainRow, plainValue } from '#test/database/support/plain-values.ts';

/** A database in a directory of its own, with SQL and nothing else of a server. */
export interface SqlDatabase extends AsyncDisposable {
  readonly handle: DatabaseHandle;
  /** Rows; one of named columns is a map of them. */
  rows(text: string, options?: SqlOptions): Promise<readonly Value[]>;
  /** Rows as plain objects. */
  run(text: string, options?: SqlOptions): Promise<readonly PlainRow[]>;
}

export interface SqlOptions {
  readonly parameters?: ReadonlyMap<string, Value>;
  /** As `/query` runs it. */
  readonly mustBeIdempotent?: boolean;
}

const allowAll: Authorizer = { require() {}, canAccess: () => true, canRead: () => true };
const root: Principal = { name: 'root', isRoot: true, via: 'password' };

export async function openSqlDatabase(): Promise<SqlDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-sql-'));
  const { databases } = makeDatabases({
    directory,
    settings: new Settings(),
    runtime: systemRuntime,
    log: silentLog,
    authorizer: allowAll,
    languages: new LanguageRegistry([sqlFrontend, sqlScriptFrontend]),
    serverVersion: '0.0.0',
    heapBytesMax: 1024 ** 3,
  });
  await databases.start();
  await databases.create('test');
  const handle = databases.open('test');
  const rows = async (text: string, options: SqlOptions = {}): Promise<readonly Value[]> => {
    const stream = await handle.run(
      { language: 'sql', text, parameters: options.parameters ?? new Map() },
      {
        principal: root,
        mustBeIdempotent: options.mustBeIdempotent ?? false,
        signal: new AbortController().signal,
      },
    );
    return rowsOf(stream);
  };
  return {
    handle,
    rows,
    run: async (text, options) =>
      (await rows(text, options)).map((row) => plainValue(row) as PlainRow),
    async [Symbol.asyncDispose]() {
      await databases.shutdown();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function rowsOf(stream: ResultStream): Promise<readonly Value[]> {
  const rows: Value[] = [];
  const { shape } = stream;
  try {
    for (let batch = await stream.nextBatch(); batch; batch = await stream.nextBatch()) {
      const { values, rowCount } = batch;
      if (shape.kind === 'value') rows.push(...values);
      else
        for (let row = 0; row < rowCount; row += 1)
          rows.push(
            new Map(
              shape.names.map((name, at): [string, Value] => [
                name,
                values[row * shape.names.length + at] ?? null,
              ]),
            ),
          );
    }
    return rows;
  } finally {
    stream.close();
  }
}
