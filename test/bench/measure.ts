/** Timing of alternating runs: medians and ratios, so that a machine's drift hits both sides alike. */

export interface Comparison {
  readonly name: string;
  /** Median milliseconds (or a rate, see `unit`) of each contestant, by name. */
  readonly medians: ReadonlyMap<string, number>;
  readonly unit: string;
  /** `ours / peer` or its inverse for rates, as the target is written. */
  readonly ratio: number;
  readonly target: string;
  readonly isReached: boolean;
  readonly remarks: string;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export type Contestant = () => number | Promise<number>;

/**
 * Runs the contestants in turn, `rounds` times after `warmUps` (1), each returning its own figure (milliseconds, rate, ...). Every
 * second round goes backwards: who comes after somebody else finds other caches and an idler process than who comes after itself.
 * @returns the median of each
 */
export async function alternate(
  contestants: Readonly<Record<string, Contestant>>,
  rounds: number,
  warmUps = 1,
): Promise<Map<string, number>> {
  const figures = new Map<string, number[]>();
  const forwards = Object.entries(contestants);
  const backwards = forwards.toReversed();
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, run] of round % 2 === 0 ? forwards : backwards) {
      const figure = await run();
      if (round < 0) continue;
      const list = figures.get(name) ?? [];
      list.push(figure);
      figures.set(name, list);
    }
  }
  return new Map([...figures].map(([name, list]) => [name, median(list)]));
}

/** Milliseconds that `work` takes. */
export async function elapsedMs(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Milliseconds of the processor that `work` takes in this process, which a busy machine changes less than those of the clock. */
export async function processorMs(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Fails the bench when two answers differ: a fast wrong answer is no answer. */
export function requireEqual(what: string, ours: unknown, theirs: unknown): void {
  const left = JSON.stringify(ours);
  const right = JSON.stringify(theirs);
  if (left !== right) {
    throw new Error(
      `${what}: answers differ\n  ours   ${left.slice(0, 300)}\n  theirs ${right.slice(0, 300)}`,
    );
  }
}

export function printTable(comparisons: readonly Comparison[]): void {
  for (const { name, medians, unit, ratio, target, isReached, remarks } of comparisons) {
    const figures = [...medians].map(([who, value]) => `${who} ${format(value)}`).join('  ');
    const verdict = isReached ? 'ok  ' : 'MISS';
    process.stdout.write(
      `${verdict} ${name.padEnd(44)} ${format(ratio).padStart(7)}  (${target})  [${unit}] ${figures}  ${remarks}\n`,
    );
  }
}

function format(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}
