import type { Clock } from '#core/runtime.ts';
import type { DatabaseCounters, DatabasesPort } from '#database/session.ts';
import type { EventCounts, ServerEvents } from './event-log.ts';
import type { MeterReading, Meters } from './meters.ts';

/** What the operating system says of the process; given by `main.ts`. */
export interface ProcessUsage {
  /** Bytes. */
  heapUsed(): number;
  residentBytes(): number;
  /** Microseconds of processor time since the start. */
  processorMicroseconds(): number;
}

/** `metrics` of `GET /server` (http-api.md 11.2). */
export interface MetricsReading {
  readonly profiler: Readonly<Record<string, MeterReading | Readonly<Record<string, number>>>>;
  readonly meters: Readonly<Record<string, MeterReading>>;
  readonly executors: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly events: EventCounts;
}

const ratedCounters = [
  'writeTx',
  'readTx',
  'txRollbacks',
  'queries',
  'concurrentModificationExceptions',
] as const satisfies readonly (keyof DatabaseCounters)[];

/** Meters of routes are kept under this prefix, those of the engine under `engine.`. */
const routePrefix = 'http.';
const enginePrefix = 'engine.';

/** Puts meters, engine counters and the state of the process together; rates refer to the last reading. */
export class Metrics {
  readonly #meters: Meters;
  readonly #databases: DatabasesPort;
  readonly #events: ServerEvents;
  readonly #clock: Clock;
  readonly #usage: ProcessUsage;
  #lastReadMs: number;
  #lastProcessorMicroseconds = 0;

  constructor(options: {
    meters: Meters;
    databases: DatabasesPort;
    events: ServerEvents;
    clock: Clock;
    usage: ProcessUsage;
  }) {
    this.#meters = options.meters;
    this.#databases = options.databases;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#usage = options.usage;
    this.#lastReadMs = options.clock.monotonicMs();
  }

  /** Brings the counts of the engine into their meters. */
  refresh(): void {
    const counters = this.#databases.counters();
    for (const name of ratedCounters)
      this.#meters.meter(enginePrefix + name).count = counters[name];
  }

  read(): MetricsReading {
    this.refresh();
    const counters = this.#databases.counters();
    const now = this.#clock.monotonicMs();
    const elapsedMs = Math.max(1, now - this.#lastReadMs);
    this.#lastReadMs = now;
    const minutes = elapsedMs / 60_000;
    const meters: Record<string, MeterReading> = {};
    for (const [name, reading] of Object.entries(this.#meters.read(minutes, routePrefix)))
      meters[routePrefix + name] = reading;
    return {
      profiler: {
        ...this.#meters.read(minutes, enginePrefix),
        heapUsed: { space: this.#usage.heapUsed() },
        residentMemory: { space: this.#usage.residentBytes() },
        cpuLoad: { space: this.#processorPercent(elapsedMs) },
        openDatabases: { count: counters.openDatabases },
        openSessions: { count: counters.openSessions },
      },
      meters,
      executors: {
        async: {
          activeCount: counters.asyncActive,
          queueSize: counters.asyncQueued,
          completedCount: counters.asyncCompleted,
        },
      },
      events: this.#events.counts,
    };
  }

  /** Of one processor, since the last reading. */
  #processorPercent(elapsedMs: number): number {
    const used = this.#usage.processorMicroseconds();
    const percent = (used - this.#lastProcessorMicroseconds) / 10 / elapsedMs;
    this.#lastProcessorMicroseconds = used;
    return Math.round(percent * 10) / 10;
  }
}
