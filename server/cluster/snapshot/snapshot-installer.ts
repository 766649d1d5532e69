import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { haSnapshotMaxEntrySize } from '#config/cluster-resync-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import { unpackBackup } from '#database/operations/backup/restore.ts';
import type { ProgressRegistry, ProgressReporter } from '#database/progress/progress-registry.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { Acquisition, ResyncProgress } from '../cluster-view.ts';
import { receiverHeader } from '../cluster-view.ts';
import type { Dial } from '../forwarding/peer-addresses.ts';
import type { PeerAnswer, PeerHttp } from '../forwarding/peer-http.ts';

/** The databases of this server, past the log. */
export interface InstalledDatabases {
  exists(name: string): boolean;
  installHere(name: string, fill: (directory: string) => Promise<void>): Promise<void>;
  replaceHere(name: string, fill: (directory: string) => Promise<void>): Promise<void>;
}

export interface SnapshotInstallerOptions {
  /** For downloads; emptied at the start. */
  readonly directory: string;
  readonly databases: () => InstalledDatabases;
  /** Where the HTTP door of a member is, or why nobody may be asked there. */
  readonly dial: (peer: PeerId) => Dial;
  readonly http: () => Pick<PeerHttp, 'ask'>;
  readonly token: () => string;
  /** As the sender counts what it has sent to whom. */
  readonly self?: PeerId;
  /** Of the member of the log that has the name here. */
  readonly uuidOf: (database: string) => string | undefined;
  /** `service.ha.snapshotDownloadTimeout`: so long the next byte may take */
  readonly silentMsMax: () => number;
  /** How often the log tells how far it is; 0: never */
  readonly progressEveryMs: () => number;
  /** `service.ha.resyncCatchupLagThreshold` */
  readonly caughtUpWithin: () => number;
  /** Entries that are committed and not applied here. */
  readonly lag: () => number;
  /** What its databases have on the disk goes from its log, so that there is more room. */
  readonly purgeLog: () => Promise<void>;
  /** On the volume of the databases; absent: as the system tells. */
  readonly availableBytes?: () => Promise<number>;
  readonly retries: () => number;
  readonly retryBaseMs: () => number;
  readonly progress: ProgressRegistry;
  readonly settings: SettingsReader;
  readonly runtime: Runtime;
  readonly log: Log;
}

export interface InstallWork {
  /** What this server has applied: an older archive would leave a gap. */
  readonly atLeast?: () => Index;
  /** Around each attempt and not around the pauses between them: nothing is applied meanwhile. */
  readonly exclusively?: (run: () => Promise<void>) => Promise<void>;
  /** Asked there: the log may have dropped the database since, or it may be here by now. */
  readonly isWanted?: () => boolean;
}

/** The beginning of an archive that broke off; its sender keeps the rest a while. */
interface Part {
  readonly path: string;
  bytes: number;
  index: Index;
}

interface DownloadOrder {
  readonly database: string;
  readonly from: PeerId;
  readonly part: Part;
  readonly atLeast: Index;
  readonly stage?: string;
}

/** Databases of which it is remembered how they were fetched. */
const acquiredMax = 1000;

/** Of the unpacked files, beside the archive they come from (ha.md 9.4 rule 1). */
const spaceFactor = 1.2;
const purgeLooksMax = 10;
const purgeLookMs = 100;

/** Fetches databases from another member and puts them in place of what is here (ha.md 9.4). */
export class SnapshotInstaller {
  readonly #options: SnapshotInstallerOptions;
  readonly #running = new Map<string, ResyncProgress>();
  /** By the id of the database: one that is made again under the name was never fetched. */
  readonly #acquired = new Map<string, Acquisition>();

  constructor(options: SnapshotInstallerOptions) {
    this.#options = options;
  }

  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }

  /** What is being fetched of a database, for `GET /cluster`. */
  progressOf(database: string): ResyncProgress | undefined {
    return this.#running.get(database);
  }

  /** How the last fetching of a database ended, or that it goes on; undefined: it was not fetched since the start. */
  acquisitionOf(database: string): Acquisition | undefined {
    return this.#acquired.get(this.#options.uuidOf(database) ?? '');
  }

  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /**
   * Resolves when the database of the other member is open here, or not wanted any more.
   * @param from asked anew for each attempt: the leader may have changed
   * @throws DatabaseError `DatabaseInstalling` while it is fetched already, `DatabaseNotFound` when the other one has it no more:
   *   the log says so, too; what the last attempt failed with
   */
  async install(
    database: string,
    from: () => PeerId | undefined,
    { atLeast = () => 0, exclusively = (run) => run(), isWanted = () => true }: InstallWork = {},
  ): Promise<void> {
    if (this.#running.has(database))
      throw new DatabaseError(
        'DatabaseInstalling',
        `Database '${database}' is being fetched already`,
      );
    const { retries, retryBaseMs, runtime, log } = this.#options;
    this.#tell(database, 'DOWNLOAD', 0, 0);
    const uuid = this.#options.uuidOf(database) ?? '';
    this.#keep(uuid, 'ACQUIRING');
    const part = {
      path: join(this.#options.directory, `${runtime.random.uuid()}.zip`),
      ...nothing,
    };
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          let isThere = false;
          await exclusively(async () => {
            if (!isWanted()) return;
            await this.#attempt({ database, from: required(from()), part, atLeast: atLeast() });
            isThere = true;
          });
          if (!isThere) {
            this.#acquired.delete(uuid);
            return;
          }
          this.#keep(uuid, 'ACQUIRED');
          this.#followCatchUp(database);
          return;
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          if (part.bytes === 0) await rm(part.path, { force: true });
          log.warn('a database could not be fetched', { database, attempt: attempt + 1, reason });
          const isGone = error instanceof DatabaseError && error.code === 'DatabaseNotFound';
          if (isGone || attempt >= retries()) {
            this.#keep(uuid, 'FAILED', reason);
            throw error;
          }
          await runtime.timers.sleep(retryBaseMs() * 2 ** attempt);
        }
      }
    } finally {
      this.#running.delete(database);
      await rm(part.path, { force: true });
    }
  }

  /** Fetches what the leader has staged under `uuid` into an empty directory. */
  async stage(
    { uuid, name }: { readonly uuid: string; readonly name: string },
    { from, directory }: { readonly from: () => PeerId | undefined; readonly directory: string },
  ): Promise<void> {
    const { retries, runtime, progress, settings } = this.#options;
    const path = join(this.#options.directory, `${uuid}.zip`);
    for (let attempt = 0; ; attempt++) {
      const operation = 'fetch from a member';
      const reporter = progress.start({ database: name, operation, stepCount: 5 });
      try {
        const part = { path, ...nothing };
        const order = { database: name, from: required(from()), part, atLeast: 0, stage: uuid };
        await this.#download(order, reporter);
        await unpackBackup({
          path,
          directory,
          passphrase: undefined,
          settings,
          reporter,
          entryLimit,
        });
        reporter.finish();
        return;
      } catch (error) {
        reporter.fail(error);
        for (const entry of await readdir(directory))
          await rm(join(directory, entry), { recursive: true, force: true });
        if (attempt >= retries()) throw error;
        await runtime.timers.sleep(stageRetryMs * 2 ** attempt);
      } finally {
        await rm(path, { force: true });
      }
    }
  }

  async #attempt(order: DownloadOrder): Promise<void> {
    const { database, from, part } = order;
    const { progress, runtime, log } = this.#options;
    const beganMs = runtime.clock.monotonicMs();
    const reporter = progress.start({ database, operation: 'fetch from a member', stepCount: 5 });
    try {
      const bytes = await this.#download(order, reporter);
      log.info(`Installing snapshot of '${database}' from ${String(from)} (${bytes} bytes)`, {});
      // Whatever is wrong with a whole one, its beginning is of no use.
      Object.assign(part, nothing);
      await this.#unpack(database, part.path, reporter);
      reporter.finish();
    } catch (error) {
      reporter.fail(error);
      throw error;
    }
    const tookMs = Math.round(runtime.clock.monotonicMs() - beganMs);
    log.info(`Snapshot of '${database}' installed in ${tookMs} ms`, {});
  }

  async #download(order: DownloadOrder, reporter: ProgressReporter): Promise<number> {
    const { database, from, part, atLeast, stage } = order;
    const { dial, http, token } = this.#options;
    const to = dial(from);
    if (to.kind === 'refused')
      throw new DatabaseError('IllegalArgument', `nothing is fetched from ${from}: ${to.reason}`);
    reporter.step('downloading', undefined);
    // What was applied here meanwhile is missing in it.
    if (part.index < atLeast) Object.assign(part, nothing);
    const query = new URLSearchParams({
      ...(stage !== undefined && { stage }),
      ...(part.bytes > 0 && { from: String(part.bytes), index: String(part.index) }),
    });
    const answer = await http().ask(to, {
      method: 'GET',
      path: `/api/v1/ha/snapshot/${encodeURIComponent(database)}${query.size === 0 ? '' : `?${query}`}`,
      headers: { 'X-Service-Cluster-Token': token(), [receiverHeader]: this.#options.self ?? '' },
      body: undefined,
      // The archive is made before the first byte comes.
      firstByteMs: firstByteMaxMs,
      signal: reporter.signal,
    });
    if (answer.status === 404) {
      answer.body.resume();
      throw new DatabaseError('DatabaseNotFound', `${from} has no database '${database}' any more`);
    }
    if (answer.status !== 200 || answer.header('x-service-snapshot-manifest') !== '1') {
      answer.body.resume();
      throw new DatabaseError('Internal', `${from} answers ${answer.status} instead of an archive`);
    }
    const index = Number(answer.header('x-service-snapshot-index') ?? 0);
    if (index < atLeast) {
      answer.body.destroy();
      throw new DatabaseError('Internal', `${from} is at ${index}, this server at ${atLeast}`);
    }
    const [uuid, expected] = [
      answer.header('x-service-snapshot-uuid'),
      this.#options.uuidOf(database),
    ];
    if (stage === undefined && expected !== undefined && uuid !== undefined && uuid !== expected) {
      answer.body.destroy();
      throw new DatabaseError(
        'DatabaseNotFound',
        `${from} has another database of this name: ${uuid}, not ${expected}`,
      );
    }
    await this.#requireRoom(bytesNeeded(answer)).catch((error: unknown) => {
      answer.body.destroy();
      throw error;
    });
    const goesOn = Number(answer.header('x-service-snapshot-from') ?? 0) === part.bytes;
    if (!goesOn) part.bytes = 0;
    part.index = index;
    return this.#receive(answer.body, part, (piece, total) => {
      if (stage === undefined) this.#tell(database, 'DOWNLOAD', total, 0);
      reporter.advance(piece);
    });
  }

  /** Into a file, behind what is there of it; a sender that is silent for long is given up. @returns the length of all */
  async #receive(
    body: Readable,
    part: Part,
    took: (piece: number, total: number) => void,
  ): Promise<number> {
    const { silentMsMax, progressEveryMs, runtime, log } = this.#options;
    const { clock, timers } = runtime;
    // Not flushed: a start removes it, and what is unpacked of it is.
    const file = createWriteStream(part.path, {
      flags: part.bytes === 0 ? 'w' : 'a',
      mode: 0o600,
    });
    let bytes = part.bytes;
    let toldMs = clock.monotonicMs();
    const give = () => {
      const ms = silentMsMax();
      return timers.after(ms, () =>
        body.destroy(new DatabaseError('Busy', `nothing came for ${ms} ms`)),
      );
    };
    let cancel = give();
    body.on('data', (piece: Buffer) => {
      bytes += piece.length;
      cancel();
      cancel = give();
      took(piece.length, bytes);
      const everyMs = progressEveryMs();
      if (everyMs === 0 || clock.monotonicMs() - toldMs < everyMs) return;
      toldMs = clock.monotonicMs();
      log.info('a database is being fetched', { bytes });
    });
    try {
      await pipeline(body, file);
    } finally {
      cancel();
      // What was on its way to the disk may have got there.
      if (!file.closed) await once(file, 'close');
      part.bytes = (await stat(part.path).catch(() => ({ size: 0 }))).size;
    }
    return bytes;
  }

  /** What was committed meanwhile comes by the log: told until it is here. */
  #followCatchUp(database: string): void {
    const { progressEveryMs, caughtUpWithin, lag, runtime, log } = this.#options;
    const everyMs = progressEveryMs();
    if (everyMs === 0) return;
    const behind = lag();
    if (behind <= caughtUpWithin()) {
      log.info('a database that was fetched has caught up', { database, lag: behind });
      return;
    }
    log.info('a database that was fetched is catching up', { database, lag: behind });
    runtime.timers.after(everyMs, () => this.#followCatchUp(database));
  }

  /** Before the first byte (ha.md 3.7 rule 4). The purge of the own log goes on beside: what comes free is looked for again. */
  async #requireRoom(needed: number): Promise<void> {
    let available = await this.#available();
    if (available >= needed) return;
    await this.#options.purgeLog();
    for (let look = 0; look < purgeLooksMax && available < needed; look++) {
      await this.#options.runtime.timers.sleep(purgeLookMs);
      available = await this.#available();
    }
    if (available < needed)
      throw new DatabaseError(
        'Busy',
        `the volume has ${available} bytes available, the snapshot needs ${needed}`,
      );
  }

  async #available(): Promise<number> {
    const { availableBytes, directory } = this.#options;
    if (availableBytes !== undefined) return availableBytes();
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  }

  async #unpack(database: string, path: string, reporter: ProgressReporter): Promise<void> {
    const { settings } = this.#options;
    const databases = this.#options.databases();
    const fill = async (directory: string) => {
      this.#tell(database, 'LOAD', 0, 0);
      await unpackBackup({
        path,
        directory,
        passphrase: undefined,
        database,
        settings,
        reporter,
        entryLimit,
      });
      this.#tell(database, 'SWAP', 0, 0);
    };
    if (databases.exists(database)) await databases.replaceHere(database, fill);
    else await databases.installHere(database, fill);
  }

  #keep(uuid: string, acquireStatus: Acquisition['acquireStatus'], acquireError?: string): void {
    const acquireTimestamp = this.#options.runtime.clock.now();
    this.#acquired.delete(uuid);
    this.#acquired.set(uuid, { acquireStatus, acquireTimestamp, acquireError });
    for (const oldest of this.#acquired.keys()) {
      if (this.#acquired.size <= acquiredMax) break;
      this.#acquired.delete(oldest);
    }
  }

  #tell(database: string, phase: ResyncProgress['phase'], bytes: number, totalBytes: number): void {
    const startedAt = this.#running.get(database)?.startedAt ?? this.#options.runtime.clock.now();
    this.#running.set(database, { database, phase, bytes, totalBytes, startedAt });
  }
}

const nothing = { bytes: 0, index: 0 };

/** Of what members send each other; restores have a bound of their own. */
const entryLimit = haSnapshotMaxEntrySize;
const firstByteMaxMs = 600_000;
const stageRetryMs = 500;

function bytesNeeded(answer: PeerAnswer): number {
  const databaseBytes = Number(answer.header('x-service-snapshot-size') ?? 0);
  const archiveBytes = Number(answer.header('content-length') ?? 0);
  return archiveBytes + Math.ceil(databaseBytes * spaceFactor);
}

function required(from: PeerId | undefined): PeerId {
  if (from !== undefined) return from;
  throw new DatabaseError('QuorumNotReached', 'the cluster has no leader now');
}
