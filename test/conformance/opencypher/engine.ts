import { readFileSync } from 'node:fs';
import { DatabaseError } from '#core/errors.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { ResultShape } from '#database/session.ts';
import { isMap, isRecord, type Value } from '#core/value/value.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';
import { type ActualPrinter, printActual } from './actual.ts';
import { tableProcedure } from './table-procedure.ts';
import type {
  ConformanceEngine,
  QueryOutcome,
  TableProcedure,
  WriteCounts,
} from './scenario-run.ts';
import { type GraphState, graphState } from './side-effects.ts';

/** Scenarios after which the database is made anew: types stay when their records are deleted. */
const scenariosMax = 60;

/** The server in process: one database, emptied before each scenario. */
export class ServerEngine implements ConformanceEngine, AsyncDisposable {
  readonly printer: ActualPrinter = {
    ignoresListOrder: false,
    textOf: (value) => textOf(value, defaultTemporalFormats),
  };
  readonly print = printActual;
  readonly #graphs: string;
  #test: TestDatabase | undefined;
  #scenarioCount = 0;
  readonly #registered: (() => void)[] = [];

  /** @param graphs the directory of the named graphs */
  constructor(graphs: string) {
    this.#graphs = graphs;
  }

  async clear(): Promise<void> {
    this.#scenarioCount += 1;
    for (const takeAway of this.#registered.splice(0)) takeAway();
    if (this.#test === undefined || this.#scenarioCount % scenariosMax === 0) {
      await this.#test?.close();
      this.#test = await openTestDatabase();
      return;
    }
    const outcome = await this.query('MATCH (n) DETACH DELETE n', new Map());
    if ('message' in outcome) {
      await this.#test.close();
      this.#test = await openTestDatabase();
      return;
    }
    await this.#dropTypes(this.#test);
  }

  /** Labels and relationship types share one space of names: those of a scenario must not meet those of the next. */
  async #dropTypes(test: TestDatabase): Promise<void> {
    const types = await test.run('SELECT name FROM schema:types');
    for (const name of types.map((row) => String(row['name'])).sort((a, b) => b.length - a.length))
      await test.run(`DROP TYPE \`${name}\` IF EXISTS UNSAFE`).catch(() => {});
  }

  register(procedure: TableProcedure): void {
    this.#registered.push(serverProcedures.register(tableProcedure(procedure)));
  }

  async query(text: string, parameters: ReadonlyMap<string, Value>): Promise<QueryOutcome> {
    const test = this.#test as TestDatabase;
    try {
      const result = await test.stream(text, Object.fromEntries(parameters), {}, 'cypher');
      try {
        const { shape } = result;
        const columns = namesOf(shape);
        const width = columns.length;
        const rows: (readonly Value[])[] = [];
        for (;;) {
          const batch = await result.nextBatch();
          if (batch === undefined) break;
          if (width === 0) continue;
          for (let at = 0; at < batch.rowCount; at += 1)
            rows.push(batch.values.slice(at * width, (at + 1) * width).map(columnOf(shape)));
        }
        return { columns, rows, counts: result.summary().stats as WriteCounts | undefined };
      } finally {
        result.close();
      }
    } catch (error) {
      return failureOf(error);
    }
  }

  async state(): Promise<GraphState> {
    const records: StoredRecord[] = [];
    for (const text of ['MATCH (n) RETURN n', 'MATCH ()-[r]->() RETURN r']) {
      const outcome = await this.query(text, new Map());
      if ('message' in outcome) throw new Error(`the graph cannot be read: ${outcome.message}`);
      for (const [value] of outcome.rows)
        if (value !== undefined && isRecord(value)) records.push(value);
    }
    return graphState(records, this.printer);
  }

  namedGraph(name: string): string {
    return readFileSync(`${this.#graphs}/${name}/${name}.cypher`, 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#test?.close();
  }
}

/** A row that is a single record has the name of its only column beside it. */
function namesOf(shape: ResultShape): readonly string[] {
  if (shape.kind === 'columns') return shape.names;
  return ['name' in shape ? String(shape.name) : ''];
}

/** A row that is to be a record and is null says so under the name of its column. */
function columnOf(shape: ResultShape): (value: Value) => Value {
  if (shape.kind === 'columns') return (value) => value;
  return (value) => (isMap(value) && value.get(shape.name ?? '') === null ? null : value);
}

function failureOf(error: unknown): QueryOutcome {
  if (!(error instanceof Error)) return unknownFailure(String(error));
  if (!(error instanceof DatabaseError)) return unknownFailure(error.stack ?? error.message);
  const { type, phase, detail } = error.failure ?? unknownFailure('');
  return { type, phase, detail, message: error.message };
}

function unknownFailure(message: string) {
  return { type: 'Error', phase: 'unknown', detail: 'unnamed', message };
}
