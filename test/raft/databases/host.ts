import { setImmediate as turn } from 'node:timers/promises';
import { ReadBarrier, type WantedState } from '#cluster/reads/read-barrier.ts';
import type { ClusterReplication } from '#cluster/replication/replication.ts';
import { haQuorumTimeout } from '#config/cluster-settings.ts';
import { Settings } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { Database } from '#database/database.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { Index } from '#raft/vocabulary.ts';
import { CatalogDouble, runOn, startReplicated } from '#test/cluster/support/replicated-servers.ts';
import type { PlainRow } from '#test/database/support/plain-values.ts';
import type { Users } from '#security/users.ts';
import type { SimulatedServer } from '../simulation/server.ts';
import { seeded } from '../support/random.ts';
import { HostAccounts } from './accounts.ts';
import { type Below, type HostDisk, makeDisk } from './disk.ts';
import { SimulatedPort } from './port.ts';
import { VirtualRuntime } from './virtual-runtime.ts';

export const database = 'test';

const readTimeoutMs = 2000;
const readSettings = new Settings(new Map([[haQuorumTimeout.key, String(readTimeoutMs)]]));
/** The default of `service.ha.quorumTimeout`: who waits at a server that was removed is told after two of them. */
const quorumTimeoutMs = 10_000;

/** What is equal on all servers with the same last transaction. */
export interface CopyState {
  /** Over all that was applied. */
  readonly chain: string;
  readonly schema: string;
  /** Of each bucket: records, their hash, the next position. */
  readonly buckets: string;
}

/** The server was cut off the power while it worked. */
export class PowerCut extends Error {}

/** The real databases of one simulated server. A power cut leaves what its disk says (`disk.ts`). */
export class DatabaseHost {
  readonly server: SimulatedServer;
  readonly #seed: number;
  readonly #disk: HostDisk;
  #catalog = new CatalogDouble();
  #databases: Databases | undefined;
  replication: ClusterReplication | undefined;
  #reads: ReadBarrier | undefined;
  #accounts: HostAccounts | undefined;
  runtime: VirtualRuntime;
  port: SimulatedPort;
  /** Its power was cut, and the process is not swept away yet. */
  isLost = false;
  #cut = Promise.withResolvers<never>();
  #node: SimulatedServer['node'];
  #starts = 0;
  #catalogOfSchema: unknown;
  #schema = '';

  constructor(server: SimulatedServer, { seed, below }: { seed: number; below: Below }) {
    this.server = server;
    this.#seed = seed * 101 + Number(server.id);
    const sleep = (ms: number) => this.runtime.timers.sleep(ms);
    this.#disk = makeDisk(below, seeded(this.#seed), sleep);
    this.runtime = this.#newRuntime();
    this.port = new SimulatedPort(server);
    this.#cut.promise.catch(() => {});
  }

  get isOpen(): boolean {
    return this.replication !== undefined && !this.isLost;
  }

  /** The core was made anew over the log of before. */
  notice(): void {
    const { node } = this.server;
    if (this.#node !== undefined && node !== this.#node) this.port.restarted();
    this.#node = node;
  }

  /** What one process draws is no matter of what another one has drawn, in whatever order they came to it. */
  #newRuntime(): VirtualRuntime {
    this.#starts += 1;
    return new VirtualRuntime(seeded(this.#seed * 1009 + this.#starts));
  }

  async open(): Promise<void> {
    this.#catalog = this.#disk.start();
    this.runtime = this.#newRuntime();
    this.port = new SimulatedPort(this.server);
    this.#node = this.server.node;
    this.isLost = false;
    this.#cut = Promise.withResolvers();
    this.#cut.promise.catch(() => {});
    const { directory } = this.#disk;
    const accounts = await HostAccounts.open(directory, this.server.id, this.runtime);
    this.#accounts = accounts;
    this.#catalog.takeUsers = (operations) => accounts.take(operations);
    const started = await startReplicated({
      directory,
      port: this.port,
      catalog: this.#catalog,
      runtime: this.runtime,
      openEnvironment: this.#disk.openEnvironment,
      bounds: { quorumTimeoutMs: () => quorumTimeoutMs },
    });
    this.#databases = started.databases;
    this.replication = started.replication;
    accounts.publishBy(started.replication);
    const { loop } = started.replication;
    const view = {
      consensus: this.port,
      appliedIndex: () => loop.applied,
      onApplied: (listener: (index: Index) => void) => loop.onApplied(listener),
    };
    const { clock, timers } = this.runtime;
    this.#reads = new ReadBarrier(view, { settings: readSettings, clock, timers });
  }

  /** Nothing of it is heard any more. */
  powerCut(): void {
    this.isLost = true;
    this.#disk.powerCut(this.#catalog);
    this.port.end();
    this.#cut.reject(new PowerCut());
  }

  /** What the process held is given back; what it wrote since its last checkpoint is lost with the folder. */
  async sweep(): Promise<void> {
    const { replication } = this;
    this.replication = undefined;
    this.#reads?.close();
    this.#reads = undefined;
    const swept = (async () => {
      await replication?.stop();
      await this.#databases?.shutdown();
      return true;
    })();
    // Who waits for a while is woken: nobody else moves the clock of a process that is gone.
    while ((await Promise.race([swept, someTurns()])) !== true) this.runtime.advance(1000);
    this.runtime.end();
    this.#databases = undefined;
  }

  /** Its apply waits for nothing but time. */
  get waitsForDisk(): boolean {
    return this.#disk.isWriting;
  }

  /** Everything that is applied is durable when it resolves, which may take time of the process. */
  async save(): Promise<void> {
    const { replication } = this;
    if (replication === undefined) return;
    await replication.loop.relieve(true);
    await replication.loop.relieve(false);
    this.#disk.saved(this.#catalog);
  }

  async close(): Promise<void> {
    if (this.replication !== undefined) {
      this.port.end();
      await this.sweep();
    }
    this.#disk.remove();
  }

  get hasDatabase(): boolean {
    return this.#catalog.memberNamed(database) !== undefined;
  }

  /** @throws DatabaseError when this server does not have it */
  get database(): Database {
    if (this.#databases === undefined || !this.hasDatabase)
      throw new DatabaseError('DatabaseNotFound', 'not here yet');
    return this.#databases.open(database) as Database;
  }

  state(): CopyState {
    using view = this.database.state.view();
    const { snapshot, catalog } = view;
    // Long, and the same for most transactions.
    if (catalog !== this.#catalogOfSchema) {
      this.#catalogOfSchema = catalog;
      this.#schema = textOf(snapshot.meta('schema'), 'utf8');
    }
    let buckets = '';
    for (const { id, name } of catalog.buckets()) {
      const { low, high } = snapshot.contentHash(id);
      buckets += `${name} ${snapshot.recordCount(id)} ${low} ${high} ${snapshot.nextPosition(id)}\n`;
    }
    return { chain: textOf(snapshot.meta('chain'), 'hex'), schema: this.#schema, buckets };
  }

  /** Which process of which server: what is read in one never goes back. */
  get name(): string {
    return `${this.server.id}/${this.#starts}`;
  }

  /** The file of users is written, and what goes on behind that has had its turn. */
  async usersWritten(): Promise<void> {
    while (this.#accounts?.taking !== undefined) {
      await this.#accounts.taking;
      await turn();
    }
  }

  get accounts(): HostAccounts {
    if (this.#accounts === undefined) throw new PowerCut();
    return this.#accounts;
  }

  /** A change of users, as an administrator sees it. */
  change(work: (users: Users) => Promise<void>): Promise<void> {
    return this.#unlessCut(async () => work(this.accounts.users));
  }

  /** What an answer that is given now says in its header of the commit index. */
  get bookmark(): Index {
    if (this.replication === undefined) throw new PowerCut();
    return this.replication.loop.applied;
  }

  /** As a client sees it: a power cut ends the connection. */
  run(
    text: string,
    parameters: Readonly<Record<string, Value>> = {},
    { language = 'sql', replayKey }: { language?: string; replayKey?: string | undefined } = {},
  ): Promise<readonly PlainRow[]> {
    const options = replayKey === undefined ? {} : { replayKey };
    return this.#unlessCut(async () => runOn(this.database, text, parameters, options, language));
  }

  /** As `run`, behind what stands before every read. @param wanted default: all that anybody was told of */
  read(
    text: string,
    parameters: Readonly<Record<string, Value>> = {},
    wanted: WantedState = { level: 'linearizable', bookmark: undefined },
  ): Promise<readonly PlainRow[]> {
    return this.#unlessCut(async () => {
      if (this.#reads === undefined) throw new PowerCut();
      await this.#reads.before(wanted);
      return runOn(this.database, text, parameters);
    });
  }

  propose(...entry: Parameters<ClusterReplication['propose']>): Promise<Index> {
    return this.#unlessCut(async () => {
      if (this.replication === undefined) throw new PowerCut();
      return this.replication.propose(...entry);
    });
  }

  #unlessCut<T>(work: () => Promise<T>): Promise<T> {
    return Promise.race([work(), this.#cut.promise]);
  }
}

async function someTurns(): Promise<void> {
  for (let n = 0; n < 20; n++) await turn();
}

function textOf(bytes: Uint8Array | undefined, encoding: 'utf8' | 'hex'): string {
  return Buffer.from(bytes ?? []).toString(encoding);
}
