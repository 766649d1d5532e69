import type { IncomingMessage, ServerResponse } from 'node:http';
import { gauge, type HistogramSample, type MetricFamily } from '#control/telemetry.ts';
import { Histogram, LabelledCounts } from '#core/instruments.ts';

/** Times of the requests of one route. */
export class RouteMeter {
  readonly method: string;
  /** The pattern, never a path that a client sent. */
  readonly route: string;
  readonly byStatus = new Map<number, Histogram>();

  constructor(method: string, route: string) {
    this.method = method;
    this.route = route;
  }

  observe(status: number, seconds: number): void {
    let histogram = this.byStatus.get(status);
    if (histogram === undefined) {
      histogram = new Histogram();
      this.byStatus.set(status, histogram);
    }
    histogram.observe(seconds);
  }
}

/** What is measured; an exchange is one. */
export interface MeasuredRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set when the request came to a route. */
  readonly route: RouteMeter | undefined;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

/** Told of a request whose client left before it was answered. */
const clientLeft = 499;

/** Measures every request, by route and status. Cost per request: two looks at the clock and one observation. */
export class RequestMeter {
  /** Rows that batch calls made durable, by kind. */
  readonly batchRows = new LabelledCounts();
  readonly #routes: RouteMeter[] = [];
  /** Paths that no route has. */
  readonly #unknown = new RouteMeter('*', 'unknown');
  readonly #connections: () => { readonly open: number; readonly busy: number };
  readonly #find: (measured: MeasuredRequest) => RouteMeter | undefined;

  /** @param find the route of a request that was refused before it came to one */
  constructor(given: {
    readonly connections: () => { readonly open: number; readonly busy: number };
    readonly find: (measured: MeasuredRequest) => RouteMeter | undefined;
  }) {
    this.#connections = given.connections;
    this.#find = given.find;
  }

  /** Makes the meter of a route. */
  add(method: string, route: string): RouteMeter {
    const meter = new RouteMeter(method, route);
    this.#routes.push(meter);
    return meter;
  }

  /** The answer was sent, or the client has left. */
  observe(measured: MeasuredRequest, endedMs: number): void {
    const route = measured.route ?? this.#find(measured) ?? this.#unknown;
    const { response } = measured;
    const status = response.headersSent ? response.statusCode : clientLeft;
    route.observe(status, (endedMs - measured.startedMs) / 1000);
  }

  families(): readonly MetricFamily[] {
    const times: HistogramSample[] = [];
    for (const { method, route, byStatus } of [...this.#routes, this.#unknown])
      for (const [status, histogram] of byStatus) {
        const labels = { method, route, status: String(status) };
        times.push({ labels, histogram: histogram.read() });
      }
    const { open, busy } = this.#connections();
    return [
      {
        name: 'http_requests',
        help: 'Requests that were answered, by route and status; 499: the client left before',
        type: 'counter',
        samples: times.map(({ labels, histogram }) => ({ labels, value: histogram.count })),
      },
      {
        name: 'http_request_seconds',
        help: 'Time from the head of a request to the end of its answer',
        type: 'histogram',
        samples: times,
      },
      gauge('http_connections', 'Open HTTP connections', open),
      gauge('http_requests_running', 'Requests that are not answered yet', busy),
      {
        name: 'batch_rows',
        help: 'Records that batch calls made durable, by kind',
        type: 'counter',
        samples: [...this.batchRows.entries()].map(([kind, value]) => ({
          labels: { kind },
          value,
        })),
      },
    ];
  }
}
