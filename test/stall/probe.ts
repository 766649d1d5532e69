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
  /** Slowest of the health checks that ran beside it, one every 5 ms. */
  readonly healthMs: number;
  /** How many of them took more than 10 ms, which is what decides the 99th of a hundred. */
  readonly slowCount: number;
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

  async during(name: string, work: () => Promise<string>): Promise<Stall> {
    await this.#watch.ask('reset\n');
    await this.#healthSinceThen();
    const start = performance.now();
    const outcome = await work();
    const totalMs = performance.now() - start;
    const longest = JSON.parse(await this.#watch.ask('read\n')) as {
      wallMs: number;
      processorMs: number;
    };
    const healthMs = await this.#healthSinceThen();
    this.#healthMs.push(...healthMs);
    return {
      name,
      turnMs: longest.processorMs,
      turnWallMs: longest.wallMs,
      healthMs: Math.max(0, ...healthMs),
      slowCount: healthMs.filter((ms) => ms > 10).length,
      totalMs,
      outcome,
    };
  }

  /** How long `/health` took at this share of its answers. */
  healthMsAt(share: number): number {
    const sorted = [...this.#healthMs].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
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
