import type { Log } from '#core/log.ts';
import type { Statement } from '#database/session.ts';
import type { LimitRequest } from './answer-limit.ts';

/** What is told of a run whose rows were cut (statement-run.ts). */
export interface CutRun {
  readonly statement: Statement;
  readonly limits: LimitRequest;
  readonly exchange: { readonly requestId: string };
}

const loggedTextsMax = 1000;

/** Says once per statement text that the default limit cut its rows (http-api.md 6.3). */
export class TruncationLog {
  readonly #log: Log;
  readonly #texts = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  report({ statement: { text }, limits, exchange: { requestId } }: CutRun, limit: number): void {
    if (limits.requested !== undefined || this.#texts.has(text)) return;
    if (this.#texts.size >= loggedTextsMax) this.#texts.clear();
    this.#texts.add(text);
    this.#log.info(`the default limit of ${limit} rows cut the rows of a statement`, {
      requestId,
      statement: text.slice(0, 120),
    });
  }
}
