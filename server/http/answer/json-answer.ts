import type { RenderedRows, ResultBatch, ResultStream, ResultSummary } from '#database/session.ts';
import { queryMaxMemory } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { RowLimit } from './answer-limit.ts';
import { tooManyRows } from './answer-limit.ts';
import { AnswerSink } from './answer-sink.ts';
import { negotiateCoding } from './compression.ts';
import { jsonHeaders } from './exchange.ts';
import { planFields } from './explained-plan.ts';
import { pieceBytes } from './json-pieces.ts';
import { JsonWriter } from './json-writer.ts';
import { GraphCollector } from '../serializers/graph.ts';
import { JsonRowRenderer } from '../serializers/json-row-renderer.ts';
import { echoSession, limitOf, start, warningsOf } from './statement-run.ts';
import type { StatementRun } from './statement-run.ts';

/*
 * Buffered answers (http-api.md 6.2): one JSON object, in one write when it is small. Above 1 MiB it is sent while it is
 * made, at the speed of the client (limits.md 5). Whether there are more rows than the ceiling must be known before the
 * first byte: an answer that might pass it is held back up to 8 MiB, beyond that its rows are only counted, and the
 * statement runs a second time to be sent.
 */

const smallCapacity = 1024;
const streamedFromBytes = 1024 * 1024;
const undecidedBytesMax = 8 * 1024 * 1024;
/** Rows after which the clock is looked at, and the time after which others have their turn. */
const rowsPerLook = 256;
const turnMs = 5;

/** Rows that are written without looking at the clock. */
const smallRowsMax = 64;
const manyColumns = 2048;
const smallAnswer = { bytes: streamedFromBytes, rows: smallRowsMax };

const userName = Buffer.from('{"user":');
const resultName = Buffer.from(',"result":');
const limitName = Buffer.from(',"limit":');
const returnedName = Buffer.from(',"returned":');
const truncatedTrue = Buffer.from(',"truncated":true');
const truncatedFalse = Buffer.from(',"truncated":false');

/** Runs a statement and answers with its rows; without a promise when they are few and there at once. */
export function answerJson(run: StatementRun): void | Promise<void> {
  const stream = start(run);
  return stream instanceof Promise
    ? stream.then((started) => answerWith(run, started))
    : answerWith(run, stream);
}

function answerWith(run: StatementRun, stream: ResultStream): void | Promise<void> {
  echoSession(run.exchange, run.database, run.sessionId);
  const isByElement = run.serializer === 'graph' || run.serializer === 'studioGraph';
  const answer = new JsonAnswer(run, stream);
  let isSent = false;
  try {
    isSent = !isByElement && answer.sendSmall();
  } catch (error) {
    answer.close();
    throw error;
  }
  if (!isSent) return answer.sendLater(isByElement);
  answer.close();
}

class JsonAnswer {
  readonly #run: StatementRun;
  readonly #writer: JsonWriter;
  #stream: ResultStream;
  #limit: RowLimit;
  #sink: AnswerSink | undefined;
  /** Rows that are written, once begun. */
  #rows: RenderedRows | undefined;
  #turnStartMs = 0;
  /** Only measured for `profileExecution: detailed`. */
  #engineMs = 0;
  readonly #startMs: number;

  constructor(run: StatementRun, stream: ResultStream) {
    this.#run = run;
    this.#startMs =
      run.fields.profileExecution === 'detailed'
        ? run.exchange.door.runtime.clock.monotonicMs()
        : 0;
    this.#stream = stream;
    this.#limit = limitOf(run, stream);
    this.#writer = new JsonWriter(run.database.formats(), smallCapacity, run.exchange.door.names);
  }

  close(): void {
    this.#stream.close();
  }

  /** Most answers: a few rows that are all there. @returns false when the answer is of another kind */
  sendSmall(): boolean {
    const { complete } = this.#stream;
    const { ceiling } = this.#limit;
    if (!complete || complete.rowCount > smallRowsMax || complete.rowCount > ceiling) return false;
    if (this.#isWide()) return false;
    const rows = this.#begin();
    if (rows.write(smallAnswer) !== 'end') return false;
    this.#writeEnd(rows.rowCount, rows.isCut);
    this.#run.exchange.json(200, this.#writer.take(0));
    return true;
  }

  /** Whatever is no small answer. */
  async sendLater(isByElement: boolean): Promise<void> {
    try {
      await (isByElement ? this.#sendGraph() : this.#sendRows());
    } finally {
      this.close();
    }
  }

  async #sendRows(): Promise<void> {
    this.#requireFew();
    if (this.#isWide()) await this.#run.exchange.door.runtime.timers.yield();
    let rows = this.#rows ?? this.#begin();
    const isUndecided = this.#isUndecided() && this.#stream.complete === undefined;
    if (!(await this.#writeRows(rows, isUndecided))) rows = await this.#runAgain(rows);
    await this.#finish(rows.rowCount, rows.isCut);
  }

  /** To begin rows of so many columns takes as long as the statement may work in one turn. */
  #isWide(): boolean {
    const { shape } = this.#stream;
    return shape.kind === 'columns' && shape.names.length >= manyColumns;
  }

  /** Rows that are all there: their number is known before the first is written. */
  #requireFew(): void {
    const { ceiling } = this.#limit;
    const { complete } = this.#stream;
    if (complete && complete.rowCount > ceiling && this.#stream.summary().isReadOnly)
      throw tooManyRows(ceiling);
  }

  async #sendGraph(): Promise<void> {
    const { door } = this.#run.exchange;
    const formats = this.#run.database.formats();
    const collector = new GraphCollector({
      vertices: new JsonWriter(formats, pieceBytes, door.names),
      edges: new JsonWriter(formats, pieceBytes, door.names),
      records: this.#stream.records,
      countMax: Math.min(this.#limit.cap, this.#limit.ceiling),
      byteLengthMax: this.#run.database.settings.get(queryMaxMemory),
    });
    const records = await this.#collect(collector);
    if (collector.isTruncated && this.#isUndecided()) throw tooManyRows(this.#limit.ceiling);
    const writer = this.#writer;
    this.#openEnvelope(writer, '{');
    for (const piece of collector.finish()) writer.raw(piece);
    if (records) {
      writer.ascii(',"records":[');
      writer.raw(records.take(0));
      writer.ascii(']');
    }
    writer.ascii('}');
    await this.#finish(collector.count, collector.isTruncated);
  }

  /** The next batch as it is, for graphs. */
  #next(): Promise<ResultBatch | undefined> {
    return this.#timed(() => this.#stream.nextBatch());
  }

  #pull(rows: RenderedRows): Promise<boolean> {
    return this.#timed(() => rows.pull());
  }

  /** What the statement takes to go on; the first batch's time counts from its start. */
  async #timed<T>(goOn: () => Promise<T>): Promise<T> {
    if (this.#run.fields.profileExecution !== 'detailed') return goOn();
    const { clock } = this.#run.exchange.door.runtime;
    const before = clock.monotonicMs();
    const given = await goOn();
    this.#engineMs += clock.monotonicMs() - before;
    return given;
  }

  /** @returns the rows themselves, for `studioGraph` */
  async #collect(collector: GraphCollector): Promise<JsonWriter | undefined> {
    const { database, serializer, exchange } = this.#run;
    const { shape } = this.#stream;
    const isProjection = shape.kind === 'columns';
    const width = shape.kind === 'columns' ? shape.names.length : 1;
    const rows =
      serializer === 'studioGraph'
        ? new JsonWriter(database.formats(), pieceBytes, exchange.door.names)
        : undefined;
    const rowWriter = rows && this.#rowsInto(rows);
    const bytesMax = database.settings.get(queryMaxMemory);
    const giveTurn = () => {
      if (collector.byteLength + (rows?.length ?? 0) > bytesMax) throw tooMuchMemory(bytesMax);
      return this.#giveTurn();
    };
    while (!collector.isTruncated) {
      const batch = await this.#next();
      if (!batch) break;
      let lookedAt = collector.byteLength;
      for (let row = 0; row < batch.rowCount && !collector.isTruncated; row++) {
        collector.add(batch, row, width, isProjection);
        if ((row + 1) % rowsPerLook === 0 || collector.byteLength - lookedAt > streamedFromBytes) {
          lookedAt = collector.byteLength;
          await giveTurn();
        }
        if (!rows || !rowWriter) continue;
        if (rowWriter.write(batch, row)) continue;
        for (const _ of rowWriter.writeInPieces(batch, row)) await giveTurn();
      }
      await giveTurn();
    }
    if (!rows) return undefined;
    for (const _ of collector.connect()) await giveTurn();
    return rows;
  }

  /**
   * @param isUndecided whether there may be more rows than the ceiling
   * @returns false when the rows are to be held back and are too large for it
   */
  async #writeRows(rows: RenderedRows, isUndecided: boolean): Promise<boolean> {
    for (;;) {
      const isHeld = isUndecided && !this.#sink;
      switch (rows.write({ bytes: this.#bytesHeld(isHeld), rows: rowsPerLook })) {
        case 'rows':
          await this.#giveTurn();
          break;
        case 'bytes':
          if (isHeld) return false;
          await (this.#sink ?? this.#startStreaming()).send(this.#writer);
          break;
        case 'long': {
          if (isHeld) return false;
          const sink = this.#sink ?? this.#startStreaming();
          await sink.sendInPieces(rows.longRow(), this.#writer);
          break;
        }
        case 'batch':
          if (!(await this.#pull(rows))) return true;
          break;
        case 'end':
          return true;
      }
      if (rows.isCut && isHeld) throw tooManyRows(this.#limit.ceiling);
    }
  }

  /** Bytes that stay in the buffer until they are sent. */
  #bytesHeld(isHeld: boolean): number {
    if (isHeld) return undecidedBytesMax;
    return this.#sink ? pieceBytes : streamedFromBytes;
  }

  /** Whether there are too many rows is not known before the last one. */
  #isUndecided(): boolean {
    return this.#limit.ceiling < this.#limit.cap;
  }

  /**
   * Counts the rest; when the answer may be given, gives it by a second run. That one keeps what the first took of the memory
   * of all statements: others would have it refused behind the first bytes.
   */
  async #runAgain(held: RenderedRows): Promise<RenderedRows> {
    const { ceiling } = this.#limit;
    do {
      if (held.pulledCount > ceiling) throw tooManyRows(ceiling);
    } while (await this.#pull(held));
    const { memoryBytes } = this.#stream;
    this.#stream.close();
    this.#stream = await start(this.#run, memoryBytes);
    this.#writer.take(pieceBytes);
    const rows = this.#begin();
    await this.#writeRows(rows, false);
    return rows;
  }

  /** Rows of a batch are written without a pause; after some milliseconds others have their turn. */
  async #giveTurn(): Promise<void> {
    const { clock, timers } = this.#run.exchange.door.runtime;
    const now = clock.monotonicMs();
    if (this.#turnStartMs === 0) this.#turnStartMs = now;
    if (now - this.#turnStartMs < turnMs) return;
    await timers.yield();
    this.#turnStartMs = clock.monotonicMs();
  }

  #startStreaming(): AnswerSink {
    const { exchange } = this.#run;
    const coding = negotiateCoding(exchange.request.headers['accept-encoding']);
    const sink = new AnswerSink(exchange, jsonHeaders, coding);
    this.#sink = sink;
    return sink;
  }

  /** The answer up to its first row. */
  #begin(): RenderedRows {
    this.#openEnvelope(this.#writer, '[');
    const { cap, ceiling } = this.#limit;
    const rows = this.#stream.rendered(this.#rowsInto(this.#writer), Math.min(cap, ceiling));
    this.#rows = rows;
    return rows;
  }

  #rowsInto(writer: JsonWriter): JsonRowRenderer {
    const { serializer, fields, exchange } = this.#run;
    const form = {
      layout: 'list',
      typeHints: fields.typeHints === true,
      counts: serializer !== 'record',
    } as const;
    return new JsonRowRenderer(writer, form, this.#stream, exchange.door.templates);
  }

  #openEnvelope(writer: JsonWriter, bracket: string): void {
    writer.raw(userName);
    writer.string(this.#run.exchange.principal.name);
    writer.raw(resultName);
    writer.ascii(bracket);
  }

  /** What follows the rows. */
  #writeEnd(returned: number, isTruncated: boolean): void {
    const { exchange, serializer } = this.#run;
    const writer = this.#writer;
    if (serializer !== 'graph' && serializer !== 'studioGraph') writer.byte(93);
    writer.raw(limitName);
    writer.integer(this.#limit.limit);
    writer.raw(returnedName);
    writer.integer(returned);
    writer.raw(isTruncated ? truncatedTrue : truncatedFalse);
    if (isTruncated) exchange.door.truncations.report(this.#run, this.#limit.limit);
    this.#writeSummary(writer, this.#stream.summary(), isTruncated);
    writer.byte(125);
  }

  async #finish(returned: number, isTruncated: boolean): Promise<void> {
    this.#writeEnd(returned, isTruncated);
    if (this.#sink) {
      await this.#sink.send(this.#writer);
      this.#sink.end();
    } else this.#run.exchange.json(200, this.#writer.take(0));
  }

  #writeSummary(writer: JsonWriter, summary: ResultSummary, isTruncated: boolean): void {
    const { stats, explain } = summary;
    const warnings = warningsOf(this.#run, summary, isTruncated ? this.#limit : undefined);
    if (stats) writer.raw(Buffer.from(`,"stats":${JSON.stringify(stats)}`));
    if (explain) writer.raw(Buffer.from(planFields(explain)));
    if (warnings !== undefined) writer.raw(Buffer.from(`,"warnings":${JSON.stringify(warnings)}`));
    if (this.#run.fields.profileExecution !== 'detailed') return;
    const times = JSON.stringify(this.#times());
    writer.raw(Buffer.from(`,"profile":${times}`));
  }

  /** Where the time went; what was neither reading the request nor executing was writing. */
  #times(): Readonly<Record<string, number>> {
    const { startedMs, parsedMs, exchange } = this.#run;
    const now = exchange.door.runtime.clock.monotonicMs();
    const deserialization = parsedMs - startedMs;
    const engine = this.#startMs - parsedMs + this.#engineMs;
    const serialization = Math.max(0, now - parsedMs - engine);
    const total = now - startedMs;
    const overhead = Math.max(0, total - deserialization - engine - serialization);
    const times: Record<string, number> = {};
    const parts = { deserialization, engine, serialization, overhead, total };
    for (const [name, ms] of Object.entries(parts)) times[`${name}Ms`] = Math.round(ms * 1e3) / 1e3;
    for (const [name, ms] of Object.entries(parts)) times[`${name}Nanos`] = Math.round(ms * 1e6);
    return times;
  }
}

function tooMuchMemory(bytesMax: number): DatabaseError {
  return new DatabaseError(
    'ResultTooLarge',
    `the answer holds more than ${bytesMax} bytes (${queryMaxMemory.key})`,
  );
}
