import type { Clock } from '#core/runtime.ts';

const nameCountMax = 10_000;

interface Attempts {
  failures: number;
  /** Of the first failure that counts; failures older than the window start anew. */
  firstMs: number;
  lastMs: number;
  running: number;
}

/**
 * Failed logins by name, whether the name exists or not (security.md 3): five failures within 30 s lock the name for 30 s
 * from the last one. Attempts that are still being checked count too, or a burst in parallel would get past. At most
 * 10,000 names are remembered.
 */
export class LoginAttempts {
  readonly #clock: Clock;
  readonly #limits: { readonly failuresMax: () => number; readonly windowMs: () => number };
  readonly #byName = new Map<string, Attempts>();

  constructor(
    clock: Clock,
    limits: { readonly failuresMax: () => number; readonly windowMs: () => number },
  ) {
    this.#clock = clock;
    this.#limits = limits;
  }

  isLocked(name: string): boolean {
    if (this.#byName.size === 0) return false;
    const attempts = this.#byName.get(name);
    if (!attempts) return false;
    this.#expire(attempts);
    return attempts.failures >= this.#limits.failuresMax();
  }

  /** True when as many attempts fail or are being checked as would lock the name. */
  isCrowded(name: string): boolean {
    const attempts = this.#byName.get(name);
    if (!attempts) return false;
    this.#expire(attempts);
    return attempts.failures + attempts.running >= this.#limits.failuresMax();
  }

  start(name: string): void {
    this.#of(name).running += 1;
  }

  /** @param outcome `unknown` when the check could not be made */
  finish(name: string, outcome: 'right' | 'wrong' | 'unknown'): void {
    const attempts = this.#of(name);
    attempts.running = Math.max(0, attempts.running - 1);
    if (outcome === 'wrong') {
      const now = this.#clock.monotonicMs();
      this.#expire(attempts);
      if (attempts.failures === 0) attempts.firstMs = now;
      attempts.failures += 1;
      attempts.lastMs = now;
    }
    if (outcome === 'right') attempts.failures = 0;
    if (attempts.failures === 0 && attempts.running === 0) this.#byName.delete(name);
  }

  /** The right password was given, without a check that had to start and finish. Cost: next to nothing without failures. */
  forgive(name: string): void {
    if (this.#byName.size === 0) return;
    const attempts = this.#byName.get(name);
    if (attempts) attempts.failures = 0;
  }

  #expire(attempts: Attempts): void {
    const isLocked = attempts.failures >= this.#limits.failuresMax();
    const since = isLocked ? attempts.lastMs : attempts.firstMs;
    if (this.#clock.monotonicMs() - since >= this.#limits.windowMs()) attempts.failures = 0;
  }

  #of(name: string): Attempts {
    let attempts = this.#byName.get(name);
    if (attempts) return attempts;
    if (this.#byName.size >= nameCountMax) this.#makeRoom();
    attempts = { failures: 0, firstMs: 0, lastMs: 0, running: 0 };
    this.#byName.set(name, attempts);
    return attempts;
  }

  /** Forgets names whose failures are over, else the one that is known longest. */
  #makeRoom(): void {
    for (const [name, attempts] of this.#byName) {
      this.#expire(attempts);
      if (attempts.failures === 0 && attempts.running === 0) this.#byName.delete(name);
    }
    if (this.#byName.size < nameCountMax) return;
    for (const name of this.#byName.keys()) {
      this.#byName.delete(name);
      return;
    }
  }
}
