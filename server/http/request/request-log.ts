import { DatabaseError } from '#core/errors.ts';
import type { ServerEvents } from '#control/event-log.ts';
import type { Clock } from '#core/runtime.ts';
import type { Exchange } from '../answer/exchange.ts';

const pathLengthMax = 120;

/**
 * One line at level debug when an answer was sent (http-api.md 23). Never headers or bodies; of a path only its beginning,
 * since the GET form holds a statement.
 */
export function logRequest(exchange: Exchange, elapsedMs: number): void {
  const { request, response, principal, requestId, door } = exchange;
  door.log.debug('request', {
    method: request.method,
    path: request.url?.split('?', 1)[0]?.slice(0, pathLengthMax),
    status: response.statusCode,
    complete: response.writableFinished,
    ms: Math.round(elapsedMs * 10) / 10,
    user: principal.name || undefined,
    requestId,
  });
}

const windowMs = 60_000;
const reportsPerWindowMax = 20;

/** Reports refused rights to the server event log, a few a minute: whoever asks in a loop must not fill the disk. */
export class DenialReports {
  readonly #events: ServerEvents;
  readonly #clock: Clock;
  #windowStartMs = 0;
  #count = 0;

  constructor(events: ServerEvents, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  /** Reports `error` if it is the refusal of a right. */
  consider(error: unknown, requestId: string): void {
    if (!(error instanceof DatabaseError) || error.code !== 'Forbidden') return;
    const now = this.#clock.monotonicMs();
    if (now - this.#windowStartMs > windowMs || this.#count === 0) {
      this.#windowStartMs = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= reportsPerWindowMax)
      this.#events.report('WARNING', 'Security', `Denied: ${error.message}`, null, requestId);
  }
}
