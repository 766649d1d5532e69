import { appendFileSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareText } from '#core/value/value-order.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { serverEventLogFiles, serverEventLogMaxSize } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { type Log, oneLine } from '#core/log.ts';
import type { Clock } from '#core/runtime.ts';
import { isErrno, makeDirectories } from '#platform/files.ts';
import { formatFileTimestamp, formatTimestamp } from '#platform/timestamp.ts';

export type EventType = 'INFO' | 'WARNING' | 'ERROR' | 'CRITICAL' | 'HINT';
export type EventComponent = 'Server' | 'Auto-Backup' | 'Security' | 'HA' | 'Database';

/** One line of the server event log (http-api.md 12.1). */
export interface ServerEvent {
  readonly time: string;
  readonly type: EventType;
  readonly component: EventComponent;
  readonly db: string | null;
  readonly message: string;
}

/** Numbers of events since the start, for `GET /server`. */
export interface EventCounts {
  errors: number;
  warnings: number;
  info: number;
  hints: number;
}

const fileShape = /^server-event-log-(\d{8})-(\d{6})\.(\d{1,9})\.jsonl$/;
const recentEventsMax = 10_000;

/**
 * What happened to the server, for people: in memory since the start, and one JSON line each in a file of the log
 * directory. A start makes a new file, so does a full one; the newest ones are kept. A file that cannot be written does not
 * stop the server.
 */
export class ServerEvents {
  readonly #directory: string;
  readonly #settings: SettingsReader;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #recent: ServerEvent[] = [];
  readonly counts: EventCounts = { errors: 0, warnings: 0, info: 0, hints: 0 };
  #fileName = '';
  #fileBytes = 0;
  #isWritable = true;

  constructor(options: { directory: string; settings: SettingsReader; clock: Clock; log: Log }) {
    this.#directory = options.directory;
    this.#settings = options.settings;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** @param requestId goes to the log only: the events have the fields of the contract */
  report(
    type: EventType,
    component: EventComponent,
    message: string,
    database: string | null = null,
    requestId?: string,
  ): void {
    const time = formatTimestamp(this.#clock.now());
    const event: ServerEvent = { time, type, component, db: database, message: oneLine(message) };
    this.#recent.push(event);
    if (this.#recent.length > recentEventsMax) this.#recent.splice(0, recentEventsMax / 2);
    this.#count(type);
    this.#print(event, requestId);
    this.#write(`${JSON.stringify(event)}\n`);
  }

  /** Events since the start, newest last. */
  recent(): readonly ServerEvent[] {
    return this.#recent;
  }

  /** Names of the files, newest first. */
  fileNames(): readonly string[] {
    try {
      return readdirSync(this.#directory)
        .filter((name) => fileShape.test(name))
        .sort(byTimeAndIndex)
        .reverse();
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /**
   * The events of a file, newest last.
   * @throws DatabaseError `Forbidden` for a name that could leave the directory, `IllegalArgument` for an unknown one
   */
  async read(fileName: string): Promise<readonly ServerEvent[]> {
    if (/[/\\\u0000]|\.\./.test(fileName))
      throw new DatabaseError('Forbidden', 'the name of an event log file holds no path');
    if (!fileShape.test(fileName) || !this.fileNames().includes(fileName))
      throw new DatabaseError('IllegalArgument', `Server event log file '${fileName}' not found`);
    const text = await readFile(join(this.#directory, fileName), 'utf8');
    return text.split('\n').flatMap(parseEvent);
  }

  #count(type: EventType): void {
    if (type === 'ERROR' || type === 'CRITICAL') this.counts.errors += 1;
    else if (type === 'WARNING') this.counts.warnings += 1;
    else if (type === 'HINT') this.counts.hints += 1;
    else this.counts.info += 1;
  }

  #print({ type, component, message, db }: ServerEvent, requestId: string | undefined): void {
    const fields = { component, db: db ?? undefined, requestId };
    if (type === 'ERROR' || type === 'CRITICAL') this.#log.error(message, fields);
    else if (type === 'WARNING') this.#log.warn(message, fields);
    else this.#log.info(message, fields);
  }

  #write(line: string): void {
    if (!this.#isWritable) return;
    const isFull = this.#fileBytes > this.#settings.get(serverEventLogMaxSize);
    try {
      if (this.#fileName === '' || isFull) this.#startFile();
      appendFileSync(join(this.#directory, this.#fileName), line, { mode: 0o640 });
      this.#fileBytes += Buffer.byteLength(line);
    } catch (error) {
      this.#isWritable = false;
      this.#log.error(`the server event log cannot be written: ${String(error)}`);
    }
  }

  #startFile(): void {
    makeDirectories(this.#directory);
    const names = this.fileNames();
    const stem = `server-event-log-${formatFileTimestamp(this.#clock.now())}`;
    // Above those of the same second; the ones below may be deleted already.
    const latest = names.find((name) => name.startsWith(`${stem}.`));
    const index = latest === undefined ? 0 : Number(fileShape.exec(latest)?.[3]) + 1;
    this.#fileName = `${stem}.${index}.jsonl`;
    this.#fileBytes = 0;
    const kept = this.#settings.get(serverEventLogFiles) - 1;
    for (const old of names.slice(kept)) rmSync(join(this.#directory, old), { force: true });
  }
}

function byTimeAndIndex(a: string, b: string): number {
  const [, dayA, timeA, indexA] = fileShape.exec(a) ?? [];
  const [, dayB, timeB, indexB] = fileShape.exec(b) ?? [];
  const stamp = compareText(`${dayA}${timeA}`, `${dayB}${timeB}`);
  return stamp !== 0 ? stamp : Number(indexA) - Number(indexB);
}

function parseEvent(line: string): ServerEvent[] {
  try {
    return [JSON.parse(line) as ServerEvent];
  } catch {
    return [];
  }
}
