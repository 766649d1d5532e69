import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

/** What one statement did to everybody else. */
export interface Stall {
  readonly name: string;
  /** Longest turn of the server's event loop, in processor time of its thread and on the clock. */
  readonly turnMs: number;
  readonly turnWallMs: number;
  /** The longest turn in processor time without the collections of garbage in it. */
  readonly ownMs: number;
  /** Which step held the loop in that turn, where it is asked for. */
  readonly heldBy: string;
  /** Longest collection of garbage on the clock, which is part of a turn. */
  readonly collectionMs: number;
  /** Of the health checks that ran beside it, one every 5 ms: the middle one, the 99th of a hundred, the slowest, and how many took more than 10 ms. */
  readonly healthMedianMs: number;
  readonly healthP99Ms: number;
  readonly healthMs: number;
  readonly healthSlowCount: number;
  readonly healthCount: number;
  readonly totalMs: number;
  readonly outcome: string;
}

/** One connection on which texts are asked one after the other. */
export class Line {
  readonly #socket: Socket;
  #received = '';
  #answered: ((text: string) => void) | undefined;
  readonly #isWhole: (text: string) => boolean;

  constructor(port: number, isWhole: (text: string) => boolean) {
    this.#isWhole = isWhole;
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      if (!this.#isWhole(this.#received)) return;
      const text = this.#received;
      this.#received = '';
      this.#answered?.(text);
    });
    this.#socket.on('error', () => this.#answered?.(''));
  }

  ask(text: string): Promise<string> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(text);
    });
  }

  end(): void {
    this.#socket.destroy();
  }
}

/** What is tried, and what `/health` takes meanwhile. */
export class Prober {
  readonly #health: ChildProcess;
  readonly #watch: Line;
  /** Of every answer of `/health`, whatever was tried meanwhile. */
  readonly #healthMs: number[] = [];

  constructor(port: number, watchPort: number) {
    this.#health = fork(join(import.meta.dirname, 'health.ts'), [String(port)]);
    this.#watch = new Line(watchPort, (text) => text.endsWith('\n'));
  }

  /** Does `work` once, and again until `minimumMs` have passed: a hundred health checks take half a second. */
  async during(name: string, work: () => Promise<string>, minimumMs = 0): Promise<Stall> {
    await this.#watch.ask('reset\n');
    await this.#healthSinceThen();
    const start = performance.now();
    let outcome = await work();
    while (performance.now() - start < minimumMs) outcome = await work();
    const totalMs = performance.now() - start;
    const longest = JSON.parse(await this.#watch.ask('read\n')) as {
      wallMs: number;
      processorMs: number;
      ownMs: number;
      heldBy: string;
      collectionMs: number;
    };
    const healthMs = await this.#healthSinceThen();
    this.#healthMs.push(...healthMs);
    return {
      name,
      turnMs: longest.processorMs,
      turnWallMs: longest.wallMs,
      ownMs: longest.ownMs,
      heldBy: longest.heldBy,
      collectionMs: longest.collectionMs,
      healthMedianMs: share(healthMs, 0.5),
      healthP99Ms: share(healthMs, 0.99),
      healthMs: Math.max(0, ...healthMs),
      healthSlowCount: healthMs.filter((ms) => ms > 10).length,
      healthCount: healthMs.length,
      totalMs,
      outcome,
    };
  }

  /** How long `/health` took at this share of its answers. */
  healthMsAt(of: number): number {
    return share(this.#healthMs, of);
  }

  get healthCount(): number {
    return this.#healthMs.length;
  }

  async #healthSinceThen(): Promise<readonly number[]> {
    this.#health.send('tell');
    const [tookMs] = (await once(this.#health, 'message')) as [readonly number[]];
    return tookMs;
  }

  end(): void {
    this.#health.kill();
    this.#watch.end();
  }
}

function share(values: readonly number[], of: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * of)] ?? Number.NaN;
}
