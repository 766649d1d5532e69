/** Time, randomness and timers come in through these, so that a whole cluster runs deterministically in one process. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

export type EpochMs = number;
export type Cancel = () => void;

export interface Clock {
  now(): EpochMs;
  /** Milliseconds with a fraction, from an arbitrary origin, never going back. */
  monotonicMs(): number;
}

/** Work that pauses again and again. */
export interface PausingWorker {
  /** So often so far. */
  readonly pauseCount: number;
}

export interface Timers {
  after(delayMs: number, run: () => void): Cancel;
  sleep(delayMs: number): Promise<void>;
  /**
   * Resolves after pending I/O events had their turn (setImmediate).
   * @param worker whose pause it is; nobody's: one of its kind, like the first of a worker
   */
  yield(worker?: PausingWorker): Promise<void>;
  /**
   * Runs it when the events that are there already had their turn. Unlike `yield` it waits for no slice of long work, so what it runs
   * must be short. A runtime without it has no such events.
   */
  soon?(run: () => void): void;
}

export interface Random {
  uint32(): number;
  bytes(length: number): Uint8Array;
  uuid(): string;
}
