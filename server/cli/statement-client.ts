import { type ApiClient, refusalOf, requireOk } from './api-client.ts';
import { parseAnswer, type Row } from './row-output.ts';

/** What a statement gave. */
export interface StatementAnswer {
  readonly rows: readonly Row[];
  /** There were more rows than the limit. */
  readonly isTruncated: boolean;
  readonly plan: string | undefined;
}

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
      method: 'POST',
      path: `/command/${encodeURIComponent(this.database)}`,
      headers: { 'content-type': 'application/json', ...this.#session() },
      body: JSON.stringify({ language, command, ...(limit !== undefined && { limit }) }),
      ...(signal && { signal }),
    });
    // The header is repeated as long as the session lives.
    if (this.#sessionId !== undefined && answer.headers[sessionHeader] === undefined)
      this.#sessionId = undefined;
    if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer.status, answer.text);
    const { result, truncated, explain } = parseAnswer(answer.text);
    return {
      rows: Array.isArray(result) ? (result as Row[]) : [],
      isTruncated: truncated === true,
      plan: typeof explain === 'string' ? `${explain.trimEnd()}\n` : undefined,
    };
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

  #post(action: string, headers: Readonly<Record<string, string>> = {}) {
    const path = `/${action}/${encodeURIComponent(this.database)}`;
    return this.#client.send({ method: 'POST', path, headers, body: '' });
  }

  #session(): Record<string, string> {
    return this.#sessionId === undefined ? {} : { [sessionHeader]: this.#sessionId };
  }
}
