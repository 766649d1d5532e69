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

/** Archives of databases for members that fetch them (ha.md 9.3): at most one of each database at a time. */
export class DatabaseArchives implements SnapshotPort {
  readonly #options: DatabaseArchivesOptions;
  readonly #sending = new Set<string>();

  constructor(options: DatabaseArchivesOptions) {
    this.#options = options;
  }

  /** Removes what a stop left behind. */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }

  async open(database: string): Promise<SnapshotArchive> {
    if (this.#sending.has(database) || this.#sending.size >= this.#options.concurrentMax())
      throw new DatabaseError('Busy', 'Too many concurrent snapshots');
    this.#sending.add(database);
    try {
      return await this.#make(database);
    } catch (error) {
      this.#sending.delete(database);
      throw error;
    }
  }

  async #make(database: string): Promise<SnapshotArchive> {
    const { directory, operated, applied, uuidOf, progress, runtime } = this.#options;
    const { engine, settings } = operated(database);
    const fileName = `${runtime.random.uuid()}.zip`;
    // Before the copy is taken, which has at least this.
    const [appliedIndex, uuid] = [applied(), uuidOf(database)];
    const reporter = progress.start({ database, operation: 'snapshot for a member', stepCount: 4 });
    let sizes: SnapshotArchive['sizes'];
    try {
      sizes = await writeBackup({
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
    } catch (error) {
      reporter.fail(error);
      throw error;
    }
    const path = join(directory, fileName);
    const stream = createReadStream(path, { highWaterMark: 256 * 1024 });
    // Closed before it was opened; whoever reads it is told by the iteration.
    stream.on('error', () => {});
    let isOpen = true;
    return {
      appliedIndex,
      uuid,
      sizes,
      pieces: stream,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        stream.destroy();
        this.#sending.delete(database);
        void rm(path, { force: true });
      },
    };
  }
}
