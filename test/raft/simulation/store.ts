import { MemoryTail } from '#cluster/log-store/memory-tail.ts';
import { SegmentLog } from '#cluster/log-store/segment-log.ts';
import type { SnapshotMeta } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { Entry, HardState, Index, PeerId } from '#raft/vocabulary.ts';
import { SimulatedDisk } from '#test/cluster/log-store/support/simulated-disk.ts';

export interface StoreLimits {
  readonly cacheBytes: number;
  readonly purgeGap: number;
}

/** The real log store over a simulated disk, called directly: what is in memory of one server's log goes with a crash. */
export class SimulatedStore {
  readonly #id: PeerId;
  readonly #limits: StoreLimits;
  disk = new SimulatedDisk();
  tail: MemoryTail;
  hardState: HardState = { term: 0, vote: null, commit: 0 };
  confEntries: readonly Entry[] = [];
  #log: SegmentLog | undefined;
  /** Its file is replaced as a whole, so it is always one of them. */
  snapshot: SnapshotMeta | undefined;
  tornTails = 0;

  constructor(id: PeerId, limits: StoreLimits) {
    this.#id = id;
    this.#limits = limits;
    this.tail = new MemoryTail(limits.cacheBytes, undefined);
    this.open();
  }

  open(): void {
    const { index = 0, term = 0 } = this.snapshot ?? {};
    const { log, recovered } = SegmentLog.open({
      directory: '/raft',
      storageId: `0000000${this.#id}-8a70-4c3f-9d5e-0123456789ab`.slice(-36),
      after: { index, term },
      segmentBytes: 4096,
      newestBytesMax: this.#limits.cacheBytes,
      disk: this.disk,
    });
    this.#log = log;
    this.hardState = recovered.hardState;
    this.confEntries = recovered.confEntries;
    this.tail = new MemoryTail(this.#limits.cacheBytes, this.snapshot);
    this.tail.recover(recovered);
  }

  /** @throws Error when the disk is full: the log must be opened anew */
  write({ entries, hardState, snapshot, mustSync }: AppendJob): void {
    const log = this.#required();
    if (snapshot !== undefined) {
      this.snapshot = snapshot;
      log.reset(snapshot.index, hardState ?? log.hardState);
      this.tail.reset(snapshot);
    }
    log.append({ entries, hardState, mustSync });
    this.tail.put(entries);
  }

  load(low: Index): void {
    this.tail.offer(this.#required().read(low, this.tail.lastIndex() + 1, 2000));
  }

  compactTo(snapshot: SnapshotMeta): void {
    this.snapshot = snapshot;
    const purgeTo = Math.max(snapshot.index - this.#limits.purgeGap, 0);
    this.#required().purgeTo(purgeTo);
    this.tail.renewSnapshot(snapshot);
    this.tail.compactTo(purgeTo);
  }

  /** After a failure, in place. */
  reopen(): void {
    this.#log?.abandon();
    this.open();
  }

  /** The power fails: each change that was not flushed is there or not. */
  cut(survives: () => boolean): void {
    const lost = this.disk.pendingCount;
    this.disk = this.disk.crashed(survives);
    if (lost > 0) this.tornTails += 1;
    this.open();
  }

  #required(): SegmentLog {
    if (this.#log === undefined) throw new Error('the log is not open');
    return this.#log;
  }
}
