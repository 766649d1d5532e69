import { createHash } from 'node:crypto';
import type { RecordedRequest } from '#database/session/recorded-request.ts';
import type { BodyPieces } from '../request/body-pieces.ts';
import { HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { type KeptAnswer, replayKeyOf } from './cache.ts';

/** So much of a body tells one request from another before anything of it is executed. */
const headBytes = 64 * 1024;

/** Where the pieces of a body come from. */
export interface PieceSource {
  /** Undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
}

/** A body that is told from others. */
export interface RepeatableBody extends PieceSource {
  /** What its commit is remembered under. */
  readonly replayKey: string;
  /** Of what went through so far: its first 64 KiB, and all. */
  headDigest(): string;
  digest(): string;
}

export interface StreamedCall {
  readonly pieces: BodyPieces;
  /** What the database remembers; unlike answers, also over a restart. */
  readonly recorded: (replayKey: string) => RecordedRequest | undefined;
  readonly execute: (body: RepeatableBody) => Promise<void>;
  /** Answers as an earlier request was answered. */
  readonly repeat: (status: number, body: Uint8Array) => Promise<void> | void;
}

/** Gives pieces on and keeps digests of the first 64 KiB and of all that went through. */
class DigestedPieces implements PieceSource {
  readonly #source: PieceSource;
  readonly #whole = createHash('sha256');
  readonly #head = createHash('sha256');
  #length = 0;

  constructor(source: PieceSource) {
    this.#source = source;
  }

  async next(): Promise<Uint8Array | undefined> {
    const piece = await this.#source.next();
    if (piece === undefined) return undefined;
    if (this.#length < headBytes) this.#head.update(piece.subarray(0, headBytes - this.#length));
    this.#length += piece.length;
    this.#whole.update(piece);
    return piece;
  }

  get hasHead(): boolean {
    return this.#length >= headBytes;
  }

  /** @param taken pieces that went through already */
  under(replayKey: string, taken: Uint8Array[] = []): RepeatableBody {
    return {
      replayKey,
      next: async () => taken.shift() ?? (await this.next()),
      headDigest: () => this.headDigest(),
      digest: () => this.digest(),
    };
  }

  headDigest(): string {
    return this.#head.copy().digest('base64');
  }

  digest(): string {
    return this.#whole.copy().digest('base64');
  }
}

/**
 * As `onceOnly`, for a body that is executed while it arrives and never held (http-api.md 4). A request with a known id,
 * length and type is first read for 64 KiB: when they are those of the earlier one, it is read to its end, compared as a
 * whole and gets the same answer; else it is another request, and executed.
 * @throws HttpRefusal 409 for a body that differs from the earlier one only behind its first 64 KiB
 */
export async function onceOnlyStreamed(exchange: Exchange, call: StreamedCall): Promise<void> {
  const body = new DigestedPieces(call.pieces);
  const key = keyOf(exchange, '');
  const earlier = await beginOrFind(exchange, call, key);
  if (earlier === undefined) {
    await keepAnswer(exchange, { key, body }, () => call.execute(body.under(key)));
    return;
  }
  const taken = await takeHead(body);
  const headDigest = body.headDigest();
  if (earlier.headDigest === headDigest) {
    await repeatAnswer(exchange, { call, kept: earlier, body });
    return;
  }
  const otherKey = keyOf(exchange, headDigest);
  const other = await beginOrFind(exchange, call, otherKey);
  if (other) await repeatAnswer(exchange, { call, kept: other, body });
  else
    await keepAnswer(exchange, { key: otherKey, body }, () =>
      call.execute(body.under(otherKey, taken)),
    );
}

/** The answer of an earlier request; undefined makes this one the first, which must be finished. */
async function beginOrFind(
  exchange: Exchange,
  call: StreamedCall,
  key: string,
): Promise<KeptAnswer | undefined> {
  const { replays } = exchange.door;
  const kept = await replays.begin(key);
  if (kept !== undefined) return kept;
  const recorded = call.recorded(key);
  if (recorded === undefined) return undefined;
  replays.finish(key, undefined);
  const { headDigest, bodyDigest, index, answer } = recorded;
  const body = answer ?? Buffer.from(JSON.stringify({ deduplicated: true, commitIndex: index }));
  return { status: 200, body, headDigest, bodyDigest };
}

function keyOf({ requestId, principal, request }: Exchange, headDigest: string): string {
  const { 'content-type': type, 'content-length': length } = request.headers;
  return replayKeyOf({
    requestId,
    user: principal.name,
    method: request.method ?? '',
    url: request.url ?? '',
    body: Buffer.from(JSON.stringify([type, length, headDigest])),
  });
}

async function keepAnswer(
  exchange: Exchange,
  { key, body }: { readonly key: string; readonly body: DigestedPieces },
  execute: () => Promise<void>,
): Promise<void> {
  const { replays } = exchange.door;
  let isFinished = false;
  exchange.onAnswer = (status, answer) => {
    if (status < 200 || status > 299) return;
    isFinished = true;
    const headDigest = body.headDigest();
    replays.finish(key, { status, body: answer, headDigest, bodyDigest: body.digest() });
  };
  try {
    await execute();
  } finally {
    if (!isFinished) replays.finish(key, undefined);
  }
}

async function repeatAnswer(
  { door, parameters }: Exchange,
  {
    call: { pieces, repeat },
    kept,
    body,
  }: { readonly call: StreamedCall; readonly kept: KeptAnswer; readonly body: DigestedPieces },
): Promise<void> {
  while (await body.next());
  pieces.close();
  if (body.digest() !== kept.bodyDigest) throw otherBody;
  door.replays.hits.add(parameters['database'] ?? '');
  await repeat(kept.status, kept.body);
}

const otherBody = new HttpRefusal({
  status: 409,
  error: 'Request id was used for another body',
  detail: 'the first request with this X-Request-Id had a body that differs from this one',
});

async function takeHead(body: DigestedPieces): Promise<Uint8Array[]> {
  const taken: Uint8Array[] = [];
  while (!body.hasHead) {
    const piece = await body.next();
    if (piece === undefined) break;
    taken.push(piece);
  }
  return taken;
}
