import type { LinkedList } from '#core/linked-list.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { Connection } from './connection.ts';

const lookEveryMs = 50;
/** Connections looked at in a turn; some 0.3 ms. */
const connectionsPerLook = 2000;
/** Headers of this length are nobody's attack, and closing their connections would free nothing. */
const ordinaryBytes = 4096;

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
  #bytes = 0;
  #long: { readonly connection: Connection; readonly bytes: number }[] = [];

  constructor(options: HeaderMemoryOptions) {
    this.#options = options;
  }

  /** A connection waits for a request. */
  watch(): void {
    this.#stop ??= this.#options.timers.after(lookEveryMs, () => {
      this.#stop = undefined;
      this.#look();
      if (this.#options.idle.length > 0) this.watch();
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
        if (connection.isIdle) this.#options.refuse(connection);
      }
    }
    this.#round = [];
    this.#long = [];
  }
}
