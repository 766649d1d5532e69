import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeSecurity } from '#cluster/catalog/entry-bodies.ts';
import { type EntryKindNumber, entryKind } from '#cluster/replication/entry-codec.ts';
import type { GroupCommitBounds } from '#cluster/replication/group-commit.ts';
import { ClusterReplication } from '#cluster/replication/replication.ts';
import type { MemberDatabase, ServerEntries } from '#cluster/replication/server-entries.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';
import type { Value } from '#core/value/value.ts';
import type { Database } from '#database/database.ts';
import { makeDatabases } from '#database/catalogue/make-databases.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { RunOptions } from '#database/session.ts';
import { languageFrontends } from '#language/front-ends.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { ConsensusPort } from '#cluster/consensus-port.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { SecurityOperation } from '#security/security-operation.ts';
import type { OpenEnvironment } from '#storage/format/sub-databases.ts';
import { root, rowsOf } from '#test/database/support/open-test-database.ts';
import { type PlainRow, plainValue } from '#test/database/support/plain-values.ts';
import { ConsensusDouble } from './consensus-double.ts';

/** Servers with real databases over the double of consensus: everything of a cluster but its network, log and doors. */
export class ReplicatedServers {
  readonly consensus: ConsensusDouble;
  readonly servers = new Map<string, ReplicatedServer>();

  private constructor(consensus: ConsensusDouble) {
    this.consensus = consensus;
  }

  /** The first one leads, and the database `test` is there on all. */
  static async start(
    peers: readonly string[] = ['a', 'b', 'c'],
    options: ServerOptions = {},
  ): Promise<ReplicatedServers> {
    const servers = new ReplicatedServers(new ConsensusDouble(peers));
    for (const id of peers)
      servers.servers.set(id, await ReplicatedServer.start(id, servers.consensus, options));
    await servers.lead(peers[0] as string);
    await servers.of(peers[0] as string).create('test', '0f9c1d2e-3a4b-4c5d-8e6f-708192a3b4c5');
    await servers.settled();
    return servers;
  }

  of(id: string): ReplicatedServer {
    const server = this.servers.get(id);
    if (server === undefined) throw new Error(`no server ${id}`);
    return server;
  }

  async lead(id: string, uncommitted: 'keeps' | 'loses' = 'keeps'): Promise<ReplicatedServer> {
    this.consensus.elect(id, uncommitted);
    await this.settled();
    return this.of(id);
  }

  settled(): Promise<void> {
    return this.consensus.settled();
  }

  async close(): Promise<void> {
    for (const server of this.servers.values()) await server.close();
  }
}

export interface ServerOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly bounds?: Partial<GroupCommitBounds>;
}

export const defaultBounds: GroupCommitBounds = {
  queueLengthMax: () => 10_000,
  queuedBytesMax: () => 256 * 1024 * 1024,
  batchLengthMax: () => 500,
  // No step depends on how busy the machine is; who waits for a deadline sets one.
  quorumTimeoutMs: () => 60_000,
};

export class ReplicatedServer {
  readonly id: string;
  readonly directory: string;
  readonly catalog = new CatalogDouble();
  databases!: Databases;
  replication!: ClusterReplication;
  readonly #consensus: ConsensusDouble;
  readonly #options: ServerOptions;

  private constructor(id: string, consensus: ConsensusDouble, options: ServerOptions) {
    this.id = id;
    this.directory = mkdtempSync(join(tmpdir(), `polyad-cluster-${id}-`));
    this.#consensus = consensus;
    this.#options = options;
  }

  static async start(
    id: string,
    consensus: ConsensusDouble,
    options: ServerOptions,
  ): Promise<ReplicatedServer> {
    const server = new ReplicatedServer(id, consensus, options);
    await server.#start();
    return server;
  }

  async #start(): Promise<void> {
    const { databases, replication } = await startReplicated({
      ...this.#options,
      directory: this.directory,
      port: this.#consensus.port(this.id),
      catalog: this.catalog,
      runtime: systemRuntime,
    });
    this.databases = databases;
    this.replication = replication;
  }

  /** As a stop and a start, or, when nothing is waited for, as after a crash of the process. */
  async restart(): Promise<void> {
    this.#consensus.restart(this.id);
    await this.stop();
    await this.#start();
  }

  async stop(): Promise<void> {
    await this.replication.stop();
    await this.databases.shutdown();
  }

  async create(name: string, uuid: string, offset = 0): Promise<void> {
    await this.replication.propose(
      entryKind.databaseCreate,
      Buffer.from(JSON.stringify({ name, uuid, offset })),
    );
  }

  get database(): Database {
    return this.databases.open('test') as Database;
  }

  async run(
    text: string,
    parameters: Readonly<Record<string, Value>> = {},
    options: Partial<RunOptions> = {},
    language = 'sql',
  ): Promise<readonly PlainRow[]> {
    return runOn(this.database, text, parameters, options, language);
  }

  /** What must be equal on all servers with the same applied index. */
  digest(): Readonly<Record<string, unknown>> {
    return digestOf(this.database);
  }
  async close(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export interface ReplicatedOptions extends ServerOptions {
  readonly directory: string;
  readonly port: ConsensusPort;
  readonly catalog: CatalogDouble;
  readonly runtime: Runtime;
  /** Default: LMDB. */
  readonly openEnvironment?: OpenEnvironment | undefined;
}

/** Real databases under the log that comes by `port`; both run. */
export async function startReplicated(options: ReplicatedOptions): Promise<{
  readonly databases: Databases;
  readonly replication: ClusterReplication;
}> {
  const { directory, settings = {}, bounds, port, catalog, runtime, openEnvironment } = options;
  let replication: ClusterReplication | undefined;
  const { databases } = makeDatabases({
    directory,
    settings: new Settings(
      new Map(Object.entries(settings).map(([key, text]) => [`service.${key}`, text])),
    ),
    runtime,
    log: silentLog,
    authorizer: { require() {}, canAccess: () => true, canRead: () => true },
    languages: new LanguageRegistry(languageFrontends),
    serverVersion: '0.0.0-test',
    heapBytesMax: 2 * 1024 ** 3,
    replication: () => replication,
    openEnvironment,
  });
  catalog.databases = databases;
  replication = new ClusterReplication({
    port,
    server: catalog,
    bounds: { ...defaultBounds, ...bounds },
    openForApply: (name) => databases.openForLog(name),
    runtime,
    log: silentLog,
  });
  await databases.start();
  replication.start();
  return { databases, replication };
}

/** Runs a statement to its end. @returns its rows as plain objects */
export async function runOn(
  database: Database,
  text: string,
  parameters: Readonly<Record<string, Value>> = {},
  options: Partial<RunOptions> = {},
  language = 'sql',
): Promise<readonly PlainRow[]> {
  const statement = { language, text, parameters: new Map(Object.entries(parameters)) };
  const result = await database.run(statement, {
    principal: root,
    mustBeIdempotent: false,
    signal: new AbortController().signal,
    ...options,
  });
  return rowsOf(result, (values, names) =>
    names === undefined
      ? (plainValue(values[0] ?? null) as PlainRow)
      : Object.fromEntries(names.map((name, at) => [name, plainValue(values[at] ?? null)])),
  );
}

/** What must be equal on all servers with the same applied index. */
export function digestOf({ engine, state }: Database): Readonly<Record<string, unknown>> {
  using view = state.view();
  const { snapshot, catalog } = view;
  const buckets = catalog.buckets().map(({ id, name }) => ({
    name,
    count: snapshot.recordCount(id),
    hash: { ...snapshot.contentHash(id) },
    next: snapshot.nextPosition(id),
  }));
  return {
    applied: engine.applied(),
    buckets,
    schema: Buffer.from(snapshot.meta('schema') ?? []).toString(),
    chain: Buffer.from(snapshot.meta('chain') ?? []).toString('hex'),
    settings: Buffer.from(snapshot.meta('settings') ?? []).toString(),
    entries: catalog.indexes().map(({ id, name, state: s }) => [name, s, snapshot.entryCount(id)]),
  };
}

/** The catalog of a server, in memory; it outlives restarts. */
export class CatalogDouble implements ServerEntries {
  databases: Databases | undefined;
  /** Carries out changes of users. */
  takeUsers: ((operations: readonly SecurityOperation[]) => Promise<void>) | undefined;
  readonly #members = new Map<string, MemberDatabase>();
  #applied: Index = 0;
  #checkpointed: Index = 0;

  async apply(index: Index, kind: EntryKindNumber, body: Uint8Array): Promise<void> {
    const text = Buffer.from(body).toString();
    if (kind === entryKind.databaseCreate) {
      const member = JSON.parse(text) as MemberDatabase;
      const isThere = this.#members.has(member.uuid);
      this.#members.set(member.uuid, member);
      if (!isThere) await this.databases?.create(member.name);
    } else if (kind === entryKind.databaseDrop) {
      const member = this.#members.get(text);
      this.#members.delete(text);
      if (member !== undefined) await this.databases?.drop(member.name);
    } else if (kind === entryKind.users) await this.takeUsers?.(decodeSecurity(body));
    this.#applied = index;
  }

  /** As its file on the disk: what a power cut leaves. */
  copy(): CatalogDouble {
    const copy = new CatalogDouble();
    for (const [uuid, member] of this.#members) copy.#members.set(uuid, member);
    copy.#applied = this.#checkpointed;
    copy.#checkpointed = this.#checkpointed;
    return copy;
  }

  applied(): Index {
    return this.#applied;
  }

  member(uuid: string): MemberDatabase | undefined {
    return this.#members.get(uuid);
  }

  memberNamed(name: string): MemberDatabase | undefined {
    return this.members().find((member) => member.name === name);
  }

  members(): readonly MemberDatabase[] {
    return [...this.#members.values()];
  }

  checkpointed(): Index {
    return this.#checkpointed;
  }

  async checkpoint(index: Index): Promise<void> {
    this.#checkpointed = index;
  }
}
