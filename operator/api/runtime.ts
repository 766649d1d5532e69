/** Time and chance come in through these, so that a simulated control plane can drive the whole operator. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. Leases are judged by this one. */
  monotonicMs(): number;
}

export interface Timers {
  /** @returns a function that cancels; calling it late is harmless */
  after(delayMs: number, run: () => void): () => void;
  /** Resolves after the delay, or at once when `signal` is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** At least 0, less than 1. Not for secrets. */
  fraction(): number;
  /** Letters and digits, each with the same chance, fit for a password. */
  secret(length: number): string;
  uuid(): string;
}

/** One line of the log, with fields a machine can read. Never given values of Secrets or request bodies. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
