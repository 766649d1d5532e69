import { type Label, labels } from '../simulation/simulation.ts';
import type { RunKind, SeedReport } from './seed-run.ts';

const tickMs = 50;
/** Of all seeds: who does too little tests nothing, and each label must be seen (ha-testing.md 3.5, 3.7). */
const idlePercentMax = 5;
const labelPercentMin = 1;
/** Fewer seeds say nothing of such shares. */
const seedsThatTell = 1000;

class KindTotals {
  seeds = 0;
  idle = 0;
  ticks = 0;
  processorMs = 0;
  readonly told = { ok: 0, failed: 0, unknown: 0 };
}

/** What many seeds come to. */
export class Totals {
  seeds = 0;
  ticks = 0;
  readonly failed: number[] = [];
  readonly #kinds = new Map<RunKind, KindTotals>();
  readonly #seen = new Map<Label, number>(labels.map((label) => [label, 0]));

  add({ seed, runs, labels: seen }: SeedReport): void {
    this.seeds += 1;
    if (runs.some(({ failure }) => failure !== undefined)) this.failed.push(seed);
    for (const label of seen) this.#seen.set(label, (this.#seen.get(label) ?? 0) + 1);
    for (const { kind, ticks, processorMs, isIdle, told } of runs) {
      this.ticks += ticks;
      if (ticks === 0) continue;
      const sums = this.#kinds.get(kind) ?? new KindTotals();
      this.#kinds.set(kind, sums);
      sums.seeds += 1;
      sums.ticks += ticks;
      sums.processorMs += processorMs;
      if (isIdle) sums.idle += 1;
      for (const outcome of ['ok', 'failed', 'unknown'] as const)
        sums.told[outcome] += told[outcome];
    }
  }

  get days(): number {
    return (this.ticks * tickMs) / 86_400_000;
  }

  /** What is too seldom, or too often. */
  problems(): readonly string[] {
    const found: string[] = [];
    for (const [kind, { seeds, idle }] of this.#kinds)
      if (seeds >= seedsThatTell && idle * 100 > seeds * idlePercentMax)
        found.push(`${idle} of ${seeds} seeds (${kind}) are idle`);
    if (this.seeds >= seedsThatTell)
      for (const [label, count] of this.#seen)
        if (count * 100 < this.seeds * labelPercentMin)
          found.push(`'${label}' is seen ${count} times`);
    return found;
  }

  lines(): readonly string[] {
    const kinds = [...this.#kinds].map(([kind, { seeds, idle, ticks, processorMs, told }]) => {
      const { ok, failed, unknown } = told;
      const times = Math.round((ticks * tickMs) / Math.max(1, processorMs));
      const clients = kind === 'core' ? '' : `, ${ok} ok, ${failed} failed, ${unknown} unknown`;
      return `${kind}: ${seeds} seeds, ${idle} idle, ${times} times real time on a core${clients}`;
    });
    return [JSON.stringify(Object.fromEntries(this.#seen)), ...kinds];
  }
}
