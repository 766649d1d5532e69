import type { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import type { EnteredGroup } from '#cluster/catalog/entered-group.ts';
import type { ConsensusPort, ConsensusStatus } from '#cluster/consensus-port.ts';
import type { ApplyLoop } from '#cluster/replication/apply-loop.ts';
import type { Timers } from '#core/runtime.ts';
import type { Databases } from '#database/catalogue/databases.ts';

export interface GroupEntryOptions {
  readonly consensus: Pick<ConsensusPort, 'status' | 'onStatus'>;
  readonly catalog: Pick<ServerCatalog, 'enter' | 'members'>;
  readonly databases: Pick<Databases, 'exists' | 'reopenHere'>;
  readonly loop: () => Pick<ApplyLoop, 'exclusively' | 'beginAnew'>;
  readonly timers: Pick<Timers, 'after'>;
  readonly report: (text: string) => void;
}

const againMs = 1000;

/**
 * Sees to it that nothing of a log is applied before the catalog is of the group whose log it is. A server knows its group when it
 * starts, or hears of it later, when its log was lost or never there.
 */
export class GroupEntry {
  readonly #options: GroupEntryOptions;
  #entered: string | undefined;
  /** As consensus found it: it grows while databases are opened. */
  #log: EnteredGroup['log'];
  #begin: (() => void) | undefined;
  #hasBegun = false;
  #isLooking = false;
  /** Databases that are open as members of the log that is lost. */
  #left: string[] = [];

  constructor(options: GroupEntryOptions) {
    this.#options = options;
    const { consensus } = options;
    consensus.onStatus((status) => this.#look(status));
    this.#look(consensus.status());
  }

  /** What is applied here is of the group that this server is in. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Why this server does not serve; undefined: that is no reason. */
  get reason(): string | undefined {
    const { clusterId } = this.#options.consensus.status();
    if (this.#hasBegun || clusterId === undefined) return undefined;
    return `it has not entered group ${clusterId} yet`;
  }

  /** A group that is known is entered before the databases are opened. */
  async beforeDatabases(): Promise<void> {
    const group = this.#group();
    if (group === undefined) return;
    try {
      const entry = await this.#options.catalog.enter(group);
      if (entry !== 'open') this.#entered = group.clusterId;
    } catch (error) {
      this.#tell(error);
    }
  }

  #tell(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.report(`the group could not be entered; it is tried again: ${reason}`);
  }

  /** @param begin called once, as soon as the catalog is that of the group; before this resolves when the group is known */
  async follow(begin: () => void): Promise<void> {
    this.#begin = begin;
    await this.#goOn();
  }

  #look(status: ConsensusStatus): void {
    const { firstIndex, lastIndex } = status;
    if (status.raftState === 'RUNNING') this.#log ??= { firstIndex, lastIndex };
    const isNews = status.clusterId !== undefined && status.clusterId !== this.#entered;
    if (isNews && this.#begin !== undefined) void this.#goOn();
  }

  #group(): EnteredGroup | undefined {
    const { clusterId, earlierClusterIds = [] } = this.#options.consensus.status();
    return clusterId === undefined ? undefined : { clusterId, earlierClusterIds, log: this.#log };
  }

  async #goOn(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#enter();
    } catch (error) {
      this.#tell(error);
      this.#options.timers.after(againMs, () => void this.#goOn());
    } finally {
      this.#isLooking = false;
    }
  }

  async #enter(): Promise<void> {
    const { loop } = this.#options;
    for (let group = this.#group(); group !== undefined; group = this.#group()) {
      const { clusterId } = group;
      if (clusterId === this.#entered) break;
      const next = group;
      await loop().exclusively(() => this.#enterNow(next));
      if (this.#entered !== clusterId && this.#log === group.log) return;
    }
    if (this.#entered === undefined || this.#hasBegun) return;
    this.#hasBegun = true;
    this.#begin?.();
  }

  async #enterNow(group: EnteredGroup): Promise<void> {
    const { catalog, databases, loop } = this.#options;
    const members = catalog.members();
    const entry = await catalog.enter(group);
    if (entry === 'open') return;
    if (entry === 'other') {
      loop().beginAnew();
      this.#left = members.map(({ name }) => name);
    }
    // They would write into the new log as what they were in the old one.
    for (let name = this.#left[0]; name !== undefined; name = this.#left[0]) {
      if (databases.exists(name)) await databases.reopenHere(name);
      this.#left.shift();
    }
    this.#entered = group.clusterId;
  }
}
