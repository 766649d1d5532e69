import type { Readable } from 'node:stream';
import { type ApiClient, refusalOf, refusalTold, requireOk } from './api-client.ts';
import { linesOf, textOf } from './lines.ts';
import { parseAnswer, type Row } from './row-output.ts';
import type { Place } from './statement-place.ts';
import { CommandFailure, exitCodes } from './terminal.ts';

/** What a statement gave. */
export interface StatementAnswer {
  readonly rows: readonly Row[];
  /** There were more rows than the limit. */
  readonly isTruncated: boolean;
  readonly plan: string | undefined;
  readonly warnings: readonly AnswerWarning[];
}

/** What the server says beside a result (`warnings` of an answer). */
export interface AnswerWarning {
  readonly code: string;
  readonly message: string;
  readonly position?: Place;
}

/** What is known of a statement behind its rows. */
export type StatementEnd = Omit<StatementAnswer, 'rows'>;

/** A line of a streamed answer that is no row. */
interface LastLine {
  readonly stats?: { readonly truncated?: boolean; readonly warnings?: readonly AnswerWarning[] };
  readonly error?: Readonly<Record<string, unknown>> & { readonly status: number };
}

const rowStart = '{"record":';
/** What begins a statement whose rows can come one by one; the server says it of the others. */
const reads = /^(?:select|match|traverse|with|unwind|call|return|optional)\b/iu;
/** A plan is no stream of rows; PROFILE of Cypher has rows as well. */
const tellsPlan = /^(?:explain|profile)\b/iu;
/** Blanks and comments. */
const beforeWords = /^(?:\s+|--[^\n]*(?:\n|$)|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/u;

const sessionHeader = 'service-session-id';

/** Statements on one database, alone or in a transaction session. */
export class StatementClient {
  readonly #client: ApiClient;
  #sessionId: string | undefined;
  database: string;
  language: string;
  limit: number | undefined;

  constructor(
    client: ApiClient,
    given: {
      readonly database: string;
      readonly language: string;
      readonly limit: number | undefined;
    },
  ) {
    this.#client = client;
    this.database = given.database;
    this.language = given.language;
    this.limit = given.limit;
  }

  get isInTransaction(): boolean {
    return this.#sessionId !== undefined;
  }

  /** @throws CommandFailure with the server's words; an Error named `AbortError` when the signal was aborted */
  async run(command: string, signal?: AbortSignal): Promise<StatementAnswer> {
    const { language, limit } = this;
    const answer = await this.#client.send({
      ...this.#request({ language, command, ...(limit !== undefined && { limit }) }),
      ...(signal && { signal }),
    });
    // The header is repeated as long as the session lives.
    if (this.#sessionId !== undefined && answer.headers[sessionHeader] === undefined)
      this.#sessionId = undefined;
    if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer.status, answer.text);
    const { result, truncated, explain, warnings } = parseAnswer(answer.text);
    return {
      rows: Array.isArray(result) ? (result as Row[]) : [],
      isTruncated: truncated === true,
      plan: typeof explain === 'string' ? `${explain.trimEnd()}\n` : undefined,
      warnings: (warnings ?? []) as readonly AnswerWarning[],
    };
  }

  /**
   * As `run`, outside of a session and without a limit unless there is one: `take` gets the rows as they come, as JSON. Those of
   * statements that write come when all is done, and plans are in what it returns.
   */
  async stream(command: string, take: (row: string) => Promise<void>): Promise<StatementEnd> {
    const { language, limit = -1 } = this;
    const words = command.replace(beforeWords, '');
    const isQuery = language.startsWith('sql') ? reads.test(words) : !tellsPlan.test(words);
    if (isQuery) {
      const request = this.#request({ language, command, limit });
      const headers = { ...request.headers, accept: 'application/x-ndjson' };
      const answer = await this.#client.open({ ...request, headers });
      const status = answer.statusCode ?? 0;
      if (status === 200) return takeLines(answer, take);
      const text = await textOf(answer);
      // Nothing was executed yet.
      if (!/QueryNotIdempotentException|"EXPLAIN produces a plan/u.test(text))
        throw refusalOf(status, text);
    }
    const given = this.limit;
    this.limit = limit;
    try {
      const { rows, ...end } = await this.run(command);
      for (const row of rows) await take(JSON.stringify(row));
      return end;
    } finally {
      this.limit = given;
    }
  }

  async begin(): Promise<void> {
    const answer = requireOk(await this.#post('begin'));
    this.#sessionId = String(answer.headers[sessionHeader]);
  }

  /** Ends the transaction, whatever comes of it. */
  async end(how: 'commit' | 'rollback'): Promise<void> {
    const headers = this.#session();
    this.#sessionId = undefined;
    requireOk(await this.#post(how, headers));
  }

  #request(fields: object) {
    return {
      method: 'POST',
      path: `/command/${encodeURIComponent(this.database)}`,
      headers: { 'content-type': 'application/json', ...this.#session() },
      body: JSON.stringify(fields),
      // A session ends with the leadership: what was done in it is gone.
      isRepeatable: this.#sessionId === undefined,
    } as const;
  }

  #post(action: string, headers: Readonly<Record<string, string>> = {}) {
    const path = `/${action}/${encodeURIComponent(this.database)}`;
    return this.#client.send({ method: 'POST', path, headers, body: '' });
  }

  #session(): Record<string, string> {
    return this.#sessionId === undefined ? {} : { [sessionHeader]: this.#sessionId };
  }
}

async function takeLines(
  answer: Readable,
  take: (row: string) => Promise<void>,
): Promise<StatementEnd> {
  for await (const line of linesOf(answer)) {
    if (line.startsWith(rowStart)) await take(line.slice(rowStart.length, -1));
    else if (line !== '') return endOf(JSON.parse(line));
  }
  throw new CommandFailure(exitCodes.failed, 'the server ended the answer before it was complete');
}

function endOf({ stats, error }: LastLine): StatementEnd {
  if (error !== undefined) throw refusalTold(error.status, { ...error, error: error['message'] });
  return {
    isTruncated: stats?.truncated === true,
    plan: undefined,
    warnings: stats?.warnings ?? [],
  };
}
