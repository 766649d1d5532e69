/*
 * Archives on the volume of one member, as the commands of the server make and list them: one at a time for each database, named
 * by the moment they were begun, there when they are whole.
 */

export interface SimulatedArchive {
  readonly database: string;
  readonly fileName: string;
  readonly size: number;
  readonly lastModified: number;
  readonly timestamp: string;
}

/** What all members share of how backups go. */
export class BackupCourse {
  readonly now: () => number;
  /** Backups end only when `finish` is called. */
  isHeld = false;
  /** Answers that are lost although the archive was made. */
  answersToLose = 0;
  /** Databases that cannot be backed up, and why. */
  readonly failing = new Map<string, string>();
  #waiting: (() => void)[] = [];

  constructor(now: () => number) {
    this.now = now;
  }

  get running(): number {
    return this.#waiting.length;
  }

  finish(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const end of waiting) end();
  }

  async end(): Promise<void> {
    if (this.isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

type Answer = { readonly status: number; readonly body: string };

export class SimulatedArchives {
  readonly #course: BackupCourse;
  readonly #running = new Set<string>();
  #archives: readonly SimulatedArchive[] = [];

  constructor(course: BackupCourse) {
    this.#course = course;
  }

  all(): readonly SimulatedArchive[] {
    return this.#archives;
  }

  async trigger(database: string): Promise<Answer> {
    const course = this.#course;
    const failure = course.failing.get(database);
    if (failure !== undefined) return refused(500, failure);
    if (this.#running.has(database))
      return refused(409, `A backup of database '${database}' is already in progress`);
    this.#running.add(database);
    const timestamp = new Date(course.now()).toISOString().slice(0, -1);
    await course.end();
    this.#running.delete(database);
    const digits = timestamp.replace(/\D/g, '');
    const fileName = `${database}-backup-${digits.slice(0, 8)}-${digits.slice(8)}.zip`;
    const archive = { database, fileName, size: 1000, lastModified: course.now(), timestamp };
    this.#archives = [archive, ...this.#archives];
    if (course.answersToLose > 0) {
      course.answersToLose--;
      throw new Error('the connection broke');
    }
    return { status: 200, body: JSON.stringify({ result: 'ok', backupFile: fileName }) };
  }

  /** One that a Job brought. */
  put(database: string, fileName: string): void {
    const lastModified = this.#course.now();
    const timestamp = new Date(lastModified).toISOString().slice(0, -1);
    const archive = { database, fileName, size: 1000, lastModified, timestamp };
    this.#archives = [archive, ...this.#archives.filter((one) => one.fileName !== fileName)];
  }

  delete(database: string, fileName: string): Answer {
    this.#archives = this.#archives.filter(
      (archive) => archive.database !== database || archive.fileName !== fileName,
    );
    return { status: 200, body: '{"result":"ok"}' };
  }

  list(database: string): readonly SimulatedArchive[] {
    return this.#archives.filter((archive) => archive.database === database);
  }
}

function refused(status: number, error: string): Answer {
  return { status, body: JSON.stringify({ error }) };
}
