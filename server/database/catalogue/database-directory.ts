import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Random } from '#core/runtime.ts';

/** http-api.md 12; below the 255 bytes of a path segment also with the prefix of a trashed one. */
export const databaseNameLengthMax = 128;

const nameShape = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;
const closedMarker = 'closed';
const dataFile = 'data.mdb';

/**
 * Refuses what is no database name (limits.md 22, http-api.md 12): one path segment of letters, digits, `_`, `-` and `.`,
 * 1 to 128 characters, not starting with `.` and without `..`.
 * @param lengthMax a lower limit, `service.maxNameLength`
 * @throws DatabaseError `IllegalArgument`
 */
export function requireDatabaseName(name: string, lengthMax = databaseNameLengthMax): void {
  const problem = problemWithName(name) ?? problemWithLength(name, lengthMax);
  if (problem !== undefined) {
    const shown = name.length > 160 ? `${name.slice(0, 160)}...` : name;
    throw new DatabaseError('IllegalArgument', `database name '${printable(shown)}' ${problem}`);
  }
}

function problemWithName(name: string): string | undefined {
  if (name.trim() === '') return 'is blank';
  if (name.length > databaseNameLengthMax) {
    return `has ${name.length} characters, at most ${databaseNameLengthMax} are allowed`;
  }
  if (name.startsWith('.')) return "starts with '.', which is reserved";
  if (name.includes('..')) return "contains '..'";
  if (!nameShape.test(name)) return "may only hold letters, digits, '_', '-' and '.'";
  return undefined;
}

function problemWithLength(name: string, lengthMax: number): string | undefined {
  if (name.length <= lengthMax) return undefined;
  return `has ${name.length} characters, at most ${lengthMax} are allowed (service.maxNameLength)`;
}

function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]/g, '?');
}

const replacingPrefix = '.replacing-';
const leftOverPrefixes = ['.trash-', '.creating-', '.restore-tmp-', '.import-tmp-', '.fetch-tmp-'];

/** Why a database is being built; the beginning of its temporary name. */
export type BuildKind = 'creating' | 'restore-tmp' | 'import-tmp' | 'fetch-tmp';

/** A database that is whole and not there yet; exactly one of these is called. */
export interface BuiltDatabase {
  /** It exists when this resolves. */
  publish(): Promise<void>;
  /** It has taken the place of the one with its name, whose files nobody may have open. */
  replace(): Promise<void>;
  discard(): Promise<void>;
}

export interface StoredDatabase {
  readonly name: string;
  readonly isClosed: boolean;
}

/**
 * The directory that holds one directory per database. A database appears and disappears by one rename, so that after a
 * crash it is there as a whole or not at all; what starts with '.' is never a database.
 */
export class DatabaseDirectory {
  readonly #root: string;
  readonly #random: Random;
  readonly #log: Log;
  #deletions: Promise<void> = Promise.resolve();

  constructor(options: { root: string; random: Random; log: Log }) {
    this.#root = options.root;
    this.#random = options.random;
    this.#log = options.log;
  }

  path(name: string): string {
    return join(this.#root, name);
  }

  /** Makes the root when it is missing, and finishes deletions and creations that a stop interrupted. */
  async prepare(): Promise<void> {
    await mkdir(this.#root, { recursive: true });
    for (const entry of await readdir(this.#root)) {
      const isLeftOver = leftOverPrefixes.some((prefix) => entry.startsWith(prefix));
      if (isLeftOver) this.#deleteLater(entry);
      else if (entry.startsWith(replacingPrefix)) await this.#finishReplacing(entry);
    }
  }

  /** Databases on disk, sorted; other entries are left alone and logged. */
  async list(): Promise<readonly StoredDatabase[]> {
    const found: StoredDatabase[] = [];
    for (const entry of await readdir(this.#root, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || !entry.isDirectory()) continue;
      const isDatabase = await this.holds(entry.name);
      if (!isDatabase || problemWithName(entry.name) !== undefined) {
        this.#log.warn('not a database, ignored', { directory: entry.name });
        continue;
      }
      const isClosed = await exists(join(this.#root, entry.name, closedMarker));
      found.push({ name: entry.name, isClosed });
    }
    return found.sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /** Whether the files of the database are there. */
  holds(name: string): Promise<boolean> {
    return exists(join(this.path(name), dataFile));
  }

  /**
   * Lets `fill` build the database under a temporary name; it exists under its own one when this resolves.
   * @param work what the temporary name begins with; a crash leaves it behind, and the next start deletes it
   */
  async create(
    name: string,
    fill: (directory: string) => Promise<void>,
    work: BuildKind = 'creating',
  ): Promise<void> {
    const built = await this.build(name, fill, work);
    await built.publish();
  }

  /** As `create`, in two steps: nothing is there under the name of the database until `publish` or `replace`. */
  async build(
    name: string,
    fill: (directory: string) => Promise<void>,
    work: BuildKind,
  ): Promise<BuiltDatabase> {
    const temporary = join(this.#root, `.${work}-${name}-${this.#suffix()}`);
    const discard = () => rm(temporary, { recursive: true, force: true });
    await mkdir(temporary);
    try {
      await fill(temporary);
      await syncDirectory(temporary);
    } catch (error) {
      await discard();
      throw error;
    }
    return {
      discard,
      publish: async () => {
        try {
          await rename(temporary, this.path(name));
        } catch (error) {
          await discard();
          throw error;
        }
        await syncDirectory(this.#root);
      },
      replace: () => this.#replace(name, temporary),
    };
  }

  /**
   * The new files take the place of the old ones. A crash in between leaves the one or the other: while both are there the old
   * ones count, as soon as the old ones are gone the new ones are put in their place at the next start.
   */
  async #replace(name: string, temporary: string): Promise<void> {
    const waiting = join(this.#root, `${replacingPrefix}${name}`);
    await rm(waiting, { recursive: true, force: true });
    await rename(temporary, waiting);
    await syncDirectory(this.#root);
    await this.trashIfThere(name);
    await rename(waiting, this.path(name));
    await syncDirectory(this.#root);
  }

  async #finishReplacing(entry: string): Promise<void> {
    const name = entry.slice(replacingPrefix.length);
    const target = this.path(name);
    if (await exists(target)) {
      // Its name must be free for the next replacement before it is deleted.
      const trash = `.trash-${name}-${this.#suffix()}`;
      await rename(join(this.#root, entry), join(this.#root, trash));
      this.#deleteLater(trash);
      return;
    }
    await rename(join(this.#root, entry), target);
    await syncDirectory(this.#root);
  }

  /** A directory that stands ready becomes the database, in place of the one that has its name. @returns true */
  async take(name: string, from: string): Promise<boolean> {
    await this.trashIfThere(name);
    await rename(from, this.path(name));
    await syncDirectory(this.#root);
    return true;
  }

  async trashIfThere(name: string): Promise<void> {
    if (await exists(this.path(name))) await this.trash(name);
  }

  /** The database is gone when this resolves; its files are deleted in the background. */
  async trash(name: string): Promise<void> {
    const trash = `.trash-${name}-${this.#suffix()}`;
    await rename(this.path(name), join(this.#root, trash));
    await syncDirectory(this.#root);
    this.#deleteLater(trash);
  }

  /** Nothing deletes it, and no start opens it. @returns the name of its directory */
  async setAside(name: string): Promise<string> {
    const aside = `.aside-${name}-${this.#suffix()}`;
    await rename(this.path(name), join(this.#root, aside));
    await syncDirectory(this.#root);
    return aside;
  }

  /** Remembers over restarts that the database stays closed until somebody opens it. */
  async markClosed(name: string): Promise<void> {
    await writeFile(join(this.path(name), closedMarker), '');
    await syncDirectory(this.path(name));
  }

  async markOpen(name: string): Promise<void> {
    await rm(join(this.path(name), closedMarker), { force: true });
    await syncDirectory(this.path(name));
  }

  /** Resolves when the deletions asked for so far have ended. */
  async settled(): Promise<void> {
    await this.#deletions;
  }

  #deleteLater(entry: string): void {
    this.#deletions = this.#deletions.then(async () => {
      try {
        await rm(join(this.#root, entry), { recursive: true, force: true });
      } catch (error) {
        this.#log.warn('could not delete a dropped database; tried again at the next start', {
          directory: entry,
          reason: String(error),
        });
      }
    });
  }

  #suffix(): string {
    return this.#random.uint32().toString(16).padStart(8, '0');
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

/** A rename is durable only when its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
