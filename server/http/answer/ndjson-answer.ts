import { serverMaxSnapshotAge } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { RenderedRows, ResultStream } from '#database/session.ts';
import { parseQualities } from './compression.ts';
import type { Exchange } from './exchange.ts';
import { badRequest } from './errors.ts';
import { pieceBytes } from './json-pieces.ts';
import { LineSink } from './line-sink.ts';
import { JsonRowRenderer } from '../serializers/json-row-renderer.ts';
import { limitOf, start, warningsOf } from './statement-run.ts';
import type { StatementRun } from './statement-run.ts';
import { type RowLimit, tooManyRows } from './answer-limit.ts';

// Streamed answers (http-api.md 7): one line per row, sent while the statement runs and at the speed of the client.

const firstRow = { bytes: 1, rows: 1 };
const piece = { bytes: pieceBytes, rows: Number.POSITIVE_INFINITY };

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
  readonly #rows: RenderedRows;
  readonly #limit: RowLimit;
  readonly #startedMs: number;

  constructor(run: StatementRun, stream: ResultStream, lines: LineSink) {
    this.#run = run;
    this.#stream = stream;
    this.#lines = lines;
    this.#startedMs = run.exchange.door.runtime.clock.monotonicMs();
    const form = {
      layout: 'lines',
      typeHints: run.fields.typeHints === true,
      counts: run.serializer !== 'record',
    } as const;
    this.#limit = limitOf(run, stream);
    const { cap, ceiling } = this.#limit;
    const { templates } = run.exchange.door;
    const rows = new JsonRowRenderer(lines.writer, form, stream, templates);
    this.#rows = stream.rendered(rows, Math.min(cap, ceiling));
  }

  /** @returns what the last line tells of the rows */
  async send(): Promise<Readonly<Record<string, unknown>>> {
    const rows = this.#rows;
    const isWhole = this.#stream.complete !== undefined;
    const isEmpty = isWhole ? rows.pulledCount === 0 : !(await rows.pull());
    if (isEmpty && this.#stream.summary().explain)
      throw badRequest('EXPLAIN produces a plan, not a row stream');
    if (!isEmpty) await this.#sendRows(isWhole);
    return this.#stats();
  }

  async #sendRows(isWhole: boolean): Promise<void> {
    const rows = this.#rows;
    const { timers } = this.#run.exchange.door.runtime;
    const { cap, ceiling } = this.#limit;
    for (;;) {
      const isFirst = rows.rowCount === 0;
      const pause = rows.write(isFirst ? firstRow : piece);
      if (pause === 'long') await this.#lines.sendLongRow(rows.longRow());
      if (pause !== 'batch' && pause !== 'end') {
        await this.#lines.send();
        // What was written leaves at the end of a turn; the first row does not wait for all that fits into this one.
        if (isFirst && !isWhole) await timers.yield();
        continue;
      }
      if (rows.isCut && ceiling < cap) throw tooManyRows(ceiling);
      if (rows.isCut) return;
      await this.#lines.sendWhenDue();
      this.#requireYoungSnapshot();
      if (!(await rows.pull())) return;
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
    const { limit } = this.#limit;
    const { rowCount, isCut } = this.#rows;
    const summary = this.#stream.summary();
    if (isCut) this.#run.exchange.door.truncations.report(this.#run, limit);
    const warnings = warningsOf(this.#run, summary, isCut ? this.#limit : undefined);
    const rows = { limit, returned: rowCount, truncated: isCut };
    return { ...rows, ...summary.stats, ...(warnings && { warnings }) };
  }
}
