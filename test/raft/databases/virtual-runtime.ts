import type { Cancel, Runtime } from '#core/runtime.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

const beganMs = Date.UTC(2026, 0, 1);

/** Time of one server that moves when it is told to; turns of the event loop are real ones. */
export class VirtualRuntime implements Runtime {
  #nowMs = 1000;
  #order = 0;
  #timers: Timer[] = [];
  #uuids = 0;
  readonly #random: (n: number) => number;

  constructor(random: (n: number) => number) {
    this.#random = random;
  }

  readonly clock: Runtime['clock'] = {
    now: () => beganMs + this.#nowMs,
    monotonicMs: () => this.#nowMs,
  };

  readonly timers: Runtime['timers'] = {
    after: (delayMs, run) => this.#after(delayMs, run),
    sleep: (delayMs) => new Promise((resolve) => void this.#after(delayMs, resolve)),
    yield: () => systemRuntime.timers.yield(),
    soon: (run) => systemRuntime.timers.soon?.(run),
  };

  readonly random: Runtime['random'] = {
    uint32: () => this.#random(2 ** 32),
    bytes: (length) => Uint8Array.from({ length }, () => this.#random(256)),
    uuid: () => {
      this.#uuids += 1;
      const [high, low] = [this.#random(2 ** 32), this.#uuids];
      return `${hex(high, 8)}-0000-4000-8000-${hex(low, 12)}`;
    },
  };

  #after(delayMs: number, run: () => void): Cancel {
    this.#order += 1;
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** What is due runs in its order; what that sets for now runs the next time. */
  advance(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.#nowMs);
    due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
    for (const { run } of due) run();
  }

  /** The process is gone: nothing of it goes on. */
  end(): void {
    this.#timers = [];
  }
}

function hex(n: number, digits: number): string {
  return n.toString(16).padStart(digits, '0');
}
