import { DatabaseError } from '#core/errors.ts';
import type { MemoryAccount } from '#query/evaluate/context.ts';
import { MemoryReturn } from './memory-return.ts';

/** The memory of the process in a container, for statements that want more. */
export interface ContainerMemory {
  readonly limitBytes: number;
  /** What the process has for itself. Asked at most once for each piece that all statements together take. */
  usedBytes(): number;
  /** Begins to give back what nobody uses any more. Absent: it comes back by itself alone. */
  readonly giveBack?: () => void;
}

export interface ServerMemoryOptions {
  readonly bytesMax: number;
  /** Named in the refusal. */
  readonly settingKey: string;
  /** Whose memory it is; as it reads in the refusal. */
  readonly what?: string;
  /** Absent without a limit. */
  readonly container?: ContainerMemory | undefined;
  /** Of the container's limit; above it statements get no more. */
  readonly containerPercentMax?: number;
  /** Named in the refusal. */
  readonly percentSettingKey?: string;
  /** Absent: nobody else counts for the same limit. */
  readonly threads?: ThreadMemory;
}

/** What the statements of each thread hold, in memory that all threads see; each writes its own number. */
export interface ThreadMemory {
  readonly held: Float64Array;
  readonly own: number;
}

/** Granted since the memory of the process was looked at; what grows in between must fit above the share. */
const lookEveryBytes = 1024 * 1024;
/** Given back since then: what statements held becomes garbage. */
const lookAfterGivenBytes = 16 * 1024 * 1024;

/**
 * What all running statements hold together (limits.md 33). A number, not a measurement: operators announce what they keep,
 * so that the process refuses work before it dies of it. In a container the process is measured too: memory that was let go
 * of and not yet collected is in no account.
 *
 * Several threads share one limit: each sees what the others held a moment ago, so two that take at once may pass it by a step each.
 */
export class ServerMemory {
  readonly bytesMax: number;
  readonly #options: ServerMemoryOptions;
  readonly #return: MemoryReturn | undefined;
  #used = 0;
  #sinceLook = 0;
  #givenSinceLook = 0;

  constructor(options: ServerMemoryOptions) {
    this.bytesMax = options.bytesMax;
    this.#options = options;
    this.#return = memoryReturn(options);
  }

  get usedBytes(): number {
    return this.#used + this.#elsewhere();
  }

  /** @throws DatabaseError `Busy` when all statements together would hold too much */
  take(bytes: number): void {
    const used = this.#used + this.#elsewhere();
    if (used + bytes > this.bytesMax) {
      throw new DatabaseError(
        'Busy',
        `the ${this.#options.what ?? 'statements'} running now hold ${used} bytes, ${bytes} more would pass ${this.#options.settingKey} (${this.bytesMax})`,
      );
    }
    this.#sinceLook += bytes;
    if (this.#sinceLook >= lookEveryBytes) this.#look();
    this.#used += bytes;
    this.#publish();
  }

  /** Counts what is held already and cannot be refused any more: uncommitted writes of sessions between their statements. */
  note(bytes: number): void {
    this.#used += bytes;
    this.#publish();
  }

  /** @throws DatabaseError `Busy` when more is held than may be */
  requireRoom(): void {
    if (this.usedBytes > this.bytesMax) this.take(1);
  }

  #look(): void {
    const { container, containerPercentMax = 100, percentSettingKey } = this.#options;
    if (container === undefined) return;
    const used = container.usedBytes();
    this.#return?.seen(used);
    this.#givenSinceLook = 0;
    if (used <= (container.limitBytes * containerPercentMax) / 100) {
      this.#sinceLook = 0;
      return;
    }
    throw new DatabaseError(
      'Busy',
      `the server takes ${used} of the ${container.limitBytes} bytes of its container; ${this.#options.what ?? 'statements'} get more below ${containerPercentMax} percent (${percentSettingKey})`,
    );
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#publish();
    this.#givenSinceLook += bytes;
    if (this.#givenSinceLook < lookAfterGivenBytes) return;
    this.#givenSinceLook = 0;
    const { container } = this.#options;
    if (container !== undefined) this.#return?.seen(container.usedBytes());
  }

  #publish(): void {
    const { threads } = this.#options;
    if (threads !== undefined) threads.held[threads.own] = this.#used;
  }

  #elsewhere(): number {
    const { threads } = this.#options;
    if (threads === undefined) return 0;
    const { held, own } = threads;
    let sum = 0;
    for (let at = 0; at < held.length; at += 1) if (at !== own) sum += held[at] as number;
    return sum;
  }
}

function memoryReturn({ container, containerPercentMax = 100 }: ServerMemoryOptions) {
  if (container?.giveBack === undefined) return undefined;
  const { limitBytes, giveBack } = container;
  return new MemoryReturn({
    limitBytes,
    bytesMax: (limitBytes * containerPercentMax) / 100,
    giveBack,
  });
}

const grantBytes = 256 * 1024;

/** One statement's account: counts cheaply and draws on the server's in large steps. `close` gives everything back. */
export class StatementMemory implements MemoryAccount {
  readonly #server: ServerMemory;
  readonly #bytesMax: number;
  #used = 0;
  #granted = 0;
  #writesGranted = 0;

  constructor(server: ServerMemory, bytesMax: number) {
    this.#server = server;
    this.#bytesMax = bytesMax;
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** What it has drawn so far, in steps; it keeps all of it until it is closed. */
  get grantedBytes(): number {
    return this.#granted;
  }

  /** Draws so much before it is needed, so that it cannot be refused later. @throws DatabaseError as `reserve` */
  draw(bytes: number): void {
    if (bytes > this.#granted) this.#draw(bytes);
  }

  /** @throws DatabaseError `TooLarge` over `queryMaxMemory`, `Busy` over the server's share */
  reserve(bytes: number): void {
    const used = this.#used + bytes;
    if (used > this.#granted) this.#draw(used);
    this.#used = used;
  }

  release(bytes: number): void {
    this.#used = Math.max(0, this.#used - bytes);
  }

  /**
   * What the statement's transaction holds in all. It counts for the server alone: writing many records is no mistake, as long
   * as there is memory.
   * @throws DatabaseError `Busy` over the server's share
   */
  holdWrites(bytes: number): void {
    if (bytes <= this.#writesGranted) return;
    const wanted = Math.ceil(bytes / grantBytes) * grantBytes - this.#writesGranted;
    this.#server.take(wanted);
    this.#writesGranted += wanted;
  }

  close(): void {
    const granted = this.#granted + this.#writesGranted;
    if (granted > 0) this.#server.give(granted);
    this.#granted = 0;
    this.#writesGranted = 0;
    this.#used = 0;
  }

  #draw(used: number): void {
    if (used > this.#bytesMax) {
      throw new DatabaseError(
        'TooLarge',
        `the statement would hold ${used} bytes in memory, more than service.queryMaxMemory (${this.#bytesMax})`,
      );
    }
    const wanted = Math.ceil(used / grantBytes) * grantBytes - this.#granted;
    this.#server.take(wanted);
    this.#granted += wanted;
  }
}

const heldStepBytes = 64 * 1024;

/** What one holder has of a server's memory, where it grows and falls: counted in steps, so that small messages cost nothing. */
export class MessageMemory {
  readonly #server: ServerMemory;
  #granted = 0;

  constructor(server: ServerMemory) {
    this.#server = server;
  }

  /** So much is held now. @throws DatabaseError `Busy`; what was counted before is still */
  set(bytes: number): void {
    const wanted = bytes - (bytes % heldStepBytes);
    if (wanted === this.#granted) return;
    if (wanted > this.#granted) this.#server.take(wanted - this.#granted);
    else this.#server.give(this.#granted - wanted);
    this.#granted = wanted;
  }

  close(): void {
    this.set(0);
  }
}
