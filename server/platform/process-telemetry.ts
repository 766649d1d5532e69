import {
  constants,
  monitorEventLoopDelay,
  performance as hooks,
  PerformanceObserver,
} from 'node:perf_hooks';
import { Histogram, type HistogramReading } from '#core/instruments.ts';

/** What the process itself uses, for scrapes. */
export interface ProcessReading {
  readonly userSeconds: number;
  readonly systemSeconds: number;
  readonly startTimeSeconds: number;
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly externalBytes: number;
  readonly arrayBufferBytes: number;
  /** Of the event loop since the reading before; seconds. */
  readonly loopDelay: { readonly mean: number; readonly p99: number; readonly max: number };
  /** Part of the time in which the event loop had work, since the start. */
  readonly loopUtilization: number;
  readonly collections: readonly (readonly [kind: string, seconds: HistogramReading])[];
}

const collectionKinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};
interface CollectionEntry {
  readonly duration: number;
  readonly detail?: { readonly kind?: number };
}

const loopSampleMs = 20;
const secondsPerNanosecond = 1e-9;

/** Watches event loop and garbage collection from its making on, which costs a timer every 20 ms. */
export class ProcessTelemetry {
  readonly #delay = monitorEventLoopDelay({ resolution: loopSampleMs });
  readonly #collections = new Map<string, Histogram>();
  readonly #observer: PerformanceObserver;

  constructor() {
    this.#delay.enable();
    for (const kind of Object.values(collectionKinds)) this.#collections.set(kind, new Histogram());
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as readonly CollectionEntry[]) {
        const kind = collectionKinds[entry.detail?.kind ?? -1];
        if (kind !== undefined) this.#collections.get(kind)?.observe(entry.duration / 1000);
      }
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  read(): ProcessReading {
    const { user, system } = process.cpuUsage();
    const memory = process.memoryUsage();
    const reading: ProcessReading = {
      userSeconds: user / 1e6,
      systemSeconds: system / 1e6,
      startTimeSeconds: Math.round(hooks.timeOrigin) / 1000,
      residentBytes: memory.rss,
      heapUsedBytes: memory.heapUsed,
      heapTotalBytes: memory.heapTotal,
      externalBytes: memory.external,
      arrayBufferBytes: memory.arrayBuffers,
      loopDelay: this.#loopDelay(),
      loopUtilization: hooks.eventLoopUtilization().utilization,
      collections: [...this.#collections].map(([kind, seconds]) => [kind, seconds.read()] as const),
    };
    this.#delay.reset();
    return reading;
  }

  close(): void {
    this.#delay.disable();
    this.#observer.disconnect();
  }

  /** The monitor measures its own timer, whose period is no delay. */
  #loopDelay(): ProcessReading['loopDelay'] {
    const seconds = (nanoseconds: number) =>
      Number.isFinite(nanoseconds)
        ? Math.max(0, nanoseconds * secondsPerNanosecond - loopSampleMs / 1000)
        : 0;
    const isEmpty = this.#delay.count === 0;
    if (isEmpty) return { mean: 0, p99: 0, max: 0 };
    const { mean, max } = this.#delay;
    return { mean: seconds(mean), p99: seconds(this.#delay.percentile(99)), max: seconds(max) };
  }
}
