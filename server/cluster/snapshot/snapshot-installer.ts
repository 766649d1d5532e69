import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { haSnapshotMaxEntrySize } from '#config/cluster-resync-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ProgressRegistry, ProgressReporter } from '#database/progress/progress-registry.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { Acquisition, ResyncProgress } from '../cluster-view.ts';
import { partsHeader, receiverHeader } from '../cluster-view.ts';
import type { Dial } from '../forwarding/peer-addresses.ts';
import type { PeerAnswer, PeerHttp } from '../forwarding/peer-http.ts';
import {
  type Received,
  ReceivedArchive,
  ReceivedParts,
  type ReceivingOptions,
  watched,
} from './received.ts';

/** The databases of this server, past the log. */
export interface InstalledDatabases {
  exists(name: string): boolean;
  installHere(name: string, fill: (directory: string) => Promise<void>): Promise<void>;
  replaceHere(name: string, fill: (directory: string) => Promise<void>): Promise<void>;
}

export interface SnapshotInstallerOptions extends ReceivingOptions {
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
}

export interface InstallWork {
  /** What this server has applied: an older archive would leave a gap. */
  readonly atLeast?: () => Index;
  /** Around each attempt and not around the pauses between them: nothing is applied meanwhile. */
  readonly exclusively?: (run: () => Promise<void>) => Promise<void>;
  /** Asked there: the log may have dropped the database since, or it may be here by now. */
  readonly isWanted?: () => boolean;
}

/** What is here of a database, for the next attempt; its sender keeps the rest a while. */
interface Part {
  received: Received | undefined;
  /** Of the state that it is of. */
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
    const part: Part = { received: undefined, index: 0 };
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
      await part.received?.discard();
    }
  }

  /** Fetches what the leader has staged under `uuid` into an empty directory. */
  async stage(
    { uuid, name }: { readonly uuid: string; readonly name: string },
    { from, directory }: { readonly from: () => PeerId | undefined; readonly directory: string },
  ): Promise<void> {
    const { retries, runtime, progress } = this.#options;
    for (let attempt = 0; ; attempt++) {
      const operation = 'fetch from a member';
      const reporter = progress.start({ database: name, operation, stepCount: 5 });
      const part: Part = { received: undefined, index: 0 };
      try {
        const order = { database: name, from: required(from()), part, atLeast: 0, stage: uuid };
        const { received } = await this.#download(order, reporter);
        await received.fill(directory, reporter);
        reporter.finish();
        return;
      } catch (error) {
        reporter.fail(error);
        for (const entry of await readdir(directory))
          await rm(join(directory, entry), { recursive: true, force: true });
        if (attempt >= retries()) throw error;
        await runtime.timers.sleep(stageRetryMs * 2 ** attempt);
      } finally {
        await part.received?.discard();
      }
    }
  }

  async #attempt(order: DownloadOrder): Promise<void> {
    const { database, from, part } = order;
    const { progress, runtime, log } = this.#options;
    const beganMs = runtime.clock.monotonicMs();
    const reporter = progress.start({ database, operation: 'fetch from a member', stepCount: 5 });
    try {
      const { bytes, received } = await this.#download(order, reporter);
      log.info(`Installing snapshot of '${database}' from ${String(from)} (${bytes} bytes)`, {});
      await this.#put(database, received, reporter);
      reporter.finish();
    } catch (error) {
      reporter.fail(error);
      throw error;
    } finally {
      if (part.received?.isOver === true) await begunAnew(part);
    }
    const tookMs = Math.round(runtime.clock.monotonicMs() - beganMs);
    log.info(`Snapshot of '${database}' installed in ${tookMs} ms`, {});
  }

  async #download(
    order: DownloadOrder,
    reporter: ProgressReporter,
  ): Promise<{ readonly bytes: number; readonly received: Received }> {
    const { database, from, part, atLeast, stage } = order;
    const { dial, http, token } = this.#options;
    const to = dial(from);
    if (to.kind === 'refused')
      throw new DatabaseError('IllegalArgument', `nothing is fetched from ${from}: ${to.reason}`);
    reporter.step('downloading', undefined);
    // What was applied here meanwhile is missing in it.
    if (part.index < atLeast) await begunAnew(part);
    const partCount = part.received?.partCount ?? 0;
    const query = new URLSearchParams({
      ...(stage !== undefined && { stage }),
      ...(partCount > 0 && { from: String(partCount), index: String(part.index) }),
    });
    const answer = await http().ask(to, {
      method: 'GET',
      path: `/api/v1/ha/snapshot/${encodeURIComponent(database)}${query.size === 0 ? '' : `?${query}`}`,
      headers: {
        'X-Service-Cluster-Token': token(),
        [receiverHeader]: this.#options.self ?? '',
        ...(stage === undefined && { [partsHeader]: '1' }),
      },
      body: undefined,
      // What a checkpoint still has to write comes before the first byte, and in older builds a copy.
      firstByteMs: firstByteMaxMs,
      signal: reporter.signal,
    });
    if (answer.status === 404) {
      answer.body.resume();
      throw new DatabaseError('DatabaseNotFound', `${from} has no database '${database}' any more`);
    }
    const form = formOf(answer);
    if (answer.status !== 200 || form === undefined) {
      answer.body.resume();
      throw new DatabaseError('Internal', `${from} answers ${answer.status} instead of a database`);
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
    const goesOn = Number(answer.header('x-service-snapshot-from') ?? 0) === partCount;
    if (!goesOn || part.received?.form !== form) await begunAnew(part);
    part.index = index;
    part.received ??= await this.#begun(form, database, stage);
    const { received } = part;
    let total = 0;
    const pieces = watched(answer.body, this.#options, (piece) => {
      total += piece;
      if (stage === undefined) this.#tell(database, 'DOWNLOAD', total, 0);
      reporter.advance(piece);
    });
    return { bytes: await received.take(pieces), received };
  }

  async #begun(
    form: Received['form'],
    database: string,
    stage: string | undefined,
  ): Promise<Received> {
    const { directory, settings, runtime, uuidOf } = this.#options;
    const path = join(directory, runtime.random.uuid());
    if (form === 'zip')
      return new ReceivedArchive(
        `${path}.zip`,
        stage === undefined ? database : undefined,
        settings,
      );
    const bytesMax = settings.get(haSnapshotMaxEntrySize);
    return ReceivedParts.begun({ directory: path, database, uuid: uuidOf(database), bytesMax });
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

  async #put(database: string, received: Received, reporter: ProgressReporter): Promise<void> {
    const databases = this.#options.databases();
    const fill = async (directory: string) => {
      this.#tell(database, 'LOAD', 0, 0);
      await received.fill(directory, reporter);
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

const firstByteMaxMs = 600_000;
const stageRetryMs = 500;

/** Whatever is there of it is of no use. */
async function begunAnew(part: Part): Promise<void> {
  const { received } = part;
  part.received = undefined;
  part.index = 0;
  await received?.discard();
}

/** Undefined: it is no database. */
function formOf(answer: PeerAnswer): Received['form'] | undefined {
  if (answer.header(partsHeader) === '1') return 'parts';
  return answer.header('x-service-snapshot-manifest') === '1' ? 'zip' : undefined;
}

function bytesNeeded(answer: PeerAnswer): number {
  const databaseBytes = Number(answer.header('x-service-snapshot-size') ?? 0);
  const archiveBytes = Number(answer.header('content-length') ?? 0);
  return archiveBytes + Math.ceil(databaseBytes * spaceFactor);
}

function required(from: PeerId | undefined): PeerId {
  if (from !== undefined) return from;
  throw new DatabaseError('QuorumNotReached', 'the cluster has no leader now');
}
