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

export interface Timers {
  after(delayMs: number, run: () => void): Cancel;
  sleep(delayMs: number): Promise<void>;
  /** Resolves after pending I/O events had their turn (setImmediate). */
  yield(): Promise<void>;
}

export interface Random {
  uint32(): number;
  bytes(length: number): Uint8Array;
  uuid(): string;
}
