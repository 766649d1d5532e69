import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { OperatedDatabase } from '#database/operations/operated-database.ts';
import { dataFileName, manifestName } from '#database/operations/backup/archive.ts';
import type { BackupManifest } from '#database/operations/backup/manifest.ts';
import { checkEnvironmentApart } from '#database/operations/check/environment-check.ts';
import type { ProgressRegistry } from '#database/progress/progress-registry.ts';
import { type ArchivedFile, storedArchive } from '#platform/archive/writer.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { EnvironmentFacts } from '#storage/environment/check.ts';
import type { SnapshotArchive, SnapshotPort } from '../cluster-view.ts';
import { DatabaseParts, type ReceivedPart } from './database-parts.ts';

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

/** A compacted copy of a database, which archives are streamed from. */
interface MadeCopy {
  readonly directory: string;
  readonly appliedIndex: Index;
  readonly uuid: string | undefined;
  readonly databaseBytes: number;
  readonly madeAt: Date;
  /** Once another process has read it from end to end. */
  readonly facts: Promise<EnvironmentFacts>;
  /** Ends that, and removes it. */
  readonly discard: () => void;
}

/** Of a manifest, however long the name of the database and its numbers are. */
const manifestBytes = 1024;

/**
 * Databases for who fetches them (ha.md 9.3), at most one of each at a time: in parts for members (`database-parts.ts`), as an archive
 * for everybody else. An archive has the form of BACKUP DATABASE's, stored, and is streamed from a copy of the database.
 */
export class DatabaseArchives implements SnapshotPort {
  readonly #options: DatabaseArchivesOptions;
  readonly #sending = new Set<string>();
  readonly #parts: DatabaseParts;

  constructor(options: DatabaseArchivesOptions) {
    this.#options = options;
    this.#parts = new DatabaseParts(options);
  }

  /** Removes what a stop left behind. */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }

  async open(
    database: string,
    { isInParts = false, ...part }: ReceivedPart & { readonly isInParts?: boolean } = {},
  ): Promise<SnapshotArchive> {
    if (this.#sending.has(database) || this.#sending.size >= this.#options.concurrentMax())
      throw new DatabaseError('Busy', 'Too many concurrent snapshots');
    this.#sending.add(database);
    const closed = () => void this.#sending.delete(database);
    try {
      if (isInParts) return await this.#parts.open(database, part, closed);
      return await this.#sent(database, await this.#make(database), closed);
    } catch (error) {
      closed();
      throw error;
    }
  }

  async #make(database: string): Promise<MadeCopy> {
    const { operated, applied, uuidOf, progress, runtime } = this.#options;
    const { engine } = operated(database);
    const directory = join(this.#options.directory, runtime.random.uuid());
    const remove = () => rm(directory, { recursive: true, force: true });
    // Before the copy is taken, which has at least this.
    const [appliedIndex, uuid] = [applied(), uuidOf(database)];
    const reporter = progress.start({ database, operation: 'snapshot for a member', stepCount: 1 });
    try {
      reporter.step('copying', undefined);
      await engine.copyTo(directory);
      reporter.check();
      const { size } = await stat(join(directory, dataFileName));
      reporter.finish();
      const ended = new AbortController();
      // Beside what is sent: the manifest behind it waits.
      const facts = checkEnvironmentApart(directory, ended.signal);
      facts.catch(() => {});
      const discard = () => {
        ended.abort();
        void remove();
      };
      const madeAt = new Date(runtime.clock.now());
      return { directory, appliedIndex, uuid, databaseBytes: size, madeAt, facts, discard };
    } catch (error) {
      reporter.fail(error);
      await remove();
      throw error;
    }
  }

  async #sent(database: string, made: MadeCopy, closed: () => void): Promise<SnapshotArchive> {
    const { directory, appliedIndex, uuid, databaseBytes, madeAt, facts } = made;
    const path = join(directory, dataFileName);
    const { sizeBytes, stream } = await storedArchive({
      file: { name: dataFileName, path, sizeBytes: databaseBytes },
      manifest: {
        name: manifestName,
        sizeBytes: manifestBytes,
        content: async (file) => manifestOf(database, made, { file, facts: await facts }),
      },
      modifiedAt: madeAt,
    });
    // Closed before it was opened; whoever reads it is told by the iteration.
    stream.on('error', () => {});
    let isOpen = true;
    return {
      form: 'zip',
      appliedIndex,
      uuid,
      sizes: { archiveBytes: sizeBytes, databaseBytes },
      pieces: stream,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        stream.destroy();
        closed();
        made.discard();
      },
    };
  }
}

function manifestOf(
  database: string,
  { madeAt }: MadeCopy,
  { file, facts }: { readonly file: ArchivedFile; readonly facts: EnvironmentFacts },
): string {
  const manifest: BackupManifest = {
    format: 'service-backup',
    version: 1,
    database,
    createdAt: madeAt.getTime(),
    lastTxId: facts.applied.txId,
    engine: 'lmdb',
    files: [file],
  };
  return JSON.stringify(manifest);
}
