import { DatabaseError } from '#core/errors.ts';
import type { Cancel, EpochMs, Runtime } from '#core/runtime.ts';
import type { StatementMeter } from '#database/statement/meter.ts';
import { StatementRecording } from '#database/statement/recording.ts';
import type { MetricsReading } from './metrics.ts';
import { type ProfiledQuery, profileOf } from './profile-report.ts';
import type { ProfilerFiles, SavedRun } from './profiler-files.ts';

/** What a session of the profiler found (mcp.md 4.14). */
export interface ProfilerResults {
  readonly recording: boolean;
  readonly startTime: EpochMs | null;
  readonly stopTime: EpochMs | null;
  readonly durationMs: number;
  readonly timeoutSeconds: number;
  /** Executions that were recorded. */
  readonly totalQueries: number;
  /** Executions beyond the number that is kept. */
  readonly missedQueries: number;
  readonly profiledDatabases: readonly string[];
  readonly summary: { readonly snapshotStart: unknown; readonly snapshotStop: unknown };
  readonly queries: readonly ProfiledQuery[];
}

export interface ProfilerOptions {
  readonly meter: StatementMeter;
  readonly files: ProfilerFiles;
  readonly runtime: Runtime;
  /** What the server measures now. */
  readonly snapshot: () => MetricsReading;
  readonly report: (message: string) => void;
}

interface Session {
  readonly recording: StatementRecording;
  readonly startTime: EpochMs;
  readonly timeoutSeconds: number;
  readonly snapshotStart: unknown;
  stopTime: EpochMs | undefined;
  snapshotStop: unknown;
}

export const profilerSeconds = { min: 1, max: 3600, default: 60 } as const;
const executionsMax = 10_000;

/**
 * Records what statements cost, for a while (contract 2, profiler_start). One session at a time; it stops by itself. Its
 * results stay until the next start or `reset`, and in a file.
 */
export class Profiler {
  readonly #options: ProfilerOptions;
  #session: Session | undefined;
  #stopTimer: Cancel = () => {};

  constructor(options: ProfilerOptions) {
    this.#options = options;
  }

  get isRecording(): boolean {
    return this.#session !== undefined && this.#session.stopTime === undefined;
  }

  /** @throws DatabaseError `IllegalArgument` for seconds outside 1 to 3,600 */
  start(seconds: number = profilerSeconds.default) {
    const { min, max } = profilerSeconds;
    if (!Number.isInteger(seconds) || seconds < min || seconds > max)
      throw new DatabaseError(
        'IllegalArgument',
        `timeoutSeconds must be an integer from ${min} to ${max}, not ${seconds}`,
      );
    if (this.#session !== undefined && this.isRecording) {
      const { timeoutSeconds } = this.#session;
      const message = `The profiler is recording already, for ${timeoutSeconds} seconds`;
      return { status: 'already_recording', timeoutSeconds, message };
    }
    const { meter, runtime, snapshot } = this.#options;
    const recording = new StatementRecording(executionsMax);
    this.#session = {
      recording,
      startTime: runtime.clock.now(),
      timeoutSeconds: seconds,
      snapshotStart: snapshot(),
      stopTime: undefined,
      snapshotStop: undefined,
    };
    meter.recording = recording;
    this.#stopTimer = runtime.timers.after(seconds * 1000, () => this.#stopByItself());
    const message = `Profiler started, it stops by itself after ${seconds} seconds`;
    return { status: 'started', timeoutSeconds: seconds, message };
  }

  /** Stops and saves the results. @throws DatabaseError `Internal` when they cannot be written */
  async stop() {
    if (this.#session === undefined || !this.isRecording) return notRecording;
    const results = this.#end(this.#session);
    const savedFile = await this.#options.files.save(results);
    return { status: 'stopped', ...results, savedFile };
  }

  /** Of the session that runs, or of the last one. */
  results(): ProfilerResults | { readonly recording: false; readonly message: string } {
    if (this.#session === undefined)
      return { recording: false, message: 'The profiler has not recorded anything yet' };
    return this.#resultsOf(this.#session);
  }

  /** Forgets the results; a session that runs begins anew. */
  reset() {
    const session = this.#session;
    if (session === undefined || !this.isRecording) {
      this.#session = undefined;
      return { status: 'reset', recording: false };
    }
    this.#end(session);
    this.#session = undefined;
    this.start(session.timeoutSeconds);
    return { status: 'reset', recording: true };
  }

  /** Saved runs, newest first. */
  list(): Promise<readonly SavedRun[]> {
    return this.#options.files.list();
  }

  /** @throws DatabaseError `Forbidden` for a name with a path, `IllegalArgument` for an unknown one */
  load(fileName: string): Promise<unknown> {
    return this.#options.files.load(fileName);
  }

  /** The server stops. */
  close(): void {
    this.#stopTimer();
    this.#options.meter.recording = undefined;
  }

  #stopByItself(): void {
    this.stop().catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.report(`The results of the profiler could not be saved: ${reason}`);
    });
  }

  #end(session: Session): ProfilerResults {
    const { meter, runtime, snapshot } = this.#options;
    this.#stopTimer();
    meter.recording = undefined;
    session.stopTime = runtime.clock.now();
    session.snapshotStop = snapshot();
    return this.#resultsOf(session);
  }

  #resultsOf(session: Session): ProfilerResults {
    const { recording, startTime, stopTime, timeoutSeconds } = session;
    const { snapshotStart, snapshotStop = null } = session;
    const { executions, missed } = recording;
    const databases = new Set(executions.map(({ database }) => database));
    return {
      recording: stopTime === undefined,
      startTime,
      stopTime: stopTime ?? null,
      durationMs: (stopTime ?? this.#options.runtime.clock.now()) - startTime,
      timeoutSeconds,
      totalQueries: executions.length,
      missedQueries: missed,
      profiledDatabases: [...databases].sort(),
      summary: { snapshotStart, snapshotStop },
      queries: profileOf(executions),
    };
  }
}

const notRecording = {
  status: 'not_recording',
  message: 'The profiler is not recording',
} as const;
