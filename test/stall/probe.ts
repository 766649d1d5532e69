import { connect, type Socket } from 'node:net';

/** What one statement did to everybody else. */
export interface Stall {
  readonly name: string;
  /** Longest turn of the server's event loop, in processor time of its thread and on the clock. */
  readonly turnMs: number;
  readonly turnWallMs: number;
  /** Slowest of the health checks that ran beside it, one every 5 ms. */
  readonly healthMs: number;
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

const healthRequest = 'GET /api/v1/health HTTP/1.1\r\nhost: x\r\n\r\n';
const probeEveryMs = 5;

export class Prober {
  readonly #health: Line;
  readonly #watch: Line;

  constructor(port: number, watchPort: number) {
    this.#health = new Line(port, (text) => text.includes('\r\n\r\n'));
    this.#watch = new Line(watchPort, (text) => text.endsWith('\n'));
  }

  async during(name: string, work: () => Promise<string>): Promise<Stall> {
    await this.#watch.ask('reset\n');
    let isOver = false;
    let healthMs = 0;
    const probing = (async () => {
      while (!isOver) {
        const start = performance.now();
        await this.#health.ask(healthRequest);
        healthMs = Math.max(healthMs, performance.now() - start);
        await new Promise((done) => setTimeout(done, probeEveryMs));
      }
    })();
    const start = performance.now();
    const outcome = await work();
    const totalMs = performance.now() - start;
    isOver = true;
    await probing;
    const longest = JSON.parse(await this.#watch.ask('read\n')) as {
      wallMs: number;
      processorMs: number;
    };
    return {
      name,
      turnMs: longest.processorMs,
      turnWallMs: longest.wallMs,
      healthMs,
      totalMs,
      outcome,
    };
  }

  end(): void {
    this.#health.end();
    this.#watch.end();
  }
}
