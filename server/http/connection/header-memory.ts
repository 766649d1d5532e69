import type { LinkedList } from '#core/linked-list.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { Connection } from './connection.ts';

const lookEveryMs = 50;
/** Connections looked at in a turn; some 0.3 ms. */
const connectionsPerLook = 2000;
/** Headers of this length are nobody's attack, and closing their connections would free nothing. */
const ordinaryBytes = 4096;
/** Of headers that are long already. From here on connections are read from in slices, since a turn may read a megabyte of each. */
const slicedFromBytes = 1024 * 1024;
const connectionsPerSlice = 16;
const sliceMs = 1;
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
  #bytes = 0;
  #long: { readonly connection: Connection; readonly bytes: number }[] = [];

  constructor(options: HeaderMemoryOptions) {
    this.#options = options;
  }

  /** A connection waits for a request. */
  watch(connection: Connection): void {
    // node:http begins to read behind the event that tells of a connection.
    if (this.#isSlicing) queueMicrotask(() => this.#rest(connection));
    this.#watch();
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
    connection.socket.pause();
    this.#resting.add(connection);
  }

  /** Others are read from until the next look, those that rest longest. */
  #nextSlice(): void {
    for (const connection of this.#slice) this.#rest(connection);
    this.#slice = [];
    for (const connection of this.#resting) {
      if (this.#slice.length >= connectionsPerSlice) break;
      this.#resting.delete(connection);
      if (connection.socket.destroyed) continue;
      this.#slice.push(connection);
      connection.socket.resume();
    }
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
    const end = Math.min(this.#round.length, this.#at + connectionsPerLook);
    for (; this.#at < end; this.#at += 1) {
      const connection = this.#round[this.#at] as Connection;
      const bytes = connection.isIdle ? connection.pendingBytes() : 0;
      this.#bytes += bytes;
      if (bytes > ordinaryBytes) this.#long.push({ connection, bytes });
    }
    if (this.#at >= this.#round.length) this.#bound();
  }

  #begin(): void {
    const round: Connection[] = [];
    for (let one = this.#options.idle.first; one !== undefined; one = one.next) round.push(one);
    this.#round = round;
    this.#at = 0;
    this.#bytes = 0;
    this.#long = [];
  }

  #bound(): void {
    const bytesMax = this.#options.bytesMax();
    if (this.#bytes > bytesMax) {
      this.#long.sort((a, b) => b.bytes - a.bytes);
      for (const { connection, bytes } of this.#long) {
        if (this.#bytes <= bytesMax / 2) break;
        this.#bytes -= bytes;
        if (!connection.isIdle) continue;
        // Nobody would see that it goes.
        if (this.#resting.delete(connection)) connection.socket.resume();
        this.#options.refuse(connection);
      }
    }
    if (this.#bytes > slicedFromBytes && !this.#isSlicing) this.#beginSlices();
    else if (this.#long.length === 0 && this.#isSlicing) this.#endSlices();
    this.#round = [];
    this.#long = [];
  }
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
