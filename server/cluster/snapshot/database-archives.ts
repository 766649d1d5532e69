import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
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

/** What a receiver has of an archive: so many bytes of the one of this index. */
interface Part {
  readonly from?: number | undefined;
  readonly index?: Index | undefined;
}

/** So long the copy of an archive that broke off waits for its receiver to go on. */
const keptMs = 60_000;
/** Of a manifest, however long the name of the database and its numbers are. */
const manifestBytes = 1024;

/**
 * Archives of databases for members that fetch them (ha.md 9.3): at most one of each database at a time, streamed from a copy of the
 * database and never on the disk themselves. The copy of one that breaks off is kept a while, and it goes on where its receiver says.
 */
export class DatabaseArchives implements SnapshotPort {
  readonly #options: DatabaseArchivesOptions;
  readonly #sending = new Set<string>();
  readonly #kept = new Map<string, { readonly made: MadeCopy; readonly drop: () => void }>();

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
      if (made !== undefined) return await this.#sent(database, made, part.from ?? 0);
      return await this.#sent(database, await this.#make(database), 0);
    } catch (error) {
      this.#sending.delete(database);
      throw error;
    }
  }

  /** The copy of the archive that broke off, if the receiver has its beginning; one that nobody goes on with is removed. */
  #goneOn(database: string, { from = 0, index }: Part): MadeCopy | undefined {
    const kept = this.#kept.get(database);
    if (kept === undefined) return undefined;
    const { made, drop } = kept;
    const isTheSame =
      made.appliedIndex === index &&
      made.uuid === this.#options.uuidOf(database) &&
      from > 0 &&
      from <= made.databaseBytes;
    drop();
    if (isTheSame) return made;
    made.discard();
    return undefined;
  }

  #keep(database: string, made: MadeCopy): void {
    const cancel = this.#options.runtime.timers.after(keptMs, () => {
      this.#kept.delete(database);
      made.discard();
    });
    const drop = () => {
      cancel();
      this.#kept.delete(database);
    };
    this.#kept.set(database, { made, drop });
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

  async #sent(database: string, made: MadeCopy, from: number): Promise<SnapshotArchive> {
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
    let isSound = true;
    facts.catch(() => {
      isSound = false;
    });
    return {
      appliedIndex,
      uuid,
      sizes: { archiveBytes: sizeBytes, databaseBytes },
      from,
      pieces: from === 0 ? stream : behind(stream, from),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        const isWhole = stream.readableEnded;
        stream.destroy();
        this.#sending.delete(database);
        if (isWhole || !isSound) made.discard();
        else this.#keep(database, made);
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

/** What comes behind so many bytes: the digest of all needs them, too. */
async function* behind(stream: Readable, from: number): AsyncGenerator<Uint8Array> {
  let left = from;
  for await (const piece of stream as AsyncIterable<Uint8Array>) {
    const skipped = Math.min(left, piece.length);
    left -= skipped;
    if (skipped < piece.length) yield piece.subarray(skipped);
  }
}
