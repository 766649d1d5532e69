import { statfsSync } from 'node:fs';
import type { Clock, Timers } from '#core/runtime.ts';
import type { LogState } from '../consensus-port.ts';
import { LogFailure, type LogStore } from '../log-store/log-store.ts';

export interface LogHealthPort {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly segmentBytes: number;
  /** Restarts in place within one incident; 0: as many as it takes. */
  readonly restartsMax: number;
  /** Below this share of the volume the log is to be compacted; 0: never. */
  readonly freePercMin: number;
  readonly space: () => Space;
  readonly report: (level: 'warn' | 'error', text: string) => void;
  /** Opens the log anew and goes on from it. */
  readonly restart: () => Promise<void>;
}

export interface Space {
  /** Of what a process may use. */
  readonly available: number;
  readonly total: number;
}

const minuteMs = 60_000;
const slowMs = 1000;
/** After so long without trouble an incident is over. */
const healthyMs = 10 * minuteMs;
/** A restart in place needs room for as many. */
const segmentsNeeded = 2;

/** Nothing where there is no such volume any more. */
export function spaceAt(directory: string): Space {
  try {
    const { bavail, bsize, blocks } = statfsSync(directory);
    return { available: bavail * bsize, total: blocks * bsize };
  } catch {
    return { available: 0, total: 0 };
  }
}

/** The states of the log over a disk that fills and empties (ha.md 3.7). */
export class LogHealth {
  readonly #port: LogHealthPort;
  #state: LogState = 'OK';
  #restarts = 0;
  #restartedMs = 0;
  #freeBytes = 0;
  #reportedMs: number | undefined;
  #failure: Error | undefined;

  constructor(port: LogHealthPort) {
    this.#port = port;
    this.#weigh();
  }

  get state(): LogState {
    return this.#state;
  }

  failed(error: Error): void {
    if (this.#state === 'FAILED' || this.#state === 'GAVE_UP') return;
    this.#state = 'FAILED';
    this.#failure = error;
    this.#reportedMs = undefined;
    this.#reportFailure();
  }

  /** The disk took so long for a write of the log (ha.md 3.4 rule 7). */
  flushed(tookMs: number): void {
    if (tookMs > slowMs)
      this.#reportSeldom(
        'warn',
        `The disk took ${Math.round(tookMs)} ms for a write of the Raft log`,
      );
  }

  /** From time to time. */
  async check(): Promise<void> {
    if (this.#state === 'GAVE_UP') return;
    if (this.#state === 'FAILED') await this.#restart();
    else this.#weigh();
  }

  #weigh(): void {
    const { clock, space, freePercMin } = this.#port;
    if (this.#restarts > 0 && clock.monotonicMs() - this.#restartedMs >= healthyMs)
      this.#restarts = 0;
    const { available, total } = space();
    this.#freeBytes = available;
    const isScarce = available * 100 < total * freePercMin;
    this.#state = isScarce ? 'PRESSURE' : 'OK';
    if (isScarce)
      this.#reportSeldom(
        'warn',
        `The volume of Raft storage has ${available} bytes free of ${total}, below ${freePercMin} %: the log is compacted`,
      );
  }

  /** Of the volume, as it was last weighed. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  async #restart(): Promise<void> {
    const { clock, space, segmentBytes, restartsMax, report, restart } = this.#port;
    if (space().available < segmentsNeeded * segmentBytes) {
      this.#reportFailure();
      return;
    }
    if (restartsMax > 0 && this.#restarts >= restartsMax) {
      this.#state = 'GAVE_UP';
      report('error', `Raft gave up after ${this.#restarts} restarts in place: restart the server`);
      return;
    }
    this.#restarts += 1;
    this.#restartedMs = clock.monotonicMs();
    const attempt = `attempt ${this.#restarts}${restartsMax > 0 ? `/${restartsMax}` : ''}`;
    try {
      await restart();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      report('error', `Raft could not restart in place (${attempt}): ${this.#failure.message}`);
      return;
    }
    this.#state = 'OK';
    report('warn', `Raft restarted in place (${attempt})`);
  }

  #reportFailure(): void {
    const { available } = this.#port.space();
    const failure = this.#failure;
    const isFull = failure instanceof LogFailure && failure.isVolumeFull;
    const needed = segmentsNeeded * this.#port.segmentBytes;
    const at = isFull && failure.index !== undefined ? ` at index ${failure.index}` : '';
    this.#reportSeldom(
      'error',
      isFull
        ? `Volume of Raft storage is full: log failed${at}, ${available} free, ${needed} needed`
        : `The Raft log failed: ${failure?.message}`,
    );
  }

  #reportSeldom(level: 'warn' | 'error', text: string): void {
    const nowMs = this.#port.clock.monotonicMs();
    if (this.#reportedMs !== undefined && nowMs - this.#reportedMs < minuteMs) return;
    this.#reportedMs = nowMs;
    this.#port.report(level, text);
  }
}

/** After so long a log that is set aside is none of a row (ha.md 9.7). */
const soundMs = 300_000;

/** A log that was set aside (ha.md 3.5): others see it by the storage id, operators by this. */
export function tellOfLog(
  store: Pick<LogStore, 'setAside' | 'identity' | 'healthy'>,
  port: {
    readonly timers: Pick<Timers, 'after'>;
    readonly isRunning: () => boolean;
    readonly report: (text: string) => void;
  },
): void {
  const { setAside } = store;
  if (setAside !== undefined)
    port.report(
      `${setAside}; the log is set aside, and this server joins its cluster anew with an empty one`,
    );
  port.timers.after(soundMs, () => {
    if (port.isRunning() && store.identity.admitted) store.healthy().catch(() => {});
  });
}
