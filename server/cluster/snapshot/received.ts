import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { haSnapshotMaxEntrySize } from '#config/cluster-resync-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import { unpackBackup } from '#database/operations/backup/restore.ts';
import type { ProgressReporter } from '#database/progress/progress-registry.ts';
import { PartCollector } from '#storage/parts/part-format.ts';
import { PartLoader } from './part-loader.ts';

/** What comes of a database, in the form in which its sender gives it, until it is where it belongs. */
export interface Received {
  readonly form: 'zip' | 'parts';
  /** Parts that need not be sent again. */
  readonly partCount: number;
  /** No more of it can be used, or is needed, from its sender: another download begins anew. */
  readonly isOver: boolean;
  /** Resolves when all of it is here. @returns its bytes */
  take(pieces: AsyncIterable<Uint8Array>): Promise<number>;
  /** The files of the database, checked, into an empty directory. */
  fill(directory: string, reporter: ProgressReporter): Promise<void>;
  discard(): Promise<void>;
}

export interface ReceivingOptions {
  /** `service.ha.snapshotDownloadTimeout`: so long the next byte may take */
  readonly silentMsMax: () => number;
  /** How often the log tells how far it is; 0: never */
  readonly progressEveryMs: () => number;
  readonly settings: SettingsReader;
  readonly runtime: Runtime;
  readonly log: Log;
}

/** The pieces of an answer; a sender that is silent for long is given up. */
export async function* watched(
  body: Readable,
  { silentMsMax, progressEveryMs, runtime: { clock, timers }, log }: ReceivingOptions,
  took: (piece: number) => void,
): AsyncGenerator<Uint8Array> {
  const pieces = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  let bytes = 0;
  let toldMs = clock.monotonicMs();
  try {
    for (;;) {
      const ms = silentMsMax();
      const cancel = timers.after(ms, () =>
        body.destroy(new DatabaseError('Busy', `nothing came for ${ms} ms`)),
      );
      const next = await pieces.next().finally(cancel);
      if (next.done === true) return;
      const { length } = next.value;
      bytes += length;
      took(length);
      const everyMs = progressEveryMs();
      if (everyMs > 0 && clock.monotonicMs() - toldMs >= everyMs) {
        toldMs = clock.monotonicMs();
        log.info('a database is being fetched', { bytes });
      }
      yield next.value;
    }
  } finally {
    body.destroy();
  }
}

/** Of what members send each other; restores have a bound of their own. */
const entryLimit = haSnapshotMaxEntrySize;

/** An archive in a file: what is staged, and what members of older builds send. */
export class ReceivedArchive implements Received {
  readonly form = 'zip';
  readonly partCount = 0;
  readonly isOver = true;
  readonly #path: string;
  readonly #database: string | undefined;
  readonly #settings: SettingsReader;

  /** @param database whose archive it must be; undefined: anybody's */
  constructor(path: string, database: string | undefined, settings: SettingsReader) {
    this.#path = path;
    this.#database = database;
    this.#settings = settings;
  }

  async take(pieces: AsyncIterable<Uint8Array>): Promise<number> {
    // Not flushed: a start removes it, and what is unpacked of it is.
    const file = createWriteStream(this.#path, { flags: 'w', mode: 0o600 });
    await pipeline(pieces, file);
    return file.bytesWritten;
  }

  async fill(directory: string, reporter: ProgressReporter): Promise<void> {
    await unpackBackup({
      path: this.#path,
      directory,
      passphrase: undefined,
      ...(this.#database !== undefined && { database: this.#database }),
      settings: this.#settings,
      reporter,
      entryLimit,
    });
  }

  async discard(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

/** Of one part: it is held in memory as a whole. */
const partBytesMax = 2 ** 30;

/** Parts that are checked and loaded as they come. */
export class ReceivedParts implements Received {
  readonly form = 'parts';
  readonly #loader: PartLoader;
  readonly #database: string;
  readonly #uuid: string | undefined;
  readonly #bytesMax: number;
  #bytes = 0;
  #isOver = false;

  private constructor(
    loader: PartLoader,
    { database, uuid, bytesMax }: Omit<ExpectedParts, 'directory'>,
  ) {
    this.#loader = loader;
    this.#database = database;
    this.#uuid = uuid;
    this.#bytesMax = bytesMax;
  }

  static async begun({ directory, ...expected }: ExpectedParts): Promise<ReceivedParts> {
    const loader = await PartLoader.begun(directory, Math.min(expected.bytesMax, partBytesMax));
    return new ReceivedParts(loader, expected);
  }

  get partCount(): number {
    return this.#loader.partCount;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async take(pieces: AsyncIterable<Uint8Array>): Promise<number> {
    const collector = new PartCollector(Math.min(this.#bytesMax, partBytesMax));
    // What breaks off leaves the parts that are here.
    for await (const piece of pieces) {
      this.#isOver = true;
      for (const part of collector.take(piece)) await this.#give(part);
      this.#isOver = false;
    }
    if (!this.#loader.isWhole) throw new DatabaseError('Busy', 'the database broke off');
    this.#isOver = true;
    const manifest = await this.#loader.manifest();
    if (manifest.database !== this.#database)
      throw refused(`it is '${manifest.database.slice(0, 100)}' and not '${this.#database}'`);
    if (this.#uuid !== undefined && manifest.uuid !== null && manifest.uuid !== this.#uuid)
      throw refused(`it is another database of this name: ${manifest.uuid.slice(0, 40)}`);
    return this.#bytes;
  }

  async fill(directory: string): Promise<void> {
    await this.#loader.moveTo(directory);
  }

  async discard(): Promise<void> {
    await this.#loader.discard();
  }

  async #give(part: Buffer): Promise<void> {
    this.#bytes += part.length;
    if (this.#bytes > this.#bytesMax)
      throw refused(`it has more than ${this.#bytesMax} bytes (${entryLimit.key})`);
    await this.#loader.give(part);
  }
}

interface ExpectedParts {
  /** For the files; must not be there. */
  readonly directory: string;
  readonly database: string;
  /** Absent: it is not known here yet. */
  readonly uuid: string | undefined;
  readonly bytesMax: number;
}

function refused(reason: string): DatabaseError {
  return new DatabaseError('Validation', `the database is refused: ${reason}`);
}
