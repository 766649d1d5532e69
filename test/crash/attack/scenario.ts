import { type HttpAnswer, HttpClient, RefusedRequest } from '../../support/server-process.ts';
import type { Failures } from './failures.ts';

/** What became of one request: its answer, or none because the server stopped first. */
export type Sent =
  | { readonly kind: 'done'; readonly answer: HttpAnswer }
  /** Certainly without effect: 4xx, or 503 (house decision 9). */
  | { readonly kind: 'refused'; readonly answer: HttpAnswer }
  /** No answer, or one that leaves it open. */
  | { readonly kind: 'open'; readonly answer: HttpAnswer | undefined };

export type Row = Readonly<Record<string, unknown>>;

/**
 * One kind of work that goes on while the server is stopped, in databases of its own. It keeps what was acknowledged and what
 * was open, and compares both with what is found after the next start.
 */
export interface Scenario {
  readonly name: string;
  prepare(attack: Attack): Promise<void>;
  /** Works until the server is gone. */
  load(attack: Attack): Promise<void>;
  /** @returns one sentence per violation; what was open is settled by what is there */
  verify(attack: Attack): Promise<string[]>;
}

export interface AttackTools {
  readonly port: number;
  readonly rootPath: string;
  readonly password: string;
  readonly random: () => number;
  readonly remarks: Map<string, number>;
  readonly failures: Failures;
}

/** What a scenario works with: the server of this round, chance, and a place for remarks. */
export class Attack {
  readonly port: number;
  readonly rootPath: string;
  readonly client: HttpClient;
  /** Of root, for what `client` cannot send. */
  readonly authorization: string;
  readonly random: () => number;
  /** Statuses and sentences that were not expected, with counts. */
  readonly remarks: Map<string, number>;
  /** Answers of a server that failed; the attack ends with them. */
  readonly failures: Failures;
  #isOver = false;

  constructor(tools: AttackTools) {
    this.port = tools.port;
    this.rootPath = tools.rootPath;
    this.client = new HttpClient(tools.port, 'root', tools.password);
    this.authorization = `Basic ${Buffer.from(`root:${tools.password}`).toString('base64')}`;
    this.random = tools.random;
    this.remarks = tools.remarks;
    this.failures = tools.failures;
  }

  /** Makes a database, and what the statements make in it. */
  async create(database: string, ...statements: readonly string[]): Promise<void> {
    const command = `create database ${database}`;
    const answer = await this.client.server(command);
    if (answer.status !== 200) throw new RefusedRequest(answer, command);
    for (const statement of statements) await this.rows(database, statement);
  }

  /** A request whose body or answer is not one piece of JSON. */
  post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | Iterable<Uint8Array>,
  ): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}/api/v1/${path}`, {
      method: 'POST',
      headers: { ...headers, authorization: this.authorization },
      body: typeof body === 'string' ? body : ReadableStream.from(body),
      duplex: 'half',
    } as RequestInit);
  }

  /** True once a request found no server: loads end then. */
  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
  }

  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)];
  }

  remark(text: string): void {
    this.remarks.set(text, (this.remarks.get(text) ?? 0) + 1);
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    client: HttpClient = this.client,
  ): Promise<Sent> {
    let answer: HttpAnswer;
    try {
      answer = await client.request(method, path, body, headers);
    } catch {
      this.#isOver = true;
      return { kind: 'open', answer: undefined };
    }
    if (answer.status < 300) return { kind: 'done', answer };
    if (answer.status >= 500) {
      const request = `${answer.status} for ${method} ${path}`;
      this.failures.judge({ request, sent: body, answer: answer.body });
    }
    if (answer.status === 503) {
      // Also what a stopping server says to everything new; without a pause that is a busy loop.
      await new Promise((done) => setTimeout(done, 2));
      return { kind: 'refused', answer };
    }
    if (answer.status < 500) return { kind: 'refused', answer };
    this.remark(`${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`);
    return { kind: 'open', answer };
  }

  /** One SQL statement by `/command`. */
  sql(database: string, command: string, params: unknown = {}, more: object = {}): Promise<Sent> {
    const body = { language: 'sql', command, params, limit: -1, ...more };
    return this.send('POST', `/command/${database}`, body);
  }

  server(command: string, more: object = {}): Promise<Sent> {
    return this.send('POST', '/server', { command, ...more });
  }

  /** The rows of a statement that must succeed. */
  rows(database: string, command: string, params: unknown = {}): Promise<readonly Row[]> {
    return this.client.sql(database, command, params);
  }
}

export function resultOf(answer: HttpAnswer): readonly Row[] {
  return (answer.body as { result: readonly Row[] }).result;
}

/** What CHECK DATABASE has to say, and every index that differs from a scan of its type. */
export async function databaseViolations(attack: Attack, database: string): Promise<string[]> {
  const violations: string[] = [];
  const [check] = await attack.rows(database, 'CHECK DATABASE');
  if (check?.['totalErrors'] !== 0) {
    violations.push(`CHECK DATABASE of ${database}: ${JSON.stringify(check).slice(0, 600)}`);
  }
  const types = await attack.rows(database, 'SELECT name, records, indexes FROM schema:types');
  for (const type of types) {
    const name = String(type['name']);
    const [counted] = await attack.rows(database, `SELECT count(*) AS n FROM \`${name}\``);
    const records = await attack.rows(database, `SELECT @rid, * FROM \`${name}\``);
    if (counted?.['n'] !== records.length) {
      violations.push(`count(*) of ${name} is ${counted?.['n']}, a scan gives ${records.length}`);
    }
    for (const index of type['indexes'] as readonly Row[]) {
      violations.push(...(await indexViolations(attack, database, index, records)));
    }
  }
  return violations;
}

async function indexViolations(
  attack: Attack,
  database: string,
  index: Row,
  records: readonly Row[],
): Promise<string[]> {
  const name = String(index['name']);
  const properties = index['properties'] as readonly string[];
  const entries = await attack.rows(database, `SELECT FROM index:\`${name}\``);
  const expected = new Set<string>();
  for (const record of records) {
    const key = properties.map((property) => record[property]);
    if (key.every((part) => part !== undefined && part !== null)) {
      expected.add(`${record['@rid']}=${JSON.stringify(key)}`);
    }
  }
  const violations: string[] = [];
  for (const entry of entries) {
    const key = Array.isArray(entry['key']) ? entry['key'] : [entry['key']];
    const text = `${entry['rid']}=${JSON.stringify(key)}`;
    if (!expected.delete(text)) violations.push(`index ${name} has a wrong entry ${text}`);
  }
  for (const missing of expected) violations.push(`index ${name} lacks ${missing}`);
  return violations.slice(0, 5);
}

/** Every edge stands in the lists of both of its ends, and the lists hold nothing else. */
export async function edgeViolations(
  attack: Attack,
  database: string,
  vertexType: string,
  edgeType: string,
): Promise<string[]> {
  const violations: string[] = [];
  const edges = await attack.rows(database, `SELECT @rid, @out, @in FROM ${edgeType}`);
  const lists = await attack.rows(
    database,
    `SELECT @rid, outE('${edgeType}').@rid AS o, inE('${edgeType}').@rid AS i FROM ${vertexType}`,
  );
  const listed = new Set<string>();
  for (const row of lists) {
    for (const rid of row['o'] as readonly string[]) listed.add(`${row['@rid']}>${rid}`);
    for (const rid of row['i'] as readonly string[]) listed.add(`${row['@rid']}<${rid}`);
  }
  for (const edge of edges) {
    if (!listed.delete(`${edge['@out']}>${edge['@rid']}`))
      violations.push(`edge ${edge['@rid']} is not in the out list of ${edge['@out']}`);
    if (!listed.delete(`${edge['@in']}<${edge['@rid']}`))
      violations.push(`edge ${edge['@rid']} is not in the in list of ${edge['@in']}`);
  }
  for (const rest of listed) violations.push(`the list entry ${rest} has no edge`);
  return violations.slice(0, 10);
}
