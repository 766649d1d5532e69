import type { Cancel, Timers } from '#core/runtime.ts';

const secondsPerMinute = 60;

/** How often something happened, as `GET /server` reports it. */
export interface MeterReading {
  readonly count: number;
  readonly reqPerMinLastMinute: number;
  readonly reqPerMinSinceLastTime: number;
}

/** Counts one kind of event. Marking costs an addition; rates come from samples that `Meters` takes once a second. */
export class Meter {
  count = 0;
  readonly #samples: number[] = [];
  #lastReadCount = 0;

  mark(): void {
    this.count += 1;
  }

  sample(): void {
    this.#samples.push(this.count);
    if (this.#samples.length > secondsPerMinute + 1) this.#samples.shift();
  }

  /** @param minutesSinceLast how long ago the last reading was */
  read(minutesSinceLast: number): MeterReading {
    const reading = this.peek(minutesSinceLast);
    this.#lastReadCount = this.count;
    return reading;
  }

  /** As `read`, without being a reading that the next one refers to. */
  peek(minutesSinceLast: number): MeterReading {
    const since = this.count - this.#lastReadCount;
    const oldest = this.#samples.length > secondsPerMinute ? (this.#samples[0] ?? 0) : 0;
    return {
      count: this.count,
      reqPerMinLastMinute: this.count - oldest,
      reqPerMinSinceLastTime: minutesSinceLast > 0 ? round(since / minutesSinceLast) : 0,
    };
  }
}

/** Meters by name. Names come from our own routes and counters, never from requests, so their number is bounded. */
export class Meters {
  readonly #byName = new Map<string, Meter>();
  readonly #timers: Timers;
  #stop: Cancel = () => {};

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The meter of this name; made at its first use. */
  meter(name: string): Meter {
    let meter = this.#byName.get(name);
    if (!meter) {
      meter = new Meter();
      this.#byName.set(name, meter);
    }
    return meter;
  }

  /** Samples every second until `close`. @param refresh called before each sample, to bring counts kept elsewhere */
  start(refresh: () => void): void {
    this.#stop = this.#timers.after(1000, () => {
      refresh();
      for (const meter of this.#byName.values()) meter.sample();
      this.start(refresh);
    });
  }

  close(): void {
    this.#stop();
  }

  /** Readings by name, those of the prefix only. */
  read(read: (meter: Meter) => MeterReading, prefix: string): Record<string, MeterReading> {
    const readings: Record<string, MeterReading> = {};
    for (const [name, meter] of this.#byName)
      if (name.startsWith(prefix)) readings[name.slice(prefix.length)] = read(meter);
    return readings;
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
