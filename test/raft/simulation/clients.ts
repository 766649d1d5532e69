import type { Operation } from '#test/history/history.ts';
import type { WriteRequest } from './machine.ts';
import type { SimulatedServer } from './server.ts';
import type { SimulationOptions } from './options.ts';

interface Pending {
  readonly call: number;
  readonly write: WriteRequest | undefined;
  readonly key: string;
  deadline: number;
  /** It was taken by some leader: from then on it may happen. */
  isTaken: boolean;
  attempts: number;
  readIndex: number | undefined;
  server: SimulatedServer | undefined;
}

const patienceTicks = 40;
const attemptsMax = 3;

/**
 * Clients that write and read registers, one operation at a time each; a write whose answer does not come is sent again with its
 * request id, elsewhere. Everything they do is the history.
 */
export class Clients {
  readonly history: Operation[] = [];
  readonly #pending = new Map<number, Pending>();
  readonly #options: SimulationOptions;
  readonly #random: (n: number) => number;
  #values = 0;
  #contexts = 0;
  #times = 0;
  readonly counts = { committed: 0, unknown: 0, repeated: 0, reads: 0 };

  constructor(options: SimulationOptions, random: (n: number) => number) {
    this.#options = options;
    this.#random = random;
  }

  /** Times of a history are in the order of what happened, also within a tick. */
  #time(): number {
    this.#times += 1;
    return this.#times;
  }

  tick(now: number, servers: readonly SimulatedServer[]): void {
    for (let client = 0; client < this.#options.clients; client++) {
      const pending = this.#pending.get(client);
      if (pending === undefined) {
        if (this.#random(3) === 0) this.#begin(client, now, servers);
      } else this.#look(client, pending, now, servers);
    }
  }

  #begin(client: number, now: number, servers: readonly SimulatedServer[]): void {
    const key = `k${this.#random(this.#options.keys)}`;
    const isRead = this.#random(100) < this.#options.readPercent;
    this.#values += 1;
    const write = { request: `r${this.#values}`, key, value: this.#values };
    const pending: Pending = {
      call: this.#time(),
      write: isRead ? undefined : write,
      key,
      deadline: 0,
      isTaken: false,
      attempts: 0,
      readIndex: undefined,
      server: undefined,
    };
    this.#pending.set(client, pending);
    this.#send(pending, now, servers);
  }

  #send(pending: Pending, now: number, servers: readonly SimulatedServer[]): void {
    pending.deadline = now + patienceTicks;
    pending.attempts += 1;
    pending.readIndex = undefined;
    const up = servers.filter(({ isUp }) => isUp);
    const leaders = up.filter(({ node }) => node?.isLeaderReady === true);
    // Mostly to who leads; reads go to anybody.
    const among = pending.write !== undefined && this.#random(8) > 0 ? leaders : up;
    const server = among[this.#random(Math.max(1, among.length))];
    pending.server = server;
    if (server?.node === undefined) return;
    if (pending.write !== undefined) {
      if (!server.node.isLeaderReady) return;
      const data = new TextEncoder().encode(JSON.stringify(pending.write));
      if (typeof server.node.propose([data]) === 'object') pending.isTaken = true;
      return;
    }
    this.#contexts += 1;
    const context = this.#contexts;
    server.reads.set(context, (index) => {
      server.reads.delete(context);
      if (pending.server === server) pending.readIndex = index;
    });
    server.node.readIndex(context);
  }

  #look(client: number, pending: Pending, now: number, servers: readonly SimulatedServer[]): void {
    const { write, server, readIndex, key } = pending;
    const answers = server?.isUp === true;
    if (write !== undefined && answers && server.machine.requests.has(write.request)) {
      this.#end(client, pending, 'ok', write.value);
      this.counts.committed += 1;
      return;
    }
    if (write === undefined && answers && readIndex !== undefined) {
      if (server.machine.applied >= readIndex) {
        this.#end(client, pending, 'ok', server.machine.registers.get(key) ?? null);
        this.counts.reads += 1;
        return;
      }
    }
    if (now < pending.deadline) return;
    if (write !== undefined && pending.attempts < attemptsMax) {
      if (pending.isTaken) this.counts.repeated += 1;
      this.#send(pending, now, servers);
    } else if (write !== undefined) {
      if (pending.isTaken) this.counts.unknown += 1;
      this.#end(client, pending, pending.isTaken ? 'unknown' : 'failed', write.value);
    } else this.#end(client, pending, 'failed', null);
  }

  /** What is on its way when the run ends. */
  close(): void {
    for (const [client, pending] of this.#pending)
      this.#end(
        client,
        pending,
        pending.isTaken ? 'unknown' : 'failed',
        pending.write?.value ?? null,
      );
  }

  #end(client: number, pending: Pending, outcome: Operation['outcome'], value: unknown): void {
    this.#pending.delete(client);
    const { call, key, write } = pending;
    const op = write === undefined ? 'read' : 'write';
    const known = { process: `c${client}`, op, key, value, call, outcome };
    this.history.push(outcome === 'unknown' ? known : { ...known, return: this.#time() });
  }
}
