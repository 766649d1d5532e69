import type { Timers } from '#core/runtime.ts';
import type { Transferred } from '../consensus-port.ts';

export interface ForcedStepDownOptions {
  readonly transfer: () => Promise<Transferred>;
  /** Still the leader, with a copy that cannot go on. */
  readonly isNeeded: () => boolean;
  /** No other server took the lead; told again and again while that is so. */
  readonly failed: () => void;
  readonly timers: Pick<Timers, 'after'>;
}

const attemptsMax = 3;
const pauseMs = 500;
const tellEveryMs = 60_000;

/**
 * A leader that could not apply what a quorum has hands the lead over (contract 3, HA settings; ha.md 5.13): three attempts, then
 * an operator is told once a minute until it leads no more or its copy is whole again. Resolves then.
 */
export async function forceStepDown(options: ForcedStepDownOptions): Promise<void> {
  const { transfer, isNeeded, failed, timers } = options;
  // Nobody waits for it: it keeps no process alive.
  const pause = (ms: number) => new Promise<void>((resolve) => void timers.after(ms, resolve));
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    if (!isNeeded()) return;
    const isTransferred = await transfer().then(
      ({ kind }) => kind === 'transferred',
      () => false,
    );
    if (isTransferred) return;
    if (attempt < attemptsMax) await pause(pauseMs);
  }
  while (isNeeded()) {
    failed();
    await pause(tellEveryMs);
  }
}
