import {
  serverHttpBatchCommitMaxSize,
  serverHttpBatchLineMaxSize,
  serverHttpJsonMaxDepth,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { BatchImport, defaultCommitEvery } from '#database/bulk/batch-import.ts';
import type { ProgressReporter } from '#database/progress/progress-registry.ts';
import type { Timers } from '#core/runtime.ts';
import { optimizeForLoad } from '#platform/code-optimization.ts';
import type { DatabaseHandle } from '#database/session.ts';
import type { CommittedRequest } from '#database/session/recorded-request.ts';
import {
  type BatchAnswer,
  rememberedAnswer,
  repeatAnswer,
  StreamedBatchAnswer,
  WholeBatchAnswer,
} from '../answer/batch-answer.ts';
import {
  type BatchParameters,
  batchParameterSchemas,
  readBatchParameters,
} from '../request/batch-parameters.ts';
import { BodyPieces } from '../request/body-pieces.ts';
import { badRequest, HttpRefusal, withStatus } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { wantsLines } from '../answer/ndjson-answer.ts';
import { onceOnlyStreamed, type PieceSource, type RepeatableBody } from '../replay/streamed.ts';
import { databaseOf } from './database-parameter.ts';
import { refusal, shared } from '../document/schemas.ts';
import type { Route } from './route.ts';

// Bulk import (contract, POST /batch; http-api.md 10).

const formats: ReadonlyMap<string, 'jsonl' | 'csv'> = new Map([
  ['application/x-ndjson', 'jsonl'],
  ['application/jsonl', 'jsonl'],
  ['application/x-jsonlines', 'jsonl'],
  ['text/csv', 'csv'],
]);

const lines = { type: 'string', description: 'One JSON object a line: vertices, then edges' };

export const batchPost: Route = {
  method: 'POST',
  path: '/batch/:database',
  access: 'user',
  place: 'leader',
  streamsBody: true,
  operation: {
    id: 'batchImport',
    summary: 'Imports vertices and edges from a streamed body',
    query: batchParameterSchemas,
    bodyTypes: {
      'application/x-ndjson': lines,
      'application/jsonl': lines,
      'text/csv': { type: 'string', description: "Header, vertices, '---', header, edges" },
    },
    example: {
      body: {
        'application/x-ndjson': '{"@type":"v","@class":"Person","@id":"t1","name":"Jay"}\n',
        'application/jsonl': '{"@type":"v","@class":"Person","@id":"t1","name":"Ada"}\n',
        'text/csv': '@type,@class,@id,name\nv,Person,t1,Eve\n',
      },
    },
    answers: {
      200: {
        description: 'Everything is durable',
        schema: shared('BatchResponse'),
        lines: shared('NdJsonBatchEvent'),
      },
      404: refusal('No such database'),
      408: refusal('The body was cut or stalled'),
      409: refusal('A unique key is taken'),
      413: refusal('A line, or a packed body, is too large'),
    },
  },
  handle: async (exchange, door) => {
    const startedMs = door.runtime.clock.monotonicMs();
    const database = existingDatabase(exchange);
    const format = formatOf(exchange);
    const parameters = readBatchParameters(exchange.queryString);
    const pieces = new BodyPieces(exchange);
    const load = { exchange, database, format, parameters, startedMs, pieces };
    try {
      if (exchange.hasClientRequestId)
        await onceOnlyStreamed(exchange, {
          pieces,
          recorded: (replayKey) => database.recorded?.(replayKey),
          execute: (body) => loadPieces({ ...load, source: body, request: body }),
          repeat: (status, body) => repeatAnswer(exchange, status, body),
        });
      else await loadPieces({ ...load, source: pieces, request: undefined });
    } finally {
      pieces.close();
    }
  },
};

interface Load {
  readonly exchange: Exchange;
  readonly database: DatabaseHandle;
  readonly format: 'jsonl' | 'csv';
  readonly parameters: BatchParameters;
  readonly startedMs: number;
  /** The body itself, closed before the answer. */
  readonly pieces: BodyPieces;
  /** What gives it out. */
  readonly source: PieceSource;
  /** When the client has chosen the id of the request. */
  readonly request: RepeatableBody | undefined;
}

async function loadPieces(load: Load): Promise<void> {
  const { exchange, database, parameters, pieces, source, request } = load;
  const answer = wantsLines(exchange) ? new StreamedBatchAnswer(load) : new WholeBatchAnswer(load);
  const progress = startProgress(exchange, database);
  const loadIsOver = optimizeForLoad();
  const batch = begin(exchange, database, {
    ...load,
    answer,
    progress,
    keepsFullChunk: request !== undefined,
    request: request && (() => rememberedOf(load, request, batch)),
  });
  try {
    for (;;) {
      const piece = await nextPiece(source, batch, exchange.door.runtime.timers);
      if (piece === undefined) break;
      await batch.write(piece);
      progress.advance(piece.length);
      progress.check();
    }
    await batch.complete();
    requireExpected(batch, parameters);
    await batch.end();
    pieces.close();
    progress.finish();
    await answer.succeeded(batch);
  } catch (error) {
    pieces.close();
    const reason = await batch.endAfter(error);
    progress.fail(reason);
    answer.failed(reason, batch);
  } finally {
    loadIsOver();
    batch.close();
  }
}

/** How long full chunks wait for what follows them. */
const fullChunkWaitMs = 50;

/** A client that pauses behind a full chunk may be waiting until it is told of it, or sees it. */
async function nextPiece(
  source: PieceSource,
  batch: BatchImport,
  timers: Timers,
): Promise<Uint8Array | undefined> {
  const next = source.next();
  if (!batch.hasFullChunk) return next;
  const isLate = await new Promise<boolean>((resolve) => {
    const cancel = timers.after(fullChunkWaitMs, () => resolve(true));
    const there = () => {
      cancel();
      resolve(false);
    };
    next.then(there, there);
  });
  if (isLate) await batch.commitFullChunks();
  return next;
}

/** What the last commit remembers of the request. */
async function rememberedOf(
  load: Load,
  { replayKey, headDigest, digest }: RepeatableBody,
  batch: BatchImport,
): Promise<CommittedRequest> {
  const answer = await rememberedAnswer(load, batch);
  return { replayKey, headDigest: headDigest(), bodyDigest: digest(), answer };
}

/** A database that is not there is 404 here, unlike on queries (http-api.md 10.6). */
function existingDatabase(exchange: Exchange): DatabaseHandle {
  try {
    return databaseOf(exchange);
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'DatabaseNotFound')
      throw withStatus(error, 404);
    throw error;
  }
}

function formatOf(exchange: Exchange): 'jsonl' | 'csv' {
  const given = exchange.header('content-type');
  const name = given?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const format = formats.get(name);
  if (format !== undefined) return format;
  const seen = name === '' ? 'Content-Type is missing' : `Content-Type '${name.slice(0, 100)}'`;
  throw badRequest(`${seen}: use one of ${[...formats.keys()].join(', ')}`);
}

function begin(
  exchange: Exchange,
  database: DatabaseHandle,
  options: {
    readonly format: 'jsonl' | 'csv';
    readonly parameters: BatchParameters;
    readonly answer: BatchAnswer;
    readonly progress: ProgressReporter;
    readonly keepsFullChunk: boolean;
    readonly request: (() => Promise<CommittedRequest>) | undefined;
  },
): BatchImport {
  const { settings, runtime } = exchange.door;
  const { batchRows } = exchange.door.requests;
  const { format, parameters, answer, progress, keepsFullChunk, request } = options;
  const { commitRetries, commitRetryDelayMs, bidirectional, refMode, ordinalBase } = parameters;
  const batch: BatchImport = new BatchImport({
    loader: database.bulkLoader({
      principal: exchange.principal,
      // The import itself says when a chunk is complete.
      chunkBytesMax: Number.POSITIVE_INFINITY,
      commitRetries,
      commitRetryDelayMs,
      isBidirectional: bidirectional,
    }),
    format,
    keepsFullChunk,
    ...(request && { request }),
    commitEvery: parameters.commitEvery ?? defaultCommitEvery,
    commitBytesMax: settings.get(serverHttpBatchCommitMaxSize),
    sharesCommits: parameters.commitEvery === undefined,
    ordinalBase: refMode === 'ordinal' ? ordinalBase : undefined,
    depthMax: settings.get(serverHttpJsonMaxDepth),
    lineBytesMax: settings.get(serverHttpBatchLineMaxSize),
    runtime,
    onCommit: (chunk) => {
      const { vertices, edges } = chunk.counts;
      const { vertices: before = 0, edges: edgesBefore = 0 } = progress.entry().counts;
      batchRows.add('vertex', vertices - before);
      batchRows.add('edge', edges - edgesBefore);
      progress.count('vertices', vertices);
      progress.count('edges', edges);
      return answer.committed(chunk, batch);
    },
  });
  return batch;
}

/** Counts the bytes of the body; cancelled, the call ends as if its client had told so. */
function startProgress(exchange: Exchange, database: DatabaseHandle): ProgressReporter {
  const { request, connection, requestId, principal, door } = exchange;
  const progress = door.databases.running.operations.start({
    database: database.name,
    operation: 'batch import',
    stepCount: 1,
    user: principal.name,
    requestId,
  });
  const length = request.headers['content-length'];
  const isPacked = request.headers['content-encoding'] !== undefined;
  progress.step('load', length === undefined || isPacked ? undefined : Number(length));
  progress.signal.addEventListener('abort', () => {
    const reason = progress.entry().reason ?? 'cancelled';
    connection.cancel(new DatabaseError('Cancelled', reason));
  });
  return progress;
}

/** The last chunk is not committed then unless it is full: the client will send all of it again. */
function requireExpected(batch: BatchImport, { expectedRecords }: BatchParameters): void {
  if (batch.readCount >= expectedRecords) return;
  throw new HttpRefusal({
    status: 408,
    error: 'Request timeout',
    detail: `${batch.readCount} records arrived, expectedRecords is ${expectedRecords}`,
    exception: 'TimeoutException',
  });
}
