import type { Clock } from '#core/runtime.ts';
import type { DatabaseCounters, DatabasesPort } from '#database/session.ts';
import type { EventCounts, ServerEvents } from './event-log.ts';
import type { Meter, MeterReading, Meters } from './meters.ts';

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
    this.#lastProcessorMicroseconds = options.usage.processorMicroseconds();
  }

  /** Brings the counts of the engine into their meters. */
  refresh(): void {
    const counters = this.#databases.counters();
    for (const name of ratedCounters)
      this.#meters.meter(enginePrefix + name).count = counters[name];
  }

  /** Rates "since last time" refer to the last call of this. */
  read(): MetricsReading {
    const now = this.#clock.monotonicMs();
    const elapsedMs = Math.max(1, now - this.#lastReadMs);
    const reading = this.#reading(elapsedMs, (meter) => meter.read(elapsedMs / 60_000));
    this.#lastReadMs = now;
    this.#lastProcessorMicroseconds = this.#usage.processorMicroseconds();
    return reading;
  }

  /** As `read`, without being a reading that later rates refer to. */
  snapshot(): MetricsReading {
    const elapsedMs = Math.max(1, this.#clock.monotonicMs() - this.#lastReadMs);
    return this.#reading(elapsedMs, (meter) => meter.peek(elapsedMs / 60_000));
  }

  #reading(elapsedMs: number, read: (meter: Meter) => MeterReading): MetricsReading {
    this.refresh();
    const counters = this.#databases.counters();
    const meters: Record<string, MeterReading> = {};
    for (const [name, reading] of Object.entries(this.#meters.read(read, routePrefix)))
      meters[routePrefix + name] = reading;
    return {
      profiler: {
        ...this.#meters.read(read, enginePrefix),
        heapUsed: { space: this.#usage.heapUsed() },
        residentMemory: { space: this.#usage.residentBytes() },
        cpuLoad: { space: this.#processorPercent(elapsedMs) },
        openDatabases: { count: counters.openDatabases },
        openSessions: { count: counters.openSessions },
        statementsRunning: { count: this.#databases.running.statements.count },
        operationsRunning: { count: this.#databases.running.operations.running().length },
        ...this.#storage(),
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

  /** Of all open databases. */
  #storage(): Readonly<Record<string, Readonly<Record<string, number>>>> {
    let flushes = 0;
    let logBytes = 0;
    let mapBytes = 0;
    for (const storage of this.#databases.storage()) {
      flushes += storage.flushCount;
      logBytes += storage.logBytes;
      mapBytes += storage.mapBytes;
    }
    return {
      diskFlushes: { count: flushes },
      logWritten: { space: logBytes },
      databaseFiles: { space: mapBytes },
    };
  }

  /** Of one processor, since the last reading. */
  #processorPercent(elapsedMs: number): number {
    const used = this.#usage.processorMicroseconds();
    const percent = (used - this.#lastProcessorMicroseconds) / 10 / elapsedMs;
    return Math.round(percent * 10) / 10;
  }
}
