import type { BackupConfig } from './config-form.ts';
import type { BackupPolicy } from './config.ts';
import { policyOf } from './config.ts';
import {
  cronSchedule,
  frequencySchedule,
  isInWindow,
  isPossibleCron,
  type Schedule,
} from './schedule.ts';

/** A backup that is due. */
export interface DueBackup {
  readonly database: string;
  readonly policy: BackupPolicy;
}

interface Planned {
  readonly policy: BackupPolicy;
  readonly schedule: Schedule;
  /** What the schedule was made of. */
  readonly spec: string;
  nextAt: number | undefined;
}

/** A clock that goes back by more was set, not corrected. */
const clockStepMs = 60_000;
const never: Schedule = { next: () => undefined };

/**
 * Which database is due when. Pure but for what it remembers: it is asked with the moment and the databases there are, so that
 * databases that come and go are scheduled and forgotten at the next question, which is a second later.
 */
export class BackupSchedules {
  readonly #config: BackupConfig;
  readonly #serverName: string;
  readonly #planned = new Map<string, Planned>();
  /** What was planned by the configuration before this one. */
  readonly #former: ReadonlyMap<string, Planned>;
  #lastMs = 0;

  /** @param former what held before: a schedule that did not change goes on, it does not begin anew */
  constructor(config: BackupConfig, serverName: string, former?: BackupSchedules) {
    this.#config = config;
    this.#serverName = serverName;
    this.#former = former === undefined ? new Map() : former.#planned;
  }

  /** Databases whose backup is due at this moment; each run is given out once. */
  due(nowMs: number, databases: readonly string[]): readonly DueBackup[] {
    const due: DueBackup[] = [];
    const existing = new Set(databases);
    if (nowMs < this.#lastMs - clockStepMs) this.#followClock(nowMs);
    this.#lastMs = nowMs;
    for (const name of this.#planned.keys()) if (!existing.has(name)) this.#planned.delete(name);
    for (const database of databases) {
      const planned = this.#plan(database, nowMs);
      if (planned?.nextAt === undefined || planned.nextAt > nowMs) continue;
      planned.nextAt = planned.schedule.next(nowMs);
      // Outside of its window a run is left out, not put off.
      if (isInWindow(nowMs, planned.policy.timeWindow))
        due.push({ database, policy: planned.policy });
    }
    return due;
  }

  /** When the next backup of a database is due; undefined when none will be. */
  nextAt(database: string): number | undefined {
    return this.#planned.get(database)?.nextAt;
  }

  /** The clock was set back: what is due next does not wait until it is where it was. */
  #followClock(nowMs: number): void {
    for (const planned of this.#planned.values()) {
      const next = planned.schedule.next(nowMs);
      if (next !== undefined && planned.nextAt !== undefined)
        planned.nextAt = Math.min(planned.nextAt, next);
    }
  }

  #plan(database: string, nowMs: number): Planned | undefined {
    const known = this.#planned.get(database);
    if (known !== undefined) return known;
    const policy = policyOf(this.#config, database);
    if (!policy.enabled || !this.#runsHere(policy)) return undefined;
    const { schedule: spec } = policy;
    const schedule = scheduleOf(spec);
    const text = JSON.stringify(spec);
    const former = this.#former.get(database);
    const nextAt = former?.spec === text ? former.nextAt : schedule.next(nowMs);
    const planned: Planned = { policy, schedule, spec: text, nextAt };
    this.#planned.set(database, planned);
    return planned;
  }

  /** A server on its own leads. */
  #runsHere({ runOnServer }: BackupPolicy): boolean {
    return ['$leader', '$all', '*', this.#serverName].includes(runOnServer);
  }
}

function scheduleOf(spec: BackupPolicy['schedule']): Schedule {
  if (spec.type === 'frequency') return frequencySchedule(spec.frequencyMinutes);
  return isPossibleCron(spec.expression) ? cronSchedule(spec.expression) : never;
}
