import type { Cancel } from '#core/runtime.ts';
import type { Exchange } from './exchange.ts';
import { refusalOf, shownDetail } from './errors.ts';

const keepAliveMs = 15_000;
const headers: readonly string[] = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache',
  'X-Accel-Buffering',
  'no',
];

/**
 * An answer as server-sent events, one `data:` line each (http-api.md 18.6). It begins with the first event; a failure before
 * that is an ordinary answer. A client that does not read misses events, so nothing piles up.
 */
export class EventStream {
  readonly #exchange: Exchange;
  #cancelKeepAlive: Cancel | undefined;
  #hasBegun = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  send(event: Readonly<Record<string, unknown>>): void {
    this.#begin();
    const { response } = this.#exchange;
    if (!response.writableNeedDrain && response.writable)
      response.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  /** The last event. */
  complete(event: Readonly<Record<string, unknown>>): void {
    this.#begin();
    this.#end({ status: 'completed', ...event });
  }

  /** @returns false when nothing was sent yet: the failure is to be answered in the ordinary way */
  fail(error: unknown): boolean {
    if (!this.#hasBegun) return false;
    const refusal = refusalOf(error);
    const { door, requestId } = this.#exchange;
    if (refusal.status >= 500) this.#exchange.reportServerError(error, refusal);
    const detail = shownDetail(refusal, requestId, door.limits.hidesDetails);
    this.#end({ status: 'error', message: detail ?? refusal.error });
    return true;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { response } = this.#exchange;
    if (this.#exchange.isAnswered) return;
    response.writeHead(200, this.#exchange.headersOf(headers, undefined));
    this.#exchange.connection.writeNothing = () => this.#writeComment();
    this.#keepAlive();
  }

  #writeComment(): void {
    const { response } = this.#exchange;
    if (!response.writableNeedDrain && response.writable) response.write(': keep-alive\n\n');
  }

  #keepAlive(): void {
    const { timers } = this.#exchange.door.runtime;
    this.#cancelKeepAlive = timers.after(keepAliveMs, () => {
      this.#writeComment();
      this.#keepAlive();
    });
  }

  #end(event: Readonly<Record<string, unknown>>): void {
    this.#cancelKeepAlive?.();
    const { response } = this.#exchange;
    if (response.writable) response.end(`data: ${JSON.stringify(event)}\n\n`);
  }
}
