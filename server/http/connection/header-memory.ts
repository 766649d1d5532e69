import type { LinkedList } from '#core/linked-list.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { Connection } from './connection.ts';

const lookEveryMs = 50;
/** Connections looked at in a turn; some 0.3 ms. */
const connectionsPerLook = 2000;
/** Headers up to this length are nobody's attack alone. */
const ordinaryBytes = 4096;
/** Of headers that are long already. From here on connections are read from in slices, since a turn may read a megabyte of each. */
const slicedFromBytes = 1024 * 1024;
/** A slice is a quarter of the one before when that read so much, else by one longer. */
const sliceBytesMax = 512 * 1024;
const connectionsPerSlice = { least: 1, first: 8, most: 128 } as const;
const sliceMs = 1;
/** New connections whose first bytes are looked at together; from so many bytes on all are looked at, and not at their time. */
const newcomersPerLook = 8;
const newcomersBytesMax = 256 * 1024;
const keepsAgainMs = 1000;

export interface HeaderMemoryOptions {
  readonly timers: Timers;
  /** All connections without a request. */
  readonly idle: LinkedList<Connection>;
  /** `service.server.httpMaxPendingHeaders` */
  readonly bytesMax: () => number;
  /** Answers a connection whose headers are too much, and closes it. */
  readonly refuse: (connection: Connection) => void;
}

/**
 * What connections have sent of headers that are not complete. The parser of node:http keeps it, nobody was asked for
 * credentials yet, and each connection alone stays below its limit: so all are looked at, some times a second, and those with the
 * most are refused when it is too much in all (limits.md 33).
 */
export class HeaderMemory {
  readonly #options: HeaderMemoryOptions;
  #stop: Cancel | undefined;
  /** Of this round. */
  #round: readonly Connection[] = [];
  #at = 0;
  #isSlicing = false;
  /** Idle connections that are not read from, longest first, and those that are for a moment. */
  readonly #resting = new Set<Connection>();
  #slice: Connection[] = [];
  /** What the connections of the slice had sent before it. */
  #sliceBytes = 0;
  #sliceLength: number = connectionsPerSlice.first;
  #newcomers: Connection[] = [];
  #bytes = 0;
  #pending: { readonly connection: Connection; readonly bytes: number }[] = [];
  #longCount = 0;

  constructor(options: HeaderMemoryOptions) {
    this.#options = options;
  }

  /** A connection waits for a request. */
  watch(connection: Connection): void {
    // node:http begins to read behind the event that tells of a connection.
    if (this.#isSlicing) queueMicrotask(() => this.#rest(connection));
    this.#watch();
  }

  /**
   * A new connection. One is accepted in each turn, and a megabyte may be read with it, so that many would have sent a multiple of
   * what is allowed before the next look.
   */
  opened(connection: Connection): void {
    this.#newcomers.push(connection);
    if (this.#newcomers.length < newcomersPerLook) return;
    const bytes = pendingBytesOf(this.#newcomers);
    this.#newcomers = [];
    if (bytes < newcomersBytesMax) return;
    this.#begin();
    this.#lookAt(this.#round.length);
  }

  #watch(): void {
    this.#stop ??= this.#options.timers.after(this.#isSlicing ? sliceMs : lookEveryMs, () => {
      this.#stop = undefined;
      this.#look();
      if (this.#isSlicing) this.#nextSlice();
      if (this.#options.idle.length > 0) this.#watch();
    });
  }

  #rest(connection: Connection): void {
    if (!connection.isIdle || !this.#isSlicing || connection.isRefused) return;
    // Who completes requests is not held up by who does not.
    if (connection.hasAsked && connection.pendingBytes() <= ordinaryBytes) return;
    connection.socket.pause();
    this.#resting.add(connection);
  }

  /** Others are read from until the next look, those that rest longest. */
  #nextSlice(): void {
    const bytes = pendingBytesOf(this.#slice) - this.#sliceBytes;
    this.#sliceLength =
      bytes > sliceBytesMax
        ? Math.max(connectionsPerSlice.least, this.#sliceLength >> 2)
        : Math.min(connectionsPerSlice.most, this.#sliceLength + 1);
    for (const connection of this.#slice) this.#rest(connection);
    this.#slice = [];
    for (const connection of this.#resting) {
      if (this.#slice.length >= this.#sliceLength) break;
      this.#resting.delete(connection);
      if (connection.socket.destroyed) continue;
      this.#slice.push(connection);
      connection.socket.resume();
    }
    this.#sliceBytes = pendingBytesOf(this.#slice);
  }

  #beginSlices(): void {
    this.#isSlicing = true;
    keepParsers(false);
    for (let one = this.#options.idle.first; one !== undefined; one = one.next) this.#rest(one);
  }

  #endSlices(): void {
    this.#isSlicing = false;
    for (const { socket } of this.#resting) socket.resume();
    this.#resting.clear();
    this.#slice = [];
    // Connections that were refused are still being closed.
    this.#options.timers.after(keepsAgainMs, () => {
      if (!this.#isSlicing) keepParsers(true);
    });
  }

  #look(): void {
    if (this.#at >= this.#round.length) this.#begin();
    this.#lookAt(Math.min(this.#round.length, this.#at + connectionsPerLook));
  }

  #lookAt(end: number): void {
    for (; this.#at < end; this.#at += 1) {
      const connection = this.#round[this.#at] as Connection;
      const bytes = connection.isIdle ? connection.pendingBytes() : 0;
      this.#bytes += bytes;
      if (bytes > 0) this.#pending.push({ connection, bytes });
      if (bytes <= ordinaryBytes) continue;
      this.#longCount += 1;
      this.#rest(connection);
    }
    if (this.#at >= this.#round.length) this.#bound();
  }

  #begin(): void {
    const round: Connection[] = [];
    for (let one = this.#options.idle.first; one !== undefined; one = one.next) round.push(one);
    this.#round = round;
    this.#at = 0;
    this.#bytes = 0;
    this.#pending = [];
    this.#longCount = 0;
  }

  #bound(): void {
    const bytesMax = this.#options.bytesMax();
    if (this.#bytes > bytesMax) {
      this.#pending.sort((a, b) => b.bytes - a.bytes);
      for (const { connection, bytes } of this.#pending) {
        if (this.#bytes <= bytesMax / 2) break;
        this.#bytes -= bytes;
        if (!connection.isIdle) continue;
        // Nobody would see that it goes.
        if (this.#resting.delete(connection)) connection.socket.resume();
        this.#options.refuse(connection);
      }
    }
    if (this.#bytes > slicedFromBytes && !this.#isSlicing) this.#beginSlices();
    else if (this.#longCount === 0 && this.#isSlicing) this.#endSlices();
    this.#round = [];
    this.#pending = [];
  }
}

function pendingBytesOf(connections: readonly Connection[]): number {
  let bytes = 0;
  for (const connection of connections) if (connection.isIdle) bytes += connection.pendingBytes();
  return bytes;
}

/** The parsers that node:http keeps for later connections. */
interface ParserPool {
  max: number;
}

const pool = (process.getBuiltinModule('_http_common') as { parsers?: ParserPool } | undefined)
  ?.parsers;
const keptParsersMax = pool?.max ?? 0;

/**
 * A parser of node:http that is kept for a later connection keeps the headers that its last one did not finish, too: 600 of them
 * held 130 MB after the last connection was closed. Those that are not kept are freed with their connection.
 */
function keepParsers(areKept: boolean): void {
  if (pool !== undefined) pool.max = areKept ? keptParsersMax : 0;
}
