import type { ServerCatalog } from '#cluster/catalog/server-catalog.ts';
import type { DatabaseSeat } from '#cluster/replication/database-seat.ts';
import type { ClusterReplication } from '#cluster/replication/replication.ts';
import type { DigestSource } from '#cluster/verify/database-digest.ts';
import { DatabaseVerifier } from '#cluster/verify/database-verifier.ts';
import { DivergenceWatch } from '#cluster/verify/divergence-watch.ts';
import type { Log } from '#core/log.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { Database } from '#database/database.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Index } from '#raft/vocabulary.ts';

export interface VerifyPlanOptions {
  readonly catalog: ServerCatalog;
  readonly databases: Databases;
  readonly replication: () => ClusterReplication;
  readonly log: Log;
}

/** Copies that are compared: when somebody asks, and all the time. Both do it at marks in the log. */
export class VerifyPlan {
  readonly verifier: DatabaseVerifier;
  readonly watch: DivergenceWatch;

  constructor({ catalog, databases, replication, log }: VerifyPlanOptions) {
    const view = (name: string) => digestSource(databases.open(name) as Database);
    const runtime = systemRuntime;
    this.verifier = new DatabaseVerifier({
      member: (name) => catalog.memberNamed(name),
      proposer: replication,
      view,
      runtime,
      log,
    });
    this.watch = new DivergenceWatch({
      leads: () => replication().isReadyLeader,
      seats: () => replication().seats(),
      proposer: replication,
      view,
      runtime,
      log,
    });
  }

  readonly marked = (seat: DatabaseSeat | undefined, index: Index, body: Uint8Array): void => {
    if (seat === undefined) this.verifier.absent(body);
    else if (!this.watch.marked(seat, body)) this.verifier.marked(seat.member.name, index, body);
  };
}

/** The state of now, to be disposed of. */
function digestSource({ state, engine }: Database): DigestSource & Disposable {
  const view = state.view();
  const { snapshot, catalog } = view;
  const { shapes } = engine;
  return { snapshot, catalog, shapes, [Symbol.dispose]: () => view[Symbol.dispose]() };
}
