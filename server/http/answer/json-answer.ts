import type {
  ExplainedPlan,
  ExplainedStep,
  ResultBatch,
  ResultStream,
  ResultSummary,
} from '#database/session.ts';
import { queryMaxMemory } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { RowLimit } from './answer-limit.ts';
import { tooManyRows } from './answer-limit.ts';
import { AnswerSink } from './answer-sink.ts';
import { negotiateCoding } from './compression.ts';
import { jsonHeaders } from './exchange.ts';
import { pieceBytes } from './json-pieces.ts';
import { JsonWriter } from './json-writer.ts';
import { GraphCollector } from '../serializers/graph.ts';
import { recordSerializer } from '../serializers/record.ts';
import { bareFrame } from '../serializers/row-serializer.ts';
import { type RowSerializer, writeShortRow } from '../serializers/row-serializer.ts';
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
const comma = 44;
/** Rows after which the clock is looked at, and the time after which others have their turn. */
const rowsPerLook = 256;
const turnMs = 5;

/** Rows that are written without looking at the clock. */
const smallRowsMax = 64;

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
  #returned = 0;
  #isTruncated = false;
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

  /** Most answers: a few rows that are all there. @returns false when the answer is of another kind; nothing was done then */
  sendSmall(): boolean {
    const { complete } = this.#stream;
    const { cap, ceiling } = this.#limit;
    if (!complete || complete.rowCount > smallRowsMax || complete.rowCount > ceiling) return false;
    const rowCount = Math.min(complete.rowCount, cap);
    if (!this.#writeSmall(complete, rowCount)) return false;
    const writer = this.#writer;
    this.#returned = rowCount;
    this.#isTruncated = complete.rowCount > rowCount;
    this.#writeEnd();
    this.#run.exchange.json(200, writer.take(0));
    return true;
  }

  /** @returns false when the rows are long: nothing stays written then */
  #writeSmall(rows: ResultBatch, rowCount: number): boolean {
    const writer = this.#writer;
    const serializer = this.#serializer();
    this.#open(writer);
    for (let row = 0; row < rowCount; row++) {
      if (row > 0) writer.byte(comma);
      if (writeShortRow(serializer, writer, rows, row) && writer.length <= streamedFromBytes)
        continue;
      writer.take(smallCapacity);
      return false;
    }
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
    this.#open(this.#writer);
    const { complete } = this.#stream;
    if (complete === undefined) await this.#pullRows();
    else await this.#writeComplete(complete);
    await this.#finish();
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
    this.#returned = collector.count;
    this.#isTruncated = collector.isTruncated;
    if (this.#isTruncated && this.#limit.ceiling < this.#limit.cap) {
      throw tooManyRows(this.#limit.ceiling);
    }
    const writer = this.#writer;
    this.#openEnvelope(writer, '{');
    for (const piece of collector.finish()) writer.raw(piece);
    if (records) {
      writer.ascii(',"records":[');
      writer.raw(records.take(0));
      writer.ascii(']');
    }
    writer.ascii('}');
    await this.#finish();
  }

  /** The next batch; the first one's time counts from the start of the statement. */
  async #next(): Promise<ResultBatch | undefined> {
    if (this.#run.fields.profileExecution !== 'detailed') return this.#stream.nextBatch();
    const { clock } = this.#run.exchange.door.runtime;
    const before = clock.monotonicMs();
    const batch = await this.#stream.nextBatch();
    this.#engineMs += clock.monotonicMs() - before;
    return batch;
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
    const rowWriter = rows && this.#serializer();
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
        if (rows.length > 0) rows.byte(comma);
        if (writeShortRow(rowWriter, rows, batch, row)) continue;
        for (const _ of rowWriter.writeInPieces(rows, batch, row)) await giveTurn();
      }
      await giveTurn();
    }
    if (!rows) return undefined;
    for (const _ of collector.connect()) await giveTurn();
    return rows;
  }

  /** Rows that are all there: their number is known, so nothing is undecided. */
  async #writeComplete(batch: ResultBatch): Promise<void> {
    const { cap, ceiling } = this.#limit;
    if (batch.rowCount > ceiling && this.#stream.summary().isReadOnly) throw tooManyRows(ceiling);
    const most = Math.min(cap, ceiling);
    await this.#writeBatch(batch, Math.min(batch.rowCount, most), this.#serializer());
    this.#isTruncated = batch.rowCount > most;
  }

  async #pullRows(): Promise<void> {
    const serializer = this.#serializer();
    const { cap, ceiling } = this.#limit;
    const isUndecided = ceiling < cap;
    const most = Math.min(cap, ceiling);
    for (;;) {
      const batch = await this.#next();
      if (!batch) return;
      const wanted = Math.min(batch.rowCount, most - this.#returned);
      if (wanted < batch.rowCount && isUndecided && !this.#sink) throw tooManyRows(ceiling);
      const isHeld = isUndecided && !this.#sink;
      if (!(await this.#writeBatch(batch, wanted, serializer, isHeld))) {
        await this.#runAgain();
        return;
      }
      if (wanted < batch.rowCount) {
        this.#isTruncated = true;
        return;
      }
    }
  }

  /** Counts the rest; when the answer may be given, gives it by a second run. */
  async #runAgain(): Promise<void> {
    const { ceiling } = this.#limit;
    let count = this.#returned;
    for (;;) {
      const batch = await this.#next();
      if (!batch) break;
      count += batch.rowCount;
      if (count > ceiling) throw tooManyRows(ceiling);
    }
    this.#stream.close();
    this.#stream = await start(this.#run);
    this.#writer.take(pieceBytes);
    this.#returned = 0;
    this.#open(this.#writer);
    this.#startStreaming();
    await this.#pullRows();
  }

  /** @returns false when the rows are to be held back and are too large for it; all of the batch count as returned then */
  async #writeBatch(
    batch: ResultBatch,
    rowCount: number,
    serializer: RowSerializer,
    isHeldBack = false,
  ): Promise<boolean> {
    const writer = this.#writer;
    const countBefore = this.#returned;
    for (let row = 0; row < rowCount; row++) {
      if (this.#returned > 0) writer.byte(comma);
      const isShort = writeShortRow(serializer, writer, batch, row);
      this.#returned += 1;
      if (isHeldBack && (!isShort || writer.length > undecidedBytesMax)) {
        this.#returned = countBefore + rowCount;
        return false;
      }
      if (!isShort) await this.#sendLongRow(serializer, batch, row);
      else if (this.#sink) {
        if (writer.length >= pieceBytes) await this.#sink.send(this.#writer);
      } else if (!isHeldBack && writer.length > streamedFromBytes)
        await this.#startStreaming().send(this.#writer);
      if ((row + 1) % rowsPerLook === 0 && row + 1 < rowCount) await this.#giveTurn();
    }
    return true;
  }

  async #sendLongRow(serializer: RowSerializer, batch: ResultBatch, row: number): Promise<void> {
    const sink = this.#sink ?? this.#startStreaming();
    await sink.sendInPieces(serializer.writeInPieces(this.#writer, batch, row), this.#writer);
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

  #serializer(): RowSerializer {
    const { serializer, fields, exchange } = this.#run;
    const options = {
      frame: bareFrame,
      typeHints: fields.typeHints === true,
      counts: serializer === 'record' ? undefined : this.#stream.records,
    };
    return recordSerializer(this.#stream.shape, options, exchange.door.templates);
  }

  #open(writer: JsonWriter): void {
    this.#openEnvelope(writer, '[');
  }

  #openEnvelope(writer: JsonWriter, bracket: string): void {
    writer.raw(userName);
    writer.string(this.#run.exchange.principal.name);
    writer.raw(resultName);
    writer.ascii(bracket);
  }

  /** What follows the rows. */
  #writeEnd(): void {
    const { exchange, serializer } = this.#run;
    const writer = this.#writer;
    if (serializer !== 'graph' && serializer !== 'studioGraph') writer.byte(93);
    writer.raw(limitName);
    writer.integer(this.#limit.limit);
    writer.raw(returnedName);
    writer.integer(this.#returned);
    writer.raw(this.#isTruncated ? truncatedTrue : truncatedFalse);
    if (this.#isTruncated) exchange.door.truncations.report(this.#run, this.#limit.limit);
    this.#writeSummary(writer, this.#stream.summary());
    writer.byte(125);
  }

  async #finish(): Promise<void> {
    this.#writeEnd();
    if (this.#sink) {
      await this.#sink.send(this.#writer);
      this.#sink.end();
    } else this.#run.exchange.json(200, this.#writer.take(0));
  }

  #writeSummary(writer: JsonWriter, summary: ResultSummary): void {
    const { stats, explain } = summary;
    const warnings = warningsOf(this.#run, summary, this.#isTruncated ? this.#limit : undefined);
    if (stats) writer.raw(Buffer.from(`,"stats":${JSON.stringify(stats)}`));
    if (explain) {
      const plan = { explain: explain.text, explainPlan: planToJson(explain) };
      writer.raw(Buffer.from(`,${JSON.stringify(plan).slice(1, -1)}`));
    }
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

function planToJson(plan: ExplainedPlan): unknown {
  const costs = plan.steps.map((step) => step.cost);
  const isMeasured = costs.some((cost) => cost >= 0);
  return {
    type: 'QueryExecutionPlan',
    cost: isMeasured ? costs.reduce((sum, cost) => sum + Math.max(0, cost), 0) : -1,
    prettyPrint: plan.text,
    steps: plan.steps.map(stepToJson),
  };
}

function stepToJson(step: ExplainedStep): unknown {
  return {
    name: step.name,
    type: step.name,
    targetNode: '<local>',
    cost: step.cost,
    ...(step.rowCount === undefined ? undefined : { rows: step.rowCount }),
    description: step.description,
    subSteps: step.steps.map(stepToJson),
  };
}

function tooMuchMemory(bytesMax: number): DatabaseError {
  return new DatabaseError(
    'ResultTooLarge',
    `the answer holds more than ${bytesMax} bytes (${queryMaxMemory.key})`,
  );
}
