import { Histogram, histogramCells } from '#core/instruments.ts';

/** What consensus measures in its thread and scrapes read on the main one (ha.md 15): in memory that both share. */
export interface ConsensusMeasures {
  /** Seconds of writes of the log that ended on the disk. */
  readonly flushes: Histogram;
  /** Seconds by which the ticks of the thread came late. */
  readonly loopDelays: Histogram;
}

const cells = histogramCells();

/** @param memory that of another thread; default: its own */
export function measuresOver(memory: SharedArrayBuffer = measuresMemory()): ConsensusMeasures {
  const histogramAt = (place: number) =>
    new Histogram(undefined, new Float64Array(memory, place * cells * 8, cells));
  return { flushes: histogramAt(0), loopDelays: histogramAt(1) };
}

export function measuresMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(2 * cells * Float64Array.BYTES_PER_ELEMENT);
}
