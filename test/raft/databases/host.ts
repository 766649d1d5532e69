import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterReplication } from '#cluster/replication/replication.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { Database } from '#database/database.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { Index } from '#raft/vocabulary.ts';
import { CatalogDouble, runOn, startReplicated } from '#test/cluster/support/replicated-servers.ts';
import type { PlainRow } from '#test/database/support/plain-values.ts';
import type { SimulatedServer } from '../simulation/server.ts';
import { SimulatedPort } from './port.ts';
import { VirtualRuntime } from './virtual-runtime.ts';

export const database = 'test';

const readTimeoutMs = 2000;

/** The server was cut off the power while it worked. */
export class PowerCut extends Error {}

/** The real databases of one simulated server. A power cut leaves what was durable at the last checkpoint. */
export class DatabaseHost {
  readonly server: SimulatedServer;
  readonly #root = mkdtempSync(join(tmpdir(), 'polyad-simulated-'));
  readonly #random: (n: number) => number;
  #saved: CatalogDouble | undefined;
  #catalog = new CatalogDouble();
  #databases: Databases | undefined;
  replication: ClusterReplication | undefined;
  runtime: VirtualRuntime;
  port: SimulatedPort;
  /** Its power was cut, and the process is not swept away yet. */
  isLost = false;
  #cut = Promise.withResolvers<never>();
  #node: SimulatedServer['node'];

  constructor(server: SimulatedServer, random: (n: number) => number) {
    this.server = server;
    this.#random = random;
    this.runtime = new VirtualRuntime(random);
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

  async open(): Promise<void> {
    const live = join(this.#root, 'live');
    const saved = join(this.#root, 'saved');
    rmSync(live, { recursive: true, force: true });
    if (existsSync(saved)) cpSync(saved, live, { recursive: true });
    else mkdirSync(live, { recursive: true });
    this.#catalog = this.#saved?.copy() ?? new CatalogDouble();
    this.runtime = new VirtualRuntime(this.#random);
    this.port = new SimulatedPort(this.server);
    this.#node = this.server.node;
    this.isLost = false;
    this.#cut = Promise.withResolvers();
    this.#cut.promise.catch(() => {});
    const started = await startReplicated({
      directory: live,
      port: this.port,
      catalog: this.#catalog,
      runtime: this.runtime,
    });
    this.#databases = started.databases;
    this.replication = started.replication;
  }

  /** Nothing of it is heard any more. */
  powerCut(): void {
    this.isLost = true;
    this.port.end();
    this.#cut.reject(new PowerCut());
  }

  /** What the process held is given back; what it wrote since its last checkpoint is lost with the folder. */
  async sweep(): Promise<void> {
    const { replication } = this;
    this.replication = undefined;
    const swept = (async () => {
      await replication?.stop();
      await this.#databases?.shutdown();
      return true;
    })();
    // Who waits for a while is woken: nobody else moves the clock of a process that is gone.
    while ((await Promise.race([swept, pause(1, false)])) !== true) this.runtime.advance(1000);
    this.runtime.end();
    this.#databases = undefined;
  }

  /** Everything that is applied is durable from now on. */
  async save(): Promise<void> {
    if (this.replication === undefined) return;
    await this.replication.loop.relieve(true);
    await this.replication.loop.relieve(false);
    const saved = join(this.#root, 'saved');
    rmSync(saved, { recursive: true, force: true });
    cpSync(join(this.#root, 'live'), saved, { recursive: true });
    this.#saved = this.#catalog.copy();
  }

  async close(): Promise<void> {
    if (this.replication !== undefined) {
      this.port.end();
      await this.sweep();
    }
    rmSync(this.#root, { recursive: true, force: true });
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

  /** As a client sees it: a power cut ends the connection. */
  run(
    text: string,
    parameters: Readonly<Record<string, Value>> = {},
    language = 'sql',
  ): Promise<readonly PlainRow[]> {
    return this.#unlessCut(async () => runOn(this.database, text, parameters, {}, language));
  }

  /** As `run`, of the newest state that anybody was told of. */
  read(text: string, parameters: Readonly<Record<string, Value>> = {}) {
    return this.#unlessCut(async () => {
      await this.#reached(await this.port.readIndex(readTimeoutMs));
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

  /** As the barrier of reads waits: who was removed meanwhile never gets there. */
  #reached(index: Index): Promise<void> {
    const loop = this.replication?.loop;
    if (loop === undefined) throw new PowerCut();
    if (loop.applied >= index) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const cancel = this.runtime.timers.after(readTimeoutMs, () => {
        stop();
        reject(new DatabaseError('QuorumNotReached', 'what the read waits for did not come'));
      });
      const stop = loop.onApplied((applied) => {
        if (applied < index) return;
        stop();
        cancel();
        resolve();
      });
    });
  }
}
