import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import type { SettingsReader } from '#config/effective-settings.ts';
import {
  serverHttpBodyContentDecompressedMaxSize,
  serverHttpBodyContentMaxSize,
  serverHttpBodyTimeout,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { type Linked, LinkedList } from '#core/linked-list.ts';
import type { Cancel, Clock, Timers } from '#core/runtime.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { HttpRefusal } from '../answer/errors.ts';
import { isJoinedAtOnce, joinedPieces } from './joined-pieces.ts';

/*
 * Bodies of requests, whole (http-api.md 1, limits.md 25 and 26): bounded in size before and while they are read, bounded in
 * time, unpacked when the client packed them.
 */

const bytesPerMsMin = (1024 * 1024) / 1000;
const noBytes: Uint8Array = Buffer.alloc(0);

/** Bodies that are being read, with the time until they must be complete: one timer for all instead of one for each. */
export class BodyDeadlines {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #waiting = new LinkedList<BodyReader>();
  #stop: Cancel = () => {};
  #isRunning = false;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  add(reader: BodyReader, allowedMs: number): void {
    reader.deadlineMs = this.#clock.monotonicMs() + allowedMs;
    this.#waiting.append(reader);
    if (!this.#isRunning) this.#schedule(Math.min(1000, Math.max(10, allowedMs / 4)));
  }

  /** For work on a body that is long. */
  slices(): SliceTimer {
    return new SliceTimer({ clock: this.#clock, timers: this.#timers });
  }

  delete(reader: BodyReader): void {
    this.#waiting.remove(reader);
  }

  close(): void {
    this.#stop();
  }

  #schedule(everyMs: number): void {
    this.#isRunning = true;
    this.#stop = this.#timers.after(everyMs, () => {
      const now = this.#clock.monotonicMs();
      let reader = this.#waiting.first;
      while (reader !== undefined) {
        const { next } = reader;
        if (reader.deadlineMs <= now) reader.expire();
        reader = next;
      }
      if (this.#waiting.length > 0) this.#schedule(everyMs);
      else this.#isRunning = false;
    });
  }
}

export interface BodyLimits {
  /** Infinity when there is none. */
  readonly bytesMax: number;
  readonly unpackedBytesMax: number;
  readonly timeoutMs: number;
}

/** The limits of the settings; 0 or less means none. */
export function bodyLimits(settings: SettingsReader): BodyLimits {
  const orAny = (bytes: number) => (bytes > 0 ? bytes : Number.POSITIVE_INFINITY);
  return {
    bytesMax: orAny(settings.get(serverHttpBodyContentMaxSize)),
    unpackedBytesMax: orAny(settings.get(serverHttpBodyContentDecompressedMaxSize)),
    timeoutMs: settings.get(serverHttpBodyTimeout),
  };
}

/** True when the request announces a body. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** @throws HttpRefusal 413 when the announced length is beyond the limit */
export function requireAllowedLength(request: IncomingMessage, bytesMax: number): void {
  const length = request.headers['content-length'];
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax, 'Request body');
}

/** Shorter bodies are not worth an account. */
const countedBytes = 4096;

/** Counts memory until the request is answered. */
export interface MemoryHolder {
  /** @throws DatabaseError `Busy` */
  hold(bytes: number): void;
}

/** Takes over when a body is complete, or will not be. */
export interface BodyReceiver {
  readonly holder: MemoryHolder;
  readonly done: (body: Uint8Array) => void;
  /** @param error HttpRefusal 413 beyond a limit, 408 after the time limit, 400 and 415 for a wrong coding */
  readonly failed: (error: unknown) => void;
}

/** Reads the whole body, and unpacks it. A body that came with the headers is handed over without a promise. */
export function receiveBody(
  request: IncomingMessage,
  limits: BodyLimits,
  deadlines: BodyDeadlines,
  receiver: BodyReceiver,
): void {
  if (!hasBody(request)) {
    receiver.done(noBytes);
    return;
  }
  try {
    requireAllowedLength(request, limits.bytesMax);
    const coding = request.headers['content-encoding'];
    const unpack = coding === undefined ? undefined : unpackerOf(coding);
    const whenRead = unpack
      ? unpackingReceiver(receiver, unpack, limits.unpackedBytesMax, deadlines)
      : receiver;
    new BodyReader(request as ReadRequest, limits, deadlines, whenRead).start();
  } catch (error) {
    receiver.failed(error);
  }
}

function unpackingReceiver(
  receiver: BodyReceiver,
  unpack: Unpack,
  bytesMax: number,
  deadlines: BodyDeadlines,
): BodyReceiver {
  return {
    holder: receiver.holder,
    done: (body) => {
      unpackBody(body, unpack, { bytesMax, holder: receiver.holder, deadlines }).then(
        receiver.done,
        receiver.failed,
      );
    },
    failed: receiver.failed,
  };
}

const readerKey = Symbol('body reader');
type ReadRequest = IncomingMessage & { [readerKey]?: BodyReader };

// Listeners without closures: one body in each request makes them worth it.
function onData(this: ReadRequest, piece: Uint8Array): void {
  this[readerKey]?.add(piece);
}

function onEnd(this: ReadRequest): void {
  this[readerKey]?.end();
}

function onClose(this: ReadRequest): void {
  this[readerKey]?.fail(clientLeft());
}

/** Collects the pieces of one body. */
class BodyReader implements Linked<BodyReader> {
  previous: BodyReader | undefined;
  next: BodyReader | undefined;
  /** Monotonic clock. */
  deadlineMs = 0;
  readonly #request: ReadRequest;
  readonly #limits: BodyLimits;
  readonly #deadlines: BodyDeadlines;
  readonly #receiver: BodyReceiver;
  /** Bytes that were announced; 0 when none were. */
  readonly #announced: number;
  #first: Uint8Array | undefined;
  #more: Uint8Array[] | undefined;
  #length = 0;
  #isOver = false;

  constructor(
    request: ReadRequest,
    limits: BodyLimits,
    deadlines: BodyDeadlines,
    receiver: BodyReceiver,
  ) {
    this.#request = request;
    this.#limits = limits;
    this.#deadlines = deadlines;
    this.#receiver = receiver;
    this.#announced = Number(request.headers['content-length'] ?? 0);
  }

  start(): void {
    const request = this.#request;
    request[readerKey] = this;
    const allowedMs = Math.max(this.#limits.timeoutMs, this.#announced / bytesPerMsMin);
    this.#deadlines.add(this, allowedMs);
    request.on('data', onData);
    // What was announced is complete when its last byte is there.
    if (this.#announced === 0) request.on('end', onEnd);
    request.on('close', onClose);
  }

  expire(): void {
    const { timeoutMs } = this.#limits;
    this.fail(
      new HttpRefusal({
        status: 408,
        error: 'Request timeout',
        detail: `the body was not complete in time (${serverHttpBodyTimeout.key} is ${timeoutMs} ms)`,
        closes: true,
      }),
    );
  }

  add(piece: Uint8Array): void {
    if (this.#isOver) return;
    this.#length += piece.length;
    if (this.#first === undefined) this.#first = piece;
    else if (this.#more === undefined) this.#more = [this.#first, piece];
    else this.#more.push(piece);
    const { bytesMax } = this.#limits;
    if (this.#length > countedBytes && !this.#holds(piece)) return;
    if (this.#length > bytesMax) this.fail(tooLarge(bytesMax, 'Request body'));
    else if (this.#length === this.#announced) this.end();
  }

  #holds({ length }: Uint8Array): boolean {
    try {
      this.#receiver.holder.hold(length);
      return true;
    } catch (error) {
      this.fail(asBusy(error));
      return false;
    }
  }

  end(): void {
    if (this.#isOver) return;
    const pieces = this.#more;
    const first = this.#first;
    this.#finish();
    const { done, failed } = this.#receiver;
    if (pieces === undefined) done(first ?? noBytes);
    else if (isJoinedAtOnce(this.#length)) done(Buffer.concat(pieces, this.#length));
    else joinedPieces(pieces, this.#length, this.#deadlines.slices()).then(done, failed);
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    this.#receiver.failed(error);
  }

  #finish(): void {
    this.#isOver = true;
    this.#first = undefined;
    this.#more = undefined;
    this.#deadlines.delete(this);
  }
}

type Unpack = () => Transform;

const unpackers = {
  gzip: createGunzip,
  deflate: createInflate,
} as const satisfies Record<string, Unpack>;

function unpackerOf(coding: string): Unpack | undefined {
  const packing = packingOf(coding);
  return packing && unpackers[packing];
}

/** How a body is packed; undefined when it is not. @throws HttpRefusal 415 */
export function packingOf(coding: string | undefined): keyof typeof unpackers | undefined {
  const name = coding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return undefined;
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === 'deflate') return 'deflate';
  throw new HttpRefusal({
    status: 415,
    error: `Content-Encoding '${name.slice(0, 100)}' is not supported; use gzip or deflate`,
    headers: ['Accept-Encoding', 'gzip, deflate'],
    closes: true,
  });
}

/** Piece by piece, so that what comes out is counted before there is more of it. */
async function unpackBody(
  body: Uint8Array,
  unpack: Unpack,
  about: {
    readonly bytesMax: number;
    readonly holder: MemoryHolder;
    readonly deadlines: BodyDeadlines;
  },
): Promise<Uint8Array> {
  const { bytesMax, holder, deadlines } = about;
  const stream = unpack();
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    stream.end(body);
    for await (const piece of stream as AsyncIterable<Uint8Array>) {
      length += piece.length;
      if (length > bytesMax) throw tooLarge(bytesMax, 'Unpacked request body');
      if (length > countedBytes) holder.hold(piece.length);
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof HttpRefusal || error instanceof DatabaseError) throw asBusy(error);
    throw new HttpRefusal({ status: 400, error: 'Request body is not in its Content-Encoding' });
  }
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  return isJoinedAtOnce(length)
    ? Buffer.concat(pieces, length)
    : joinedPieces(pieces, length, deadlines.slices());
}

/** What comes behind is not read: the connection ends with the answer. */
function asBusy(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  return new HttpRefusal({
    status: 503,
    error: 'Server busy',
    detail: error.message,
    exception: 'ServerBusyException',
    headers: ['Retry-After', '1'],
    closes: true,
  });
}

function tooLarge(bytesMax: number, what: string): HttpRefusal {
  const key = what.startsWith('Unpacked')
    ? serverHttpBodyContentDecompressedMaxSize.key
    : serverHttpBodyContentMaxSize.key;
  return new HttpRefusal({
    status: 413,
    error: 'Request body too large',
    detail: `${what} is larger than ${key}, ${bytesMax} bytes`,
    closes: true,
  });
}

/** Nobody will read the answer. */
function clientLeft(): HttpRefusal {
  return new HttpRefusal({ status: 400, error: 'Client left', closes: true });
}
