import { serverMaxSnapshotAge } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ResultBatch, ResultStream } from '#database/session.ts';
import { parseQualities } from './compression.ts';
import type { Exchange } from './exchange.ts';
import { badRequest } from './errors.ts';
import { pieceBytes } from './json-pieces.ts';
import { LineSink } from './line-sink.ts';
import { recordSerializer } from '../serializers/record.ts';
import { lineFrame, type RowSerializer, writeShortRow } from '../serializers/row-serializer.ts';
import { limitOf, start, warningsOf } from './statement-run.ts';
import type { StatementRun } from './statement-run.ts';
import { tooManyRows } from './answer-limit.ts';

// Streamed answers (http-api.md 7): one line per row, sent while the statement runs and at the speed of the client.

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
  run.exchange.noteCommitIndex();
  const lines = new LineSink(run);
  try {
    const stream = await start({ ...run, mustBeIdempotent: true });
    try {
      lines.end({ stats: await new LineAnswer(run, stream, lines).send() });
    } finally {
      stream.close();
    }
  } catch (error) {
    lines.fail(error);
  } finally {
    lines.stop();
  }
}

class LineAnswer {
  readonly #run: StatementRun;
  readonly #stream: ResultStream;
  readonly #lines: LineSink;
  readonly #serializer: RowSerializer;
  readonly #startedMs: number;
  #returned = 0;
  #isTruncated = false;

  constructor(run: StatementRun, stream: ResultStream, lines: LineSink) {
    this.#run = run;
    this.#stream = stream;
    this.#lines = lines;
    this.#startedMs = run.exchange.door.runtime.clock.monotonicMs();
    const options = {
      frame: lineFrame,
      typeHints: run.fields.typeHints === true,
      counts: run.serializer === 'record' ? undefined : stream.records,
    };
    this.#serializer = recordSerializer(stream.shape, options, run.exchange.door.templates);
  }

  /** @returns what the last line tells of the rows */
  async send(): Promise<Readonly<Record<string, unknown>>> {
    const first = await this.#stream.nextBatch();
    const isEmpty = first === undefined || this.#stream.complete?.rowCount === 0;
    if (isEmpty && this.#stream.summary().explain)
      throw badRequest('EXPLAIN produces a plan, not a row stream');
    await this.#sendRows(first);
    return this.#stats();
  }

  async #sendRows(first: ResultBatch | undefined): Promise<void> {
    const { cap, ceiling } = limitOf(this.#run, this.#stream);
    const most = Math.min(cap, ceiling);
    const { timers } = this.#run.exchange.door.runtime;
    const isWhole = this.#stream.complete !== undefined;
    const { writer } = this.#lines;
    let batch = first;
    while (batch) {
      const wanted = Math.min(batch.rowCount, most - this.#returned);
      for (let row = 0; row < wanted; row++) {
        const isShort = writeShortRow(this.#serializer, writer, batch, row);
        if (!isShort)
          await this.#lines.sendLongRow(this.#serializer.writeInPieces(writer, batch, row));
        this.#returned += 1;
        const isDue = this.#returned === 1 || writer.length >= pieceBytes;
        if (isDue) await this.#lines.send();
        // What was written leaves at the end of a turn; the first row does not wait for all that fits into this one.
        if (this.#returned === 1 && !isWhole) await timers.yield();
      }
      if (wanted < batch.rowCount) {
        if (ceiling < cap) throw tooManyRows(ceiling);
        this.#isTruncated = true;
        return;
      }
      await this.#lines.sendWhenDue();
      this.#requireYoungSnapshot();
      batch = await this.#stream.nextBatch();
    }
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

  #stats(): Readonly<Record<string, unknown>> {
    const given = limitOf(this.#run, this.#stream);
    const { limit } = given;
    const summary = this.#stream.summary();
    if (this.#isTruncated) this.#run.exchange.door.truncations.report(this.#run, limit);
    const warnings = warningsOf(this.#run, summary, this.#isTruncated ? given : undefined);
    const rows = { limit, returned: this.#returned, truncated: this.#isTruncated };
    return { ...rows, ...summary.stats, ...(warnings && { warnings }) };
  }
}
