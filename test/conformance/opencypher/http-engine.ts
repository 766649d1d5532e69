import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseJson } from '#core/value/json-value.ts';
import { isList, isMap, kindOf, type Value, type ValueMap } from '#core/value/value.ts';
import { startServer, type ServerProcess } from '#test/support/server-process.ts';
import { answeredGraph, printAnswered } from './answered.ts';
import type { ConformanceEngine, QueryOutcome, WriteCounts } from './scenario-run.ts';
import type { GraphState } from './side-effects.ts';

/**
 * The server as a process of its own, asked by HTTP alone: rows from JSON, failures from the body of the refusal, writes from
 * `stats`. What HTTP does not tell is not compared: the type of a failure, the columns of no rows, the name of a column that is
 * a single record.
 */
export class HttpEngine implements ConformanceEngine, AsyncDisposable {
  readonly printer = { ignoresListOrder: false, textOf: String };
  readonly print = printAnswered;
  readonly #graphs: string;
  readonly #rootPath: string;
  readonly #server: ServerProcess;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #databaseCount = 0;
  #database = '';
  #scenarioCount = 0;

  private constructor(graphs: string, rootPath: string, server: ServerProcess) {
    this.#graphs = graphs;
    this.#rootPath = rootPath;
    this.#server = server;
  }

  static async start(graphs: string): Promise<HttpEngine> {
    const rootPath = mkdtempSync(join(tmpdir(), 'polyad-conformance-'));
    return new HttpEngine(
      graphs,
      rootPath,
      await startServer({ rootPath, rootPassword: password }),
    );
  }

  /** Types stay when their records are deleted, so each scenario that made some is followed by another database. */
  async clear(): Promise<void> {
    if (this.#database !== '' && this.#scenarioCount < scenariosMax) {
      this.#scenarioCount += 1;
      const emptied = await this.query('MATCH (n) DETACH DELETE n', new Map());
      if (!('message' in emptied) && (await this.#dropTypes())) return;
    }
    this.#scenarioCount = 0;
    const before = this.#database;
    this.#databaseCount += 1;
    this.#database = `suite${this.#databaseCount}`;
    await this.#control(`create database ${this.#database}`);
    if (before !== '') await this.#control(`drop database ${before}`);
  }

  async #dropTypes(): Promise<boolean> {
    const listed = await this.#ask(`query/${this.#database}`, {
      language: 'sql',
      command: 'SELECT name FROM schema:types',
    });
    const names = rowsOf(listed.body).map((row) => String(row.get('name')));
    if (names.length === 0) return true;
    const drops = names
      .sort((a, b) => b.length - a.length)
      .map((name) => `DROP TYPE \`${name.replaceAll('`', '\\`')}\` IF EXISTS UNSAFE`);
    const dropped = await this.#ask(`command/${this.#database}`, {
      language: 'sqlscript',
      command: drops.join(';\n'),
    });
    return dropped.status === 200;
  }

  async #control(command: string): Promise<void> {
    const { status, body } = await this.#ask('server', { command });
    if (status !== 200) throw new Error(`${command}: ${status} ${JSON.stringify(body)}`);
  }

  register(): never {
    throw new Error('procedures of a scenario cannot be registered over HTTP');
  }

  async query(text: string, parameters: ReadonlyMap<string, Value>): Promise<QueryOutcome> {
    const { status, body } = await this.#ask(`command/${this.#database}`, {
      language: 'cypher',
      command: text,
      limit: -1,
      ...(parameters.size > 0 && { params: new JsonText(jsonOf(parameters)) }),
    });
    if (status !== 200) return failureOf(status, body);
    const rows = rowsOf(body);
    const [first] = rows;
    const counts = body.get('stats');
    return {
      columns: first === undefined || isRecordRow(first) ? undefined : [...first.keys()],
      rows: rows.map((row) => (isRecordRow(row) ? [row] : [...row.values()])),
      counts: countsOf(counts),
    };
  }

  async state(): Promise<GraphState> {
    const records: ValueMap[] = [];
    for (const text of ['MATCH (n) RETURN n', 'MATCH ()-[r]->() RETURN r']) {
      const outcome = await this.query(text, new Map());
      if ('message' in outcome) throw new Error(`the graph cannot be read: ${outcome.message}`);
      for (const [value] of outcome.rows) records.push(value as ValueMap);
    }
    return answeredGraph(records, this.printer);
  }

  namedGraph(name: string): string {
    return readFileSync(`${this.#graphs}/${name}/${name}.cypher`, 'utf8');
  }

  #ask(path: string, fields: Readonly<Record<string, unknown>>): Promise<Answer> {
    const parts = Object.entries(fields).map(
      ([key, value]) =>
        `${JSON.stringify(key)}:${value instanceof JsonText ? value.text : JSON.stringify(value)}`,
    );
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          agent: this.#agent,
          port: this.#server.port,
          host: '127.0.0.1',
          method: 'POST',
          path: `/api/v1/${path}`,
          auth: `root:${password}`,
          headers: { 'content-type': 'application/json' },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const body = text === '' ? new Map() : parseJson(text);
            resolve({ status: answer.statusCode ?? 0, body: body as ValueMap });
          });
        },
      );
      asked.on('error', reject);
      asked.end(`{${parts.join(',')}}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#server.stop();
    rmSync(this.#rootPath, { recursive: true, force: true });
  }
}

const password = 'conformance-password';

/** Scenarios after which the database is made anew. */
const scenariosMax = 200;

interface Answer {
  readonly status: number;
  readonly body: ValueMap;
}

/** A part of a body that is written already. */
class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function rowsOf(body: ValueMap): readonly ValueMap[] {
  const rows = body.get('result') ?? null;
  if (!isList(rows)) throw new Error(`no rows in ${String(rows)}`);
  return rows as readonly ValueMap[];
}

function isRecordRow(row: ValueMap): boolean {
  return row.has('@rid') && row.has('@cat');
}

function countsOf(counts: Value | undefined): WriteCounts | undefined {
  if (counts === undefined) return undefined;
  const fields = counts as ValueMap;
  for (const name of [...counterNames, 'containsUpdates'])
    if (!fields.has(name)) throw new Error(`stats lack '${name}'`);
  return Object.fromEntries(
    counterNames.map((name) => [name, Number(fields.get(name))]),
  ) as unknown as WriteCounts;
}

const counterNames = [
  'nodesCreated',
  'nodesDeleted',
  'relationshipsCreated',
  'relationshipsDeleted',
  'propertiesSet',
  'labelsAdded',
  'labelsRemoved',
  'indexesAdded',
  'indexesRemoved',
  'constraintsAdded',
  'constraintsRemoved',
];

/** `UndefinedVariable: line 1, ...` with 400; what is found before the statement runs has an exception of its own. */
function failureOf(status: number, body: ValueMap): QueryOutcome {
  const message = String(body.get('detail') ?? body.get('error'));
  const detail = /^(\w+): /.exec(message)?.[1] ?? 'unnamed';
  const isFoundFirst = body.get('exception') === 'CommandSQLParsingException';
  return {
    type: undefined,
    phase: status !== 400 ? `status ${status}` : isFoundFirst ? 'compile time' : 'runtime',
    detail,
    message,
  };
}

/** A parameter as JSON: a float keeps its point. */
function jsonOf(value: Value): string {
  if (isList(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (isMap(value))
    return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${jsonOf(item)}`).join(',')}}`;
  if (typeof value === 'bigint') return String(value);
  if (value !== null && typeof value === 'object' && kindOf(value) === 'double') {
    const { number } = value as { readonly number: number };
    return Number.isInteger(number) ? `${number}.0` : String(number);
  }
  return JSON.stringify(value);
}
