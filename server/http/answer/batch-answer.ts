import {
  serverHttpIdempotencyMaxBodySize,
  serverHttpStreamingKeepAlive,
} from '#config/server-settings.ts';
import { DatabaseError, errorSpecs } from '#core/errors.ts';
import { formatRid, noRid } from '#core/value/rid.ts';
import type { Cancel } from '#core/runtime.ts';
import type { BatchImport, CommittedChunk, ImportCounts } from '#database/bulk/batch-import.ts';
import { AnswerSink } from './answer-sink.ts';
import type { BatchParameters } from '../request/batch-parameters.ts';
import { isBrokenBody } from '../request/body-pieces.ts';
import { negotiateCoding } from './compression.ts';
import { lingerBytesMax, lingerMs } from '../connection/connection.ts';
import { messageOf, type Refusal, refusalBody, refusalOf, shownDetail } from './errors.ts';
import { type Exchange, jsonHeaders } from './exchange.ts';
import { wantsLines } from './ndjson-answer.ts';

/*
 * Answers of POST /batch (http-api.md 10.4, 10.6, 10.7): one JSON object at the end, or lines while chunks are committed.
 */

/** How a call reports. */
export interface BatchAnswer {
  /** A chunk is durable. */
  committed(chunk: CommittedChunk, batch: BatchImport): Promise<void>;
  succeeded(batch: BatchImport): Promise<void>;
  failed(error: unknown, batch: BatchImport): void;
}

export interface BatchCall {
  readonly exchange: Exchange;
  readonly parameters: BatchParameters;
  readonly startedMs: number;
}

/** `idMapping=auto` answers so many ids. */
const autoMappingMax = 10_000;
/** Longer texts are sent in pieces. */
const pieceLength = 64 * 1024;

/** With replication: the headers have gone out long before (contract 3, Consistency headers). */
function commitIndexOf({ door: { cluster } }: Exchange): { readonly commitIndex?: number } {
  const index = cluster?.view.appliedIndex() ?? 0;
  return index > 0 ? { commitIndex: index } : {};
}

function countFields({ vertices, edges, lines, skippedLines, bytes }: ImportCounts) {
  return {
    verticesCreated: vertices,
    edgesCreated: edges,
    linesRead: lines,
    linesSkipped: skippedLines,
    bytesRead: bytes,
  };
}

function summaryFields(call: BatchCall, batch: BatchImport, counts = batch.counts) {
  const { monotonicMs } = call.exchange.door.runtime.clock;
  const { withoutIdCount } = batch.rows;
  return {
    ...countFields(counts),
    elapsedMs: Math.round(monotonicMs() - call.startedMs),
    ...(withoutIdCount > 0 ? { verticesWithoutId: withoutIdCount } : undefined),
  };
}

/** The object of record ids by temporary id, in pieces. @param from, to places in `rows.ids` */
function* mappingText(batch: BatchImport, from: number, to: number): Generator<string> {
  const { ids } = batch.rows;
  let piece = '{';
  let separator = '';
  for (let entry = ids.entryAt(from); entry < to; entry = ids.after(entry)) {
    // A trigger kept it from being written.
    if (ids.ridOf(entry) === noRid) continue;
    piece += separator;
    separator = ',';
    piece += `${JSON.stringify(ids.textOf(entry))}:"${formatRid(ids.ridOf(entry))}"`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}}`;
}

/** A line with the ids of a chunk, in pieces. */
function* progressText(opening: string, mapping: Iterable<string>): Generator<string> {
  let text = `${opening},"idMapping":`;
  for (const piece of mapping) {
    text += piece;
    if (text.length < pieceLength) continue;
    yield text;
    text = '';
  }
  yield `${text}}}\n`;
}

/** The object without its closing brace, so that a member can follow. */
function openText(value: object): string {
  return JSON.stringify(value).slice(0, -1);
}

/** The whole answer. @param bytesMax from that on without the ids */
async function answerBytes(
  { exchange, parameters: { idMapping } }: BatchCall,
  batch: BatchImport,
  fields: object,
  bytesMax: number,
): Promise<Buffer> {
  const { count, end } = batch.rows.ids;
  const omitted = { ...fields, idMappingOmitted: true, idMappingSize: count };
  if (idMapping === 'false' || (idMapping === 'auto' && count > autoMappingMax))
    return Buffer.from(JSON.stringify(omitted));
  const pieces = [Buffer.from(`${openText(fields)},"idMapping":`)];
  let length = 1;
  for (const text of mappingText(batch, 0, end)) {
    pieces.push(Buffer.from(text));
    length += text.length;
    if (length > bytesMax) return Buffer.from(JSON.stringify(omitted));
    if (pieces.length % 4 === 0) await exchange.door.runtime.timers.yield();
  }
  pieces.push(Buffer.from('}'));
  return Buffer.concat(pieces);
}

/** The answer as it is known before the last commit, for a repetition of the call after a restart. */
export function rememberedAnswer(call: BatchCall, batch: BatchImport): Promise<Uint8Array> {
  const bytesMax = call.exchange.door.settings.get(serverHttpIdempotencyMaxBodySize);
  return answerBytes(call, batch, summaryFields(call, batch, batch.loadedCounts), bytesMax);
}

/** Answers a repeated call with the answer of the first one; who asks for lines gets one line of it, without the ids. */
export function repeatAnswer(exchange: Exchange, status: number, body: Uint8Array): void {
  if (!wantsLines(exchange)) {
    exchange.json(status, body);
    return;
  }
  const { idMapping, ...fields } = JSON.parse(Buffer.from(body).toString()) as Record<
    string,
    unknown
  >;
  const omitted = idMapping === undefined ? undefined : { idMappingOmitted: true };
  const summary = { ...fields, ...omitted, deduplicated: true };
  exchange.send(200, lineHeaders, Buffer.from(`${JSON.stringify({ summary })}\n`));
}

/** One JSON object at the end. */
export class WholeBatchAnswer implements BatchAnswer {
  readonly #call: BatchCall;

  constructor(call: BatchCall) {
    this.#call = call;
  }

  async committed(): Promise<void> {}

  async succeeded(batch: BatchImport): Promise<void> {
    const fields = summaryFields(this.#call, batch);
    const body = await answerBytes(this.#call, batch, fields, Number.POSITIVE_INFINITY);
    this.#call.exchange.json(200, body);
  }

  failed(error: unknown, batch: BatchImport): void {
    const { exchange } = this.#call;
    const refusal = batchRefusal(error, batch);
    if (refusal.status >= 500) exchange.reportServerError(error, refusal);
    if (!isBrokenBody(error) || exchange.isAnswered) {
      exchange.refuse(refusal);
      return;
    }
    // The rest of the body will never come: no use in waiting for it.
    const body = refusalBody(refusal, exchange.requestId, exchange.door.limits.hidesDetails);
    exchange.send(refusal.status, [...jsonHeaders, 'Connection', 'close'], body);
  }
}

const lineHeaders = ['Content-Type', 'application/x-ndjson', 'Cache-Control', 'no-store'];

/** Lines: progress after each commit, a summary or an error at the end. The headers go out with the first line. */
export class StreamedBatchAnswer implements BatchAnswer {
  readonly #call: BatchCall;
  readonly #stopKeepAlive: Cancel;
  #sink: AnswerSink | undefined;
  #mapped = 0;
  #stop: Cancel = () => {};

  constructor(call: BatchCall) {
    this.#call = call;
    const { runtime, settings } = call.exchange.door;
    const everyMs = settings.get(serverHttpStreamingKeepAlive);
    const beat = () => {
      this.#open().writeNothing();
      this.#stop = runtime.timers.after(everyMs, beat);
    };
    this.#stop = runtime.timers.after(everyMs, beat);
    this.#stopKeepAlive = () => this.#stop();
  }

  async committed({ counts, hasEdges, ids }: CommittedChunk, batch: BatchImport): Promise<void> {
    const phase = hasEdges ? 'edges' : 'vertices';
    const opening = `{"progress":${openText({ phase, ...countFields(counts) })}`;
    const from = this.#mapped;
    const hasIds = this.#call.parameters.idMapping !== 'false' && ids.end > from;
    if (hasIds) this.#mapped = ids.end;
    await this.#open().sendLine(
      hasIds ? progressText(opening, mappingText(batch, from, ids.end)) : [`${opening}}}\n`],
    );
  }

  async succeeded(batch: BatchImport): Promise<void> {
    this.#stopKeepAlive();
    const isStreamed = this.#call.parameters.idMapping !== 'false';
    const summary = {
      ...summaryFields(this.#call, batch),
      ...(isStreamed ? { idMappingStreamed: true } : { idMappingOmitted: true }),
      idMappingSize: batch.committedIds.count,
      ...commitIndexOf(this.#call.exchange),
    };
    const sink = this.#open();
    await sink.sendLine([`${JSON.stringify({ summary })}\n`]);
    sink.end();
  }

  failed(error: unknown, batch: BatchImport): void {
    this.#stopKeepAlive();
    const { exchange } = this.#call;
    if (exchange.response.destroyed) return;
    const refusal = batchRefusal(error, batch);
    const { status, exception = 'HttpException', exceptionArgs = null, more } = refusal;
    if (status >= 500) exchange.reportServerError(error, refusal);
    const { requestId, door } = exchange;
    const message = shownDetail(refusal, requestId, door.limits.hidesDetails) ?? refusal.error;
    const bookmark = commitIndexOf(this.#call.exchange);
    const line = { message, status, exception, exceptionArgs, ...more, requestId, ...bookmark };
    const sink = this.#open();
    sink.write(Buffer.from(`${JSON.stringify({ error: line })}\n`));
    sink.end();
    this.#discardRest(isBrokenBody(error));
  }

  #open(): AnswerSink {
    const { exchange } = this.#call;
    const coding = negotiateCoding(exchange.request.headers['accept-encoding']);
    this.#sink ??= new AnswerSink(exchange, lineHeaders, coding);
    return this.#sink;
  }

  #discardRest(isBroken: boolean): void {
    const { request, response, door } = this.#call.exchange;
    if (request.readableEnded) return;
    if (isBroken) {
      response.on('finish', () => request.socket.end());
      return;
    }
    let discarded = 0;
    const cut = () => request.socket.destroy();
    const cancel = door.runtime.timers.after(lingerMs, cut);
    request.on('data', (piece: Uint8Array) => {
      discarded += piece.length;
      if (discarded > lingerBytesMax) cut();
    });
    request.on('end', cancel);
    request.on('close', cancel);
    request.resume();
  }
}

/**
 * What a failure becomes, with what is durable. 503 would promise that nothing was committed, so it is told before the first
 * commit only (limits.md 1): when the lead moves in the midst the answer is 500, with what is certain, and it says so when nobody
 * knows of the chunk that was on its way (ha.md 6.5). A vertex that an edge names and nobody has is a mistake in the body (house
 * decision 54).
 */
export function batchRefusal(error: unknown, batch: Pick<BatchImport, 'counts'>): Refusal {
  const counts = countFields(batch.counts);
  const partialCommit = counts.verticesCreated + counts.edgesCreated > 0;
  const { verticesCreated, edgesCreated, linesRead } = counts;
  const refusal = refusalOf(error);
  const more = { ...refusal.more, verticesCreated, edgesCreated, linesRead, partialCommit };
  if (!(error instanceof DatabaseError)) return { ...refusal, more };
  if (error.code === 'RecordNotFound') {
    const exception = errorSpecs.IllegalArgument.exception;
    return {
      status: 400,
      error: 'Cannot execute command',
      detail: messageOf(error),
      exception,
      more,
    };
  }
  if (refusal.status === 503 && partialCommit) {
    const { detail, exception } = refusal;
    return { status: 500, error: 'Cannot execute command', detail, exception, more };
  }
  return { ...refusal, more };
}
