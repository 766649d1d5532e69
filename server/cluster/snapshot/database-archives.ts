import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { OperatedDatabase } from '#database/operations/operated-database.ts';
import { writeBackup } from '#database/operations/backup/backup.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { ProgressRegistry } from '#database/progress/progress-registry.ts';
import type { SnapshotArchive, SnapshotPort } from '../cluster-view.ts';

export interface DatabaseArchivesOptions {
  /** For archives while they are sent; emptied at the start. */
  readonly directory: string;
  /** @throws DatabaseError `DatabaseNotFound`, `DatabaseInstalling`, `DatabaseClosed` */
  readonly operated: (database: string) => OperatedDatabase;
  readonly uuidOf: (database: string) => string | undefined;
  /** Up to which everything is applied in all databases here. */
  readonly applied: () => Index;
  /** `service.ha.snapshotMaxConcurrent` */
  readonly concurrentMax: () => number;
  readonly progress: ProgressRegistry;
  readonly runtime: Runtime;
}

interface MadeArchive {
  readonly path: string;
  readonly appliedIndex: Index;
  readonly uuid: string | undefined;
  readonly sizes: SnapshotArchive['sizes'];
}

/** What a receiver has of an archive: so many bytes of the one of this index. */
interface Part {
  readonly from?: number | undefined;
  readonly index?: Index | undefined;
}

/** So long an archive that broke off waits for its receiver to go on. */
const keptMs = 60_000;

/**
 * Archives of databases for members that fetch them (ha.md 9.3): at most one of each database at a time. One that breaks off is kept
 * a while, and goes on where its receiver says.
 */
export class DatabaseArchives implements SnapshotPort {
  readonly #options: DatabaseArchivesOptions;
  readonly #sending = new Set<string>();
  readonly #kept = new Map<string, { readonly made: MadeArchive; readonly drop: () => void }>();

  constructor(options: DatabaseArchivesOptions) {
    this.#options = options;
  }

  /** Removes what a stop left behind. */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }

  async open(database: string, part: Part = {}): Promise<SnapshotArchive> {
    if (this.#sending.has(database) || this.#sending.size >= this.#options.concurrentMax())
      throw new DatabaseError('Busy', 'Too many concurrent snapshots');
    this.#sending.add(database);
    try {
      const made = this.#goneOn(database, part);
      if (made !== undefined) return this.#sent(database, made, part.from ?? 0);
      return this.#sent(database, await this.#make(database), 0);
    } catch (error) {
      this.#sending.delete(database);
      throw error;
    }
  }

  /** The archive that broke off, if the receiver has its beginning; one that nobody goes on with is removed. */
  #goneOn(database: string, { from = 0, index }: Part): MadeArchive | undefined {
    const kept = this.#kept.get(database);
    if (kept === undefined) return undefined;
    const { made, drop } = kept;
    const isTheSame =
      made.appliedIndex === index &&
      made.uuid === this.#options.uuidOf(database) &&
      from > 0 &&
      from <= made.sizes.archiveBytes;
    drop();
    if (isTheSame) return made;
    void rm(made.path, { force: true });
    return undefined;
  }

  #keep(database: string, made: MadeArchive): void {
    const cancel = this.#options.runtime.timers.after(keptMs, () => {
      this.#kept.delete(database);
      void rm(made.path, { force: true });
    });
    const drop = () => {
      cancel();
      this.#kept.delete(database);
    };
    this.#kept.set(database, { made, drop });
  }

  async #make(database: string): Promise<MadeArchive> {
    const { directory, operated, applied, uuidOf, progress, runtime } = this.#options;
    const { engine, settings } = operated(database);
    const fileName = `${runtime.random.uuid()}.zip`;
    // Before the copy is taken, which has at least this.
    const [appliedIndex, uuid] = [applied(), uuidOf(database)];
    const reporter = progress.start({ database, operation: 'snapshot for a member', stepCount: 4 });
    try {
      const sizes = await writeBackup({
        database,
        engine,
        directory,
        fileName,
        options: { compressionLevel: 1, bytesPerSecondMax: 0, passphrase: undefined },
        settings,
        reporter,
        runtime,
      });
      reporter.finish();
      return { path: join(directory, fileName), appliedIndex, uuid, sizes };
    } catch (error) {
      reporter.fail(error);
      throw error;
    }
  }

  #sent(database: string, made: MadeArchive, from: number): SnapshotArchive {
    const { path, appliedIndex, uuid, sizes } = made;
    const stream = createReadStream(path, { start: from, highWaterMark: 256 * 1024 });
    // Closed before it was opened; whoever reads it is told by the iteration.
    stream.on('error', () => {});
    let isOpen = true;
    return {
      appliedIndex,
      uuid,
      sizes,
      from,
      pieces: stream,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        const isWhole = stream.readableEnded;
        stream.destroy();
        this.#sending.delete(database);
        if (isWhole) void rm(path, { force: true });
        else this.#keep(database, made);
      },
    };
  }
}
