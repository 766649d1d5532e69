import {
  type BaselineDatabase,
  type BaselineStep,
  baselineStep,
} from '#cluster/bootstrap/baseline.ts';
import { BootstrapDesk, type BootstrapState } from '#cluster/bootstrap/bootstrap-desk.ts';
import { type LocalDatabaseState, localState } from '#cluster/bootstrap/fingerprint.ts';
import type { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { ConsensusPort } from '#cluster/consensus-port.ts';
import { PeerFailure } from '#cluster/forwarding/peer-http.ts';
import type { ClusterToken } from '#cluster/token/cluster-token.ts';
import { haBootstrapFromLocalDatabase, haBootstrapTimeoutMs } from '#config/cluster-settings.ts';
import { haK8s } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { Database } from '#database/database.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { Ground } from './ground.ts';

/** For the state of one server (ha.md 8.4.1). */
const askMs = 5000;
/** As of a configuration that is wrong: whoever starts servers again must not loop. */
const divergedExitCode = 78;
/** Until the log is written. */
const exitDelayMs = 200;

export interface BootstrapPlanOptions {
  readonly consensus: ConsensusPort;
  readonly databases: Databases;
  readonly catalog: Pick<ServerCatalog, 'former' | 'mayBegin'>;
  /** The catalog is that of the group that this server is in. */
  readonly hasEntered: () => boolean;
  readonly door: () => ClusterDoor | undefined;
  readonly token: ClusterToken;
}

/** Databases that were here before the cluster (ha.md 8.4): what this server says of them, and does with them. */
export class BootstrapPlan {
  readonly desk: BootstrapDesk;
  readonly #ground: Ground;
  #refusal: string | undefined;
  readonly #options: BootstrapPlanOptions;

  constructor(ground: Ground, options: BootstrapPlanOptions) {
    const { settings, log } = ground;
    this.#ground = ground;
    this.#options = options;
    this.desk = new BootstrapDesk({
      consensus: options.consensus,
      own: () => this.own(),
      ask: (peer) => this.#ask(peer),
      timeoutMs: () => settings.get(haBootstrapTimeoutMs),
      runtime: systemRuntime,
      log,
    });
  }

  get isWanted(): boolean {
    return this.#ground.settings.get(haBootstrapFromLocalDatabase);
  }

  /** What this server says to the one that leads first. @throws DatabaseError `NotOnline` while it does not know it */
  async own(): Promise<BootstrapState> {
    const { consensus, databases, catalog, hasEntered } = this.#options;
    if (!hasEntered()) throw new DatabaseError('NotOnline', 'the server is entering its cluster');
    const found: LocalDatabaseState[] = [];
    if (this.isWanted)
      for (const name of databases.names())
        if (catalog.mayBegin(name)) {
          const state = await this.#local(name);
          if (state !== undefined) found.push(state);
        }
    return { peerId: consensus.self, databases: found, former: catalog.former };
  }

  async step(database: BaselineDatabase, source: PeerId): Promise<readonly [BaselineStep, number]> {
    const { consensus, databases } = this.#options;
    const isHere = databases.exists(database.name);
    const local = isHere ? await this.#local(database.name) : undefined;
    const step = baselineStep(database, { local, isSource: source === consensus.self });
    return [step, local?.lastTxId ?? 0];
  }

  /** Why this server does not serve. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  refuse(reason: string): void {
    this.#refusal = reason;
    const { events, settings } = this.#ground;
    events.report('CRITICAL', 'HA', reason);
    // An orchestrator would start it again and again; there it stays, not ready.
    if (settings.get(haK8s)) return;
    systemRuntime.timers.after(exitDelayMs, () => process.exit(divergedExitCode));
  }

  /** Undefined: it cannot be opened. */
  async #local(name: string): Promise<LocalDatabaseState | undefined> {
    const { databases } = this.#options;
    try {
      const database = (await databases.openForLog(name)) as Database | undefined;
      if (database === undefined) return undefined;
      using view = database.state.view();
      return localState(name, view, database.engine.applied());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#ground.log.error('a database is no part of the bootstrap', { database: name, reason });
      return undefined;
    }
  }

  async #ask(peer: PeerId): Promise<BootstrapState> {
    const { door, token } = this.#options;
    const to = door()?.addresses.dial(peer);
    if (to === undefined || to.kind === 'refused')
      throw new PeerFailure(to?.reason ?? 'the server is starting', true);
    const { status, body } = await (door() as ClusterDoor).http.askWhole(to, {
      method: 'POST',
      path: '/api/v1/cluster/bootstrap-state',
      headers: { 'content-type': 'application/json', 'x-service-cluster-token': token.value },
      body: Buffer.from('{}'),
      firstByteMs: askMs,
    });
    if (status !== 200) throw new PeerFailure(`status ${status}`, false);
    return JSON.parse(body.toString()) as BootstrapState;
  }
}
