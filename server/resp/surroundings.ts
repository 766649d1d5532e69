import type { ReadBarrier } from '#cluster/reads/read-barrier.ts';
import type { Settings } from '#config/effective-settings.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ServerMemory } from '#database/bounds/memory-accounts.ts';
import type { KeyValueStore } from '#database/key-value/key-value-store.ts';
import type { DatabasesPort } from '#database/session.ts';
import type { Authenticator } from '#security/authenticator.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import type { TurnBudget } from './turn-budget.ts';

/** What the wire needs of the rest of the server. */
export interface WireSurroundings {
  readonly databases: DatabasesPort;
  readonly store: KeyValueStore;
  /** Set when this server is in a cluster. */
  readonly cluster?: { readonly reads: Pick<ReadBarrier, 'before'> } | undefined;
  readonly authenticator: Authenticator;
  readonly authorizer: GroupAuthorizer;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Of the requests at all doors that are not complete, or not answered. */
  readonly memory: ServerMemory;
  /** `redis.defaultDatabase` */
  readonly defaultDatabase: () => string | undefined;
  readonly onInternalError: (error: unknown) => void;
  readonly counts: () => WireCounts;
  readonly turn: TurnBudget;
}

export interface WireCounts {
  readonly clients: number;
  readonly port: number;
}
