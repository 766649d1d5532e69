import { serverHttpStreamingKeepAlive } from '#config/server-settings.ts';
import type { Cancel } from '#core/runtime.ts';
import { AnswerSink } from './answer-sink.ts';
import { negotiateCoding } from './compression.ts';
import { refusalOf, shownDetail } from './errors.ts';
import { JsonWriter } from './json-writer.ts';
import { echoSession, type StatementRun } from './statement-run.ts';

const flushBytes = 8 * 1024;
const flushMs = 50;

const headers = ['Content-Type', 'application/x-ndjson', 'Cache-Control', 'no-store'];

/**
 * The lines of a streamed answer (http-api.md 7). Its headers go out with the first line, or with a blank one when there is none for
 * `server.httpStreamingKeepAlive`; later lines at 8 KiB or 50 ms, blank ones whenever nothing was sent for as long. To be stopped
 * in any case.
 */
export class LineSink {
  /** Holds lines that were not sent yet. */
  readonly writer: JsonWriter;
  readonly #run: StatementRun;
  #sink: AnswerSink | undefined;
  #lastWriteMs: number;
  #stopFlushTimer: Cancel | undefined;
  #stopKeepAlive: Cancel = () => {};

  constructor(run: StatementRun) {
    const { names, runtime } = run.exchange.door;
    this.#run = run;
    this.writer = new JsonWriter(run.database.formats(), flushBytes, names);
    this.#lastWriteMs = runtime.clock.monotonicMs();
    this.#keepAlive(run.exchange.door.settings.get(serverHttpStreamingKeepAlive));
  }

  stop(): void {
    this.#stopFlushTimer?.();
    this.#stopKeepAlive();
  }

  /** What was written; resolves when the client has caught up. */
  async send(): Promise<void> {
    if (this.#beginFlush()) await this.#open().send(this.writer);
  }

  /** Between batches: at once from 8 KiB on, else when nothing else was sent for 50 ms. */
  async sendWhenDue(): Promise<void> {
    if (this.writer.length >= flushBytes) await this.send();
    else if (this.writer.length > 0) {
      const { timers } = this.#run.exchange.door.runtime;
      this.#stopFlushTimer ??= timers.after(flushMs, () => this.#flush());
    }
  }

  /** A row that is written in pieces, behind what was written before. */
  async sendLongRow(pieces: Iterable<void>): Promise<void> {
    this.#beginFlush();
    await this.#open().sendInPieces(pieces, this.writer);
  }

  /** @param lastLine of JSON */
  end(lastLine: object): void {
    this.writer.raw(Buffer.from(`${JSON.stringify(lastLine)}\n`));
    const sink = this.#open();
    this.#flush();
    sink.end();
  }

  /** Ends the answer with a line that tells the failure. @throws the error when nothing was sent yet, or nobody reads it */
  fail(error: unknown): void {
    const sink = this.#sink;
    if (sink?.isInRow) sink.cut();
    if (sink === undefined || sink.clientLeft) throw error;
    const { exchange } = this.#run;
    const refusal = refusalOf(error);
    const { status, error: text, exception, exceptionArgs, position } = refusal;
    const { requestId } = exchange;
    if (status >= 500) exchange.reportServerError(error, refusal);
    const message = shownDetail(refusal, requestId, exchange.door.limits.hidesDetails) ?? text;
    const told = {
      message,
      status,
      exception,
      exceptionArgs: exceptionArgs ?? null,
      position,
      requestId,
    };
    this.end({ error: told });
  }

  #open(): AnswerSink {
    if (this.#sink === undefined) {
      const { exchange, database, sessionId } = this.#run;
      echoSession(exchange, database, sessionId);
      const coding = negotiateCoding(exchange.request.headers['accept-encoding']);
      this.#sink = new AnswerSink(exchange, headers, coding);
    }
    return this.#sink;
  }

  #flush(): void {
    if (this.#beginFlush()) this.#open().writeFrom(this.writer);
  }

  /** @returns false when there is nothing to be sent */
  #beginFlush(): boolean {
    this.#stopFlushTimer?.();
    this.#stopFlushTimer = undefined;
    if (this.writer.length === 0) return false;
    this.#lastWriteMs = this.#run.exchange.door.runtime.clock.monotonicMs();
    return true;
  }

  #keepAlive(everyMs: number): void {
    const { door, response } = this.#run.exchange;
    const { clock, timers } = door.runtime;
    const look = () => {
      if (response.destroyed) return;
      const idleMs = clock.monotonicMs() - this.#lastWriteMs;
      if (idleMs >= everyMs - 1 && this.writer.length === 0) {
        this.#open().writeNothing();
        this.#lastWriteMs = clock.monotonicMs();
      }
      const waitMs = Math.max(1, everyMs - Math.min(idleMs, everyMs - 1));
      this.#stopKeepAlive = timers.after(waitMs, look);
    };
    this.#stopKeepAlive = timers.after(everyMs, look);
  }
}
