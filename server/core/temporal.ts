/** A calendar date, as days since 1970-01-01 (proleptic Gregorian). */
export class LocalDate {
  readonly valueKind = 'date';
  readonly epochDay: number;
  constructor(epochDay: number) {
    this.epochDay = epochDay;
  }
}

export type TemporalPrecision = 'second' | 'millis' | 'micros' | 'nanos';

/**
 * A moment: milliseconds since the epoch and nanoseconds within the millisecond (0..999,999). The precision is that of
 * the declared type and rules how many fraction digits are printed.
 */
export class DateTime {
  readonly valueKind = 'datetime';
  readonly epochMs: number;
  readonly nanosOfMs: number;
  readonly precision: TemporalPrecision;
  constructor(epochMs: number, nanosOfMs = 0, precision: TemporalPrecision = 'millis') {
    this.epochMs = epochMs;
    this.nanosOfMs = nanosOfMs;
    this.precision = precision;
  }
}

/** An exact length of time; `nanos` 0..999,999,999, so a negative duration has a negative `seconds` and nanos above 0. */
export class Duration {
  readonly valueKind = 'duration';
  readonly seconds: number;
  readonly nanos: number;
  constructor(seconds: number, nanos = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
  }
}
