import { serverHttpStreamingKeepAlive, serverMaxSnapshotAge } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Cancel } from '#core/runtime.ts';
import type { ResultBatch, ResultStream } from '#database/session.ts';
import { AnswerSink } from './answer-sink.ts';
import { negotiateCoding, parseQualities } from './compression.ts';
import type { Exchange } from './exchange.ts';
import { badRequest, HttpRefusal, refusalOf } from './errors.ts';
import { pieceBytes } from './json-pieces.ts';
import { JsonWriter } from './json-writer.ts';
import { recordSerializer } from './serializers/record.ts';
import { lineFrame, type RowSerializer, writeShortRow } from './serializers/row-serializer.ts';
import { echoSession, limitOf, start } from './statement-run.ts';
import type { StatementRun } from './statement-run.ts';
import { tooManyRows } from './answer-limit.ts';

/*
 * Streamed answers (http-api.md 7): one line per row, sent while the statement runs and at the speed of the client. The
 * first line goes out at once, later ones at 8 KiB or 50 ms; blank lines keep the connection alive.
 */

const flushBytes = 8 * 1024;
const flushMs = 50;

const headers = ['Content-Type', 'application/x-ndjson', 'Cache-Control', 'no-store'];

/** Names that ask for lines. */
const lineTypes = ['application/x-ndjson', 'application/jsonl'];

/** True when the client asks for lines. */
export function wantsLines(exchange: Exchange): boolean {
  const accepted = exchange.request.headers.accept?.toLowerCase();
  if (accepted === undefined || !accepted.includes('json')) return false;
  const qualities = parseQualities(accepted);
  return lineTypes.some((type) => (qualities.get(type) ?? 0) > 0);
}

/**
 * Runs a statement and sends its rows as lines.
 * @throws what fails before the first line; later failures become the last line
 */
export async function answerLines(run: StatementRun): Promise<void> {
  if (run.serializer === 'graph' || run.serializer === 'studioGraph')
    throw badRequest(`Serializer '${run.serializer}' has no stream of rows; use record or studio`);
  const stream = await start({ ...run, mustBeIdempotent: true });
  echoSession(run.exchange, run.database, run.sessionId);
  const answer = new LineAnswer(run, stream);
  try {
    await answer.send();
  } finally {
    answer.close();
  }
}

class LineAnswer {
  readonly #run: StatementRun;
  readonly #stream: ResultStream;
  readonly #writer: JsonWriter;
  readonly #serializer: RowSerializer;
  readonly #startedMs: number;
  #returned = 0;
  #isTruncated = false;
  #stopFlushTimer: Cancel | undefined;
  #lastWriteMs = 0;

  constructor(run: StatementRun, stream: ResultStream) {
    const { names, runtime } = run.exchange.door;
    this.#run = run;
    this.#stream = stream;
    this.#writer = new JsonWriter(run.database.formats(), flushBytes, names);
    this.#startedMs = runtime.clock.monotonicMs();
    const options = {
      frame: lineFrame,
      typeHints: run.fields.typeHints === true,
      counts: run.serializer === 'record' ? undefined : stream.records,
    };
    this.#serializer = recordSerializer(stream.shape, options, run.exchange.door.templates);
  }

  close(): void {
    this.#stopFlushTimer?.();
    this.#stream.close();
  }

  async send(): Promise<void> {
    const { exchange } = this.#run;
    const first = await this.#stream.nextBatch();
    const isEmpty = first === undefined || this.#stream.complete?.rowCount === 0;
    if (isEmpty && this.#stream.summary().explain)
      throw badRequest('EXPLAIN produces a plan, not a row stream');
    const coding = negotiateCoding(exchange.request.headers['accept-encoding']);
    const sink = new AnswerSink(exchange, headers, coding);
    const stopKeepAlive = this.#keepAlive(sink);
    try {
      await this.#sendRows(first, sink);
      this.#writeStats();
    } catch (error) {
      if (sink.isInRow) sink.cut();
      if (sink.clientLeft) throw error;
      this.#writeError(error);
    } finally {
      stopKeepAlive();
    }
    this.#flush(sink);
    sink.end();
  }

  async #sendRows(first: ResultBatch | undefined, sink: AnswerSink): Promise<void> {
    const { cap, ceiling } = limitOf(this.#run, this.#stream);
    const most = Math.min(cap, ceiling);
    const { timers } = this.#run.exchange.door.runtime;
    const isWhole = this.#stream.complete !== undefined;
    let batch = first;
    while (batch) {
      const wanted = Math.min(batch.rowCount, most - this.#returned);
      for (let row = 0; row < wanted; row++) {
        const isShort = writeShortRow(this.#serializer, this.#writer, batch, row);
        if (!isShort) await this.#sendLongRow(batch, row, sink);
        this.#returned += 1;
        const isDue = this.#returned === 1 || this.#writer.length >= pieceBytes;
        if (isDue) await this.#send(sink);
        // What was written leaves at the end of a turn; the first row does not wait for all that fits into this one.
        if (this.#returned === 1 && !isWhole) await timers.yield();
      }
      if (wanted < batch.rowCount) {
        if (ceiling < cap) throw tooManyRows(ceiling);
        this.#isTruncated = true;
        return;
      }
      await this.#sendWhenDue(sink);
      this.#requireYoungSnapshot();
      batch = await this.#stream.nextBatch();
    }
  }

  async #sendLongRow(batch: ResultBatch, row: number, sink: AnswerSink): Promise<void> {
    this.#beginFlush();
    await sink.sendInPieces(this.#serializer.writeInPieces(this.#writer, batch, row), this.#writer);
  }

  /** What was written; resolves when the client has caught up. */
  async #send(sink: AnswerSink): Promise<void> {
    if (this.#beginFlush()) await sink.send(this.#writer);
  }

  /** @returns false when there is nothing to be sent */
  #beginFlush(): boolean {
    this.#stopFlushTimer?.();
    this.#stopFlushTimer = undefined;
    if (this.#writer.length === 0) return false;
    this.#lastWriteMs = this.#run.exchange.door.runtime.clock.monotonicMs();
    return true;
  }

  /** Between batches: at once from 8 KiB on, else when nothing else was sent for 50 ms. */
  async #sendWhenDue(sink: AnswerSink): Promise<void> {
    if (this.#writer.length >= flushBytes) await this.#send(sink);
    else if (this.#writer.length > 0) {
      const { timers } = this.#run.exchange.door.runtime;
      this.#stopFlushTimer ??= timers.after(flushMs, () => this.#flush(sink));
    }
  }

  #flush(sink: AnswerSink): void {
    if (this.#beginFlush()) sink.writeFrom(this.#writer);
  }

  /** Sends a blank line whenever nothing was sent for a while. */
  #keepAlive(sink: AnswerSink): Cancel {
    const { settings, runtime } = this.#run.exchange.door;
    const everyMs = settings.get(serverHttpStreamingKeepAlive);
    this.#lastWriteMs = runtime.clock.monotonicMs();
    let stop: Cancel = () => {};
    const look = () => {
      const idleMs = runtime.clock.monotonicMs() - this.#lastWriteMs;
      if (idleMs >= everyMs - 1 && this.#writer.length === 0) {
        sink.writeNothing();
        this.#lastWriteMs = runtime.clock.monotonicMs();
      }
      stop = runtime.timers.after(Math.max(1, everyMs - Math.min(idleMs, everyMs - 1)), look);
    };
    stop = runtime.timers.after(everyMs, look);
    return () => stop();
  }

  /** A slow but steady reader must not pin old pages for ever (limits.md 4). */
  #requireYoungSnapshot(): void {
    const { settings, runtime } = this.#run.exchange.door;
    const ageMax = settings.get(serverMaxSnapshotAge);
    if (runtime.clock.monotonicMs() - this.#startedMs <= ageMax * 1000) return;
    throw new DatabaseError(
      'Busy',
      `the snapshot of the stream is older than ${serverMaxSnapshotAge.key}, ${ageMax} s`,
    );
  }

  #writeStats(): void {
    const { limit } = limitOf(this.#run, this.#stream);
    const { stats } = this.#stream.summary();
    const all = { limit, returned: this.#returned, truncated: this.#isTruncated, ...stats };
    this.#writer.raw(Buffer.from(`${JSON.stringify({ stats: all })}\n`));
    if (this.#isTruncated) this.#run.exchange.door.truncations.report(this.#run, limit);
  }

  #writeError(error: unknown): void {
    const { exchange } = this.#run;
    const { status, error: text, detail, exception, exceptionArgs } = refusalOf(error);
    const isOurs = error instanceof DatabaseError || error instanceof HttpRefusal;
    if (!isOurs) exchange.door.onInternalError(error);
    const line = {
      error: {
        message: detail ?? text,
        status,
        exception,
        exceptionArgs: exceptionArgs ?? null,
        requestId: exchange.requestId,
      },
    };
    this.#writer.raw(Buffer.from(`${JSON.stringify(line)}\n`));
  }
}
