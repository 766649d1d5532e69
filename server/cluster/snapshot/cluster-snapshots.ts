import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { ConsensusPort, SnapshotOffer } from '../consensus-port.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';
import type { SnapshotInstaller } from './snapshot-installer.ts';

/** The catalog as it travels with a snapshot. */
export interface CatalogImage {
  /** Everything that server entries made: databases, users, groups. */
  image(): Uint8Array;
  /** @returns the databases that are members by the image @throws DatabaseError for an image of another version */
  membersOf(image: Uint8Array): readonly MemberDatabase[];
  /** Takes the place of the catalog here, durably, but for how far it is applied; databases that the image lists as dropped go. */
  adopt(image: Uint8Array): Promise<void>;
  /** The databases of the image are here: last, so that a crash before it begins anew. */
  adopted(index: Index): Promise<void>;
}

export interface ClusterSnapshotsOptions {
  readonly port: ConsensusPort;
  readonly catalog: CatalogImage;
  readonly installer: Pick<SnapshotInstaller, 'install'>;
  /** While nothing is applied: what was delivered before may still be on its way. */
  readonly exclusively: (run: () => Promise<void>) => Promise<void>;
  /** What its databases have on the disk goes from its log. */
  readonly purgeLog: () => Promise<void>;
  /** The apply loop goes on behind this index. */
  readonly installed: (index: Index) => void;
  /** The catalog is that of the group; default: it is. */
  readonly hasEntered?: (() => boolean) | undefined;
  readonly log: Log;
}

/** Snapshots of the whole log (ha.md 9.2): each database comes at a position of its own, at or behind that of the snapshot. */
export class ClusterSnapshots {
  readonly #options: ClusterSnapshotsOptions;
  #isAdopting = false;

  constructor(options: ClusterSnapshotsOptions) {
    this.#options = options;
    options.port.onSnapshot((offer) => this.#install(offer));
  }

  /** Everything up to `index` is durable here: the log may go. */
  offer(index: Index): void {
    // The catalog is already that of a later index.
    if (this.#isAdopting) return;
    this.#options.port.offerSnapshot(index, this.#options.catalog.image());
  }

  /** What the leader has dropped since its offer is dropped here, too, by the log that follows. */
  async #fetch(name: string, source: () => PeerId | undefined): Promise<void> {
    const { installer, log } = this.#options;
    try {
      await installer.install(name, source);
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== 'DatabaseNotFound') throw error;
      log.warn('the leader has a database of its snapshot no more', { database: name });
    }
  }

  async #install({ index, from, body }: SnapshotOffer): Promise<void> {
    const { catalog, installed, exclusively, purgeLog, log, port } = this.#options;
    // Offered again in a moment: an image would be taken for the catalog of another group.
    if (this.#options.hasEntered?.() === false)
      throw new DatabaseError('NotOnline', 'the server is entering its cluster');
    log.info('this server is behind the log of the cluster and fetches its databases', {
      index,
      from,
    });
    const source = (): PeerId | undefined => port.status().leader ?? from;
    try {
      const members = catalog.membersOf(body);
      // Before the databases: one that is opened must be known as a member.
      await exclusively(async () => {
        // Nobody gets the old log any more, and the databases need its room (ha.md 3.7 rule 4).
        await purgeLog();
        this.#isAdopting = true;
        await catalog.adopt(body);
        for (const { name } of members) await this.#fetch(name, source);
        await catalog.adopted(index);
        installed(index);
        this.#isAdopting = false;
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error('the snapshot of the cluster was not installed; it is tried again', {
        index,
        reason,
      });
      throw error;
    }
  }
}
