import type { BackupConfig } from './config-file.ts';
import type { BackupPolicy } from './config.ts';
import { policyOf } from './config.ts';
import { cronSchedule, frequencySchedule, isInWindow, type Schedule } from './schedule.ts';

/** A backup that is due. */
export interface DueBackup {
  readonly database: string;
  readonly policy: BackupPolicy;
}

interface Planned {
  readonly policy: BackupPolicy;
  readonly schedule: Schedule;
  nextAt: number | undefined;
}

/**
 * Which database is due when. Pure but for what it remembers: it is asked with the moment and the databases there are, so that
 * databases that come and go are scheduled and forgotten at the next question, which is a second later.
 */
export class BackupSchedules {
  readonly #config: BackupConfig;
  readonly #serverName: string;
  readonly #planned = new Map<string, Planned>();

  constructor(config: BackupConfig, serverName: string) {
    this.#config = config;
    this.#serverName = serverName;
  }

  /** Databases whose backup is due at this moment; each run is given out once. */
  due(nowMs: number, databases: readonly string[]): readonly DueBackup[] {
    const due: DueBackup[] = [];
    const existing = new Set(databases);
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

  #plan(database: string, nowMs: number): Planned | undefined {
    const known = this.#planned.get(database);
    if (known !== undefined) return known;
    const policy = policyOf(this.#config, database);
    if (!policy.enabled || !this.#runsHere(policy)) return undefined;
    const { schedule: spec } = policy;
    const schedule =
      spec.type === 'cron'
        ? cronSchedule(spec.expression)
        : frequencySchedule(spec.frequencyMinutes);
    const planned: Planned = { policy, schedule, nextAt: schedule.next(nowMs) };
    this.#planned.set(database, planned);
    return planned;
  }

  /** A server on its own leads. */
  #runsHere({ runOnServer }: BackupPolicy): boolean {
    return ['$leader', '$all', '*', this.#serverName].includes(runOnServer);
  }
}
