import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { directorySynced } from '#platform/files.ts';
import type { SnapshotArchive, StageState } from '../cluster-view.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';

export interface StagedDatabasesOptions {
  /** On the volume of the databases. */
  readonly directory: string;
  /** Lets `fill` make a database in an empty directory, and writes its archive. @returns its newest position */
  readonly archive: (order: {
    readonly work: string;
    readonly fill: (directory: string) => Promise<void>;
    readonly archive: { readonly directory: string; readonly fileName: string };
  }) => Promise<number>;
  readonly unpack: (archive: string, directory: string) => Promise<void>;
  /** From the leader, into an empty directory. */
  readonly fetch: (member: MemberDatabase, directory: string) => Promise<void>;
  readonly log: Log;
}

/**
 * The files of databases that are on their way into the cluster, on one server. `<uuid>` is whole; `<uuid>.part` is not;
 * `<uuid>.zip` is what others fetch, on the server that built it.
 */
export class StagedDatabases {
  readonly #options: StagedDatabasesOptions;
  readonly #states = new Map<string, StageState>();

  constructor(options: StagedDatabasesOptions) {
    this.#options = options;
  }

  /** What no entry of the log knows goes; what an entry knows and is not whole is fetched again. */
  async prepare(known: readonly MemberDatabase[]): Promise<void> {
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const whole = new Set(known.map(({ uuid }) => uuid));
    for (const entry of await readdir(directory))
      if (!whole.has(entry.replace(/\.zip$/, '')))
        await rm(join(directory, entry), { recursive: true, force: true });
    for (const { uuid } of known)
      if (await exists(this.path(uuid))) this.#states.set(uuid, { state: 'staged' });
  }

  /** Where its files are when it is staged. */
  path(uuid: string): string {
    return join(this.#options.directory, uuid);
  }

  stateOf(uuid: string): StageState {
    return this.#states.get(uuid) ?? { state: 'unknown' };
  }

  isStaged(uuid: string): boolean {
    return this.stateOf(uuid).state === 'staged';
  }

  /** @returns the newest position in the files @throws whatever `fill` does; nothing is left then */
  async build(uuid: string, fill: (directory: string) => Promise<void>): Promise<number> {
    const { directory, archive, unpack } = this.#options;
    const work = `${this.path(uuid)}.work`;
    const fileName = `${uuid}.zip`;
    try {
      await mkdir(work, { recursive: true });
      const position = await archive({ work, fill, archive: { directory, fileName } });
      await rm(work, { recursive: true, force: true });
      await this.#whole(uuid, (part) => unpack(join(directory, fileName), part));
      return position;
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      await this.discard(uuid);
      throw error;
    }
  }

  /** Begins to fetch what the leader has staged, unless it is here. */
  want(member: MemberDatabase): void {
    const { uuid, name } = member;
    const { state } = this.stateOf(uuid);
    if (state === 'staged' || state === 'fetching') return;
    this.#states.set(uuid, { state: 'fetching' });
    this.#whole(uuid, (part) => this.#options.fetch(member, part)).catch((cause: unknown) => {
      const error = cause instanceof Error ? cause.message : String(cause);
      // Given up meanwhile: nobody asks for it any more.
      if (!this.#states.has(uuid)) return;
      this.#states.set(uuid, { state: 'failed', error });
      this.#options.log.warn('a database that is staged could not be fetched', { name, error });
    });
  }

  /** The archive of what was built here. @throws DatabaseError `DatabaseNotFound` */
  async open(uuid: string): Promise<SnapshotArchive> {
    const path = `${this.path(uuid)}.zip`;
    // Once published its files are no more here, and nobody fetches it any more.
    if (!/^[0-9a-f-]{36}$/.test(uuid) || !this.isStaged(uuid) || !(await exists(path)))
      throw new DatabaseError('DatabaseNotFound', `nothing is staged as '${uuid.slice(0, 40)}'`);
    const sizes = {
      archiveBytes: (await stat(path)).size,
      databaseBytes: await bytesIn(this.path(uuid)),
    };
    const pieces = createReadStream(path, { highWaterMark: 256 * 1024 });
    pieces.on('error', () => {});
    return { form: 'zip', appliedIndex: 0, sizes, pieces, close: () => pieces.destroy() };
  }

  /** Published or given up. */
  async discard(uuid: string): Promise<void> {
    this.#states.delete(uuid);
    for (const suffix of ['', '.part', '.zip'])
      await rm(`${this.path(uuid)}${suffix}`, { recursive: true, force: true });
  }

  async #whole(uuid: string, fill: (directory: string) => Promise<void>): Promise<void> {
    const part = `${this.path(uuid)}.part`;
    this.#states.set(uuid, { state: 'fetching' });
    await rm(part, { recursive: true, force: true });
    await mkdir(part, { recursive: true });
    try {
      await fill(part);
      await directorySynced(part);
      if (!this.#states.has(uuid)) throw new DatabaseError('Cancelled', 'it was given up');
      await rename(part, this.path(uuid));
      await directorySynced(this.#options.directory);
      this.#states.set(uuid, { state: 'staged' });
    } catch (error) {
      await rm(part, { recursive: true, force: true });
      throw error;
    }
  }
}

/** Of the files of a database. */
async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) bytes += (await stat(join(directory, name))).size;
  return bytes;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
