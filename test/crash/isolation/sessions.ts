import { mulberry32 } from '../../bench/spine/data.ts';
import type { HttpClient } from '../../support/server-process.ts';
import { anomaliesOf, type Operation, type SeenTransaction } from './history.ts';

export interface SessionsOptions {
  readonly seed: number;
  readonly clients: number;
  readonly transactionsPerClient: number;
  readonly keyCount: number;
  readonly database: string;
}

export interface SessionsOutcome {
  readonly anomalies: readonly string[];
  readonly committed: number;
  readonly aborted: number;
}

const appendStatement = 'UPDATE L SET items = items || [:value] WHERE id = :key';

/** Random transactions of several clients over lists, in sessions and single statements, and what is wrong with their history. */
export async function runSessions(
  client: HttpClient,
  options: SessionsOptions,
): Promise<SessionsOutcome> {
  const { database, keyCount } = options;
  await client.server(`create database ${database}`);
  await client.sql(database, 'CREATE DOCUMENT TYPE L');
  await client.sql(database, 'CREATE PROPERTY L.id INTEGER');
  await client.sql(database, 'CREATE INDEX ON L (id) UNIQUE');
  for (let id = 0; id < keyCount; id += 1)
    await client.sql(database, 'INSERT INTO L SET id = :id, items = []', { id });
  const run = new Run(client, options);
  await Promise.all(Array.from({ length: options.clients }, (_, n) => run.client(n)));
  const rows = await client.sql(database, 'SELECT id, items FROM L');
  const last = new Map(rows.map((row) => [Number(row['id']), row['items'] as readonly number[]]));
  return {
    anomalies: anomaliesOf(run.history, last),
    committed: run.history.filter((seen) => seen.outcome === 'committed').length,
    aborted: run.history.filter((seen) => seen.outcome === 'aborted').length,
  };
}

class Run {
  readonly history: SeenTransaction[] = [];
  readonly #client: HttpClient;
  readonly #options: SessionsOptions;
  #nextId = 0;
  #nextValue = 1;

  constructor(client: HttpClient, options: SessionsOptions) {
    this.#client = client;
    this.#options = options;
  }

  async client(number: number): Promise<void> {
    const random = mulberry32(this.#options.seed * 1000 + number);
    for (let n = 0; n < this.#options.transactionsPerClient; n += 1) {
      const choice = random();
      if (choice < 0.15) await this.#readAll();
      else if (choice < 0.3) await this.#single(random);
      else if (choice < 0.45) await this.#script(random);
      else await this.#session(random, choice < 0.7 ? 'READ_COMMITTED' : 'REPEATABLE_READ');
    }
  }

  #key(random: () => number): number {
    return Math.floor(random() * this.#options.keyCount);
  }

  #note(
    level: SeenTransaction['level'],
    outcome: SeenTransaction['outcome'],
    operations: readonly Operation[],
  ): void {
    this.history.push({ id: this.#nextId++, level, outcome, operations });
  }

  /** All lists in one statement, which is one snapshot. */
  async #readAll(): Promise<void> {
    const rows = await this.#client.sql(this.#options.database, 'SELECT id, items FROM L');
    const operations = rows.map((row) => readOf(Number(row['id']), row['items']));
    this.#note('statement', 'committed', operations);
  }

  async #single(random: () => number): Promise<void> {
    const operation = { kind: 'append', key: this.#key(random), value: this.#nextValue++ } as const;
    const answer = await this.#send(appendStatement, operation, {});
    this.#note('statement', answer.status === 200 ? 'committed' : 'aborted', [operation]);
  }

  /** Several appends as one implicit transaction. */
  async #script(random: () => number): Promise<void> {
    const keys = [this.#key(random), this.#key(random)];
    const operations = keys.map(
      (key) => ({ kind: 'append', key, value: this.#nextValue++ }) as const,
    );
    const command = operations
      .map(({ key, value }) => `UPDATE L SET items = items || [${value}] WHERE id = ${key};`)
      .join('\n');
    const body = { language: 'sqlscript', command: `BEGIN;\n${command}\nCOMMIT RETRY 10;` };
    const answer = await this.#client.request('POST', `/command/${this.#options.database}`, body);
    this.#note('READ_COMMITTED', answer.status === 200 ? 'committed' : 'aborted', operations);
  }

  async #session(random: () => number, level: 'READ_COMMITTED' | 'REPEATABLE_READ'): Promise<void> {
    const { database } = this.#options;
    const begun = await this.#client.request('POST', `/begin/${database}`, {
      isolationLevel: level,
    });
    const headers = { 'service-session-id': begun.headers.get('service-session-id') ?? '' };
    const operations: Operation[] = [];
    const count = 1 + Math.floor(random() * 4);
    for (let n = 0; n < count; n += 1) {
      const key = this.#key(random);
      if (random() < 0.5) {
        const operation = { kind: 'append', key, value: this.#nextValue++ } as const;
        operations.push(operation);
        const answer = await this.#send(appendStatement, operation, headers);
        if (answer.status !== 200) return this.#note(level, 'aborted', operations);
      } else {
        const answer = await this.#send('SELECT items FROM L WHERE id = :key', { key }, headers);
        if (answer.status !== 200) return this.#note(level, 'aborted', operations);
        const [row] = (answer.body as { result: Record<string, unknown>[] }).result;
        operations.push(readOf(key, row?.['items']));
      }
    }
    const isGivenUp = random() < 0.1;
    const path = isGivenUp ? `/rollback/${database}` : `/commit/${database}`;
    const answer = await this.#client.request('POST', path, undefined, headers);
    const isCommitted = answer.status === 204 && !isGivenUp;
    this.#note(level, isCommitted ? 'committed' : 'aborted', operations);
  }

  #send(command: string, params: object, headers: Readonly<Record<string, string>>) {
    const body = { language: 'sql', command, params };
    return this.#client.request('POST', `/command/${this.#options.database}`, body, headers);
  }
}

function readOf(key: number, items: unknown): Operation {
  return { kind: 'read', key, values: Array.isArray(items) ? items.map(Number) : [] };
}
