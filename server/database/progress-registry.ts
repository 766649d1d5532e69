import type { Clock, EpochMs } from '#core/runtime.ts';

/** One running maintenance operation, as `GET /progress/{database}` shows it (http-api.md 13). */
export interface ProgressEntry {
  readonly id: number;
  readonly database: string;
  /** Lower case: `rebuild index`, `backup database`, ... */
  readonly operation: string;
  readonly startedAt: EpochMs;
  readonly stepIndex: number;
  readonly stepCount: number;
  readonly step: string;
  readonly done: number;
  /** -1 while unknown. */
  readonly total: number;
  /** floor(done * 100 / total), -1 while unknown. */
  readonly percentage: number;
}

/** What an operation reports to; `finish` makes its entry vanish. */
export interface ProgressReporter {
  /** Enters the next step; `total` undefined when nobody knows how much work it is. */
  step(name: string, total: number | undefined): void;
  advance(units: number): void;
  finish(): void;
}

interface MutableProgress {
  stepIndex: number;
  step: string;
  done: number;
  total: number;
}

/** The operations that run now, of all databases. Entries vanish when their operation ends. */
export class ProgressRegistry {
  readonly #clock: Clock;
  readonly #running = new Map<
    number,
    { readonly about: ProgressEntry; readonly at: MutableProgress }
  >();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(database: string, operation: string, stepCount: number): ProgressReporter {
    this.#lastId += 1;
    const id = this.#lastId;
    const at: MutableProgress = { stepIndex: -1, step: '', done: 0, total: -1 };
    const about: ProgressEntry = {
      id,
      database,
      operation,
      startedAt: this.#clock.now(),
      stepIndex: 0,
      stepCount,
      step: '',
      done: 0,
      total: -1,
      percentage: -1,
    };
    this.#running.set(id, { about, at });
    return {
      step: (name, total) => {
        at.stepIndex += 1;
        at.step = name;
        at.done = 0;
        at.total = total ?? -1;
      },
      advance: (units) => {
        at.done += units;
      },
      finish: () => {
        this.#running.delete(id);
      },
    };
  }

  /** In start order. */
  of(database: string): readonly ProgressEntry[] {
    const entries: ProgressEntry[] = [];
    for (const { about, at } of this.#running.values()) {
      if (about.database !== database) continue;
      entries.push({
        ...about,
        stepIndex: Math.max(0, at.stepIndex),
        step: at.step,
        done: at.done,
        total: at.total,
        percentage: at.total > 0 ? Math.floor((at.done * 100) / at.total) : -1,
      });
    }
    return entries;
  }
}
