import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Runtime } from '../api/runtime.ts';
import type { Metrics } from '../kubernetes/metrics.ts';

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  readonly runtime: Runtime;
  readonly metrics: Metrics;
  /** Caches are filled; holding the lease is not needed. */
  readonly isReady: () => boolean;
  /** Given how late the event loop is. Never depends on the API server being reachable. */
  readonly isAlive: (eventLoopLagMs: number) => boolean;
  readonly failingForMs: () => number;
  readonly failingMsMax: number;
}

const lagProbeMs = 1000;

/** `/healthz`, `/readyz` and `/metrics`. */
export async function startHealthServer(options: HealthOptions): Promise<Server> {
  const { runtime, metrics } = options;
  let lagMs = 0;
  const probe = () => {
    const expectedAt = runtime.clock.monotonicMs() + lagProbeMs;
    runtime.timers.after(lagProbeMs, () => {
      lagMs = Math.max(0, runtime.clock.monotonicMs() - expectedAt);
      probe();
    });
  };
  probe();
  const server = createServer((request, response) => {
    const answer = (status: number, text: string) =>
      response.writeHead(status, { 'Content-Type': 'text/plain; version=0.0.4' }).end(text);
    switch (request.url?.split('?')[0]) {
      case '/healthz':
        return options.isAlive(lagMs)
          ? answer(200, 'ok\n')
          : answer(503, `event loop ${Math.round(lagMs)} ms late\n`);
      case '/readyz': {
        const failingMs = options.failingForMs();
        if (!options.isReady()) return answer(503, 'caches are being filled\n');
        return failingMs < options.failingMsMax
          ? answer(200, 'ok\n')
          : answer(503, `watches have failed for ${Math.round(failingMs / 1000)} s\n`);
      }
      case '/metrics':
        return answer(200, metrics.render());
      default:
        return answer(404, 'not found\n');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return server;
}
