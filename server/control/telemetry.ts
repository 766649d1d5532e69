import type { Histogram, HistogramReading } from '#core/instruments.ts';

/** Label values by name; only values of our own tables, and names of databases up to a bound. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: Labels;
  readonly histogram: HistogramReading;
}

/** One metric with its samples. Names are without the suffix `_total` of counters and without our prefix. */
export type MetricFamily =
  | {
      readonly name: string;
      readonly help: string;
      readonly type: 'counter' | 'gauge';
      readonly samples: readonly Sample[];
    }
  | {
      readonly name: string;
      readonly help: string;
      readonly type: 'histogram';
      readonly samples: readonly HistogramSample[];
    };

/** Who asks: what is told of databases depends on it. */
export interface TelemetryReader {
  readonly canSee: (database: string) => boolean;
}

/** Reads the instruments of one part of the server. */
export type TelemetrySource = (reader: TelemetryReader) => readonly MetricFamily[];

/** What all parts of the server measure, for scrapes. Nothing is computed before somebody asks. */
export class Telemetry {
  readonly #sources: TelemetrySource[] = [];

  add(source: TelemetrySource): void {
    this.#sources.push(source);
  }

  families(reader: TelemetryReader): readonly MetricFamily[] {
    return this.#sources.flatMap((source) => source(reader));
  }
}

/** A counter without labels. */
export function counter(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'counter', samples: [{ labels: {}, value }] };
}

/** A gauge without labels. */
export function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'gauge', samples: [{ labels: {}, value }] };
}

/** A histogram without labels. */
export function histogram(name: string, help: string, values: Histogram): MetricFamily {
  return { name, help, type: 'histogram', samples: [{ labels: {}, histogram: values.read() }] };
}

/** A counter with one label. */
export function countersBy(
  label: string,
  about: { readonly name: string; readonly help: string },
  values: Iterable<readonly [string, number]>,
): MetricFamily {
  const samples = [...values].map(([name, value]) => ({ labels: { [label]: name }, value }));
  return { ...about, type: 'counter', samples };
}
