import type { Log } from '#core/log.ts';
import type { Authorizer } from '#core/principal.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Settings } from '#config/effective-settings.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import type { OpenEnvironment } from '#storage/format/sub-databases.ts';
import type { ActiveStatements } from './bounds/active-statements.ts';
import type { ScriptEngine } from '#platform/script/engine.ts';
import type { Counters } from './catalogue/counters.ts';
import type { Replication } from './catalogue/replication.ts';
import type { KeyValueStore } from './key-value/key-value-store.ts';
import type { ServerMemory } from './bounds/memory-accounts.ts';
import type { StatementOperations } from './operations/operated-database.ts';
import type { UserChanges } from './operations/change-user.ts';
import type { ProgressRegistry } from './progress/progress-registry.ts';
import type { TransactionSessions } from './session/sessions.ts';
import type { StatementMeter } from './statement/meter.ts';
import type { ReaderThreads } from './threads/reader-threads.ts';

/** What all databases of a server share. */
export interface DatabaseSurroundings {
  readonly settings: Settings;
  /** Its `yield` is fair among statements. */
  readonly runtime: Runtime;
  readonly log: Log;
  readonly authorizer: Authorizer;
  readonly languages: LanguageRegistry;
  readonly serverVersion: string;
  readonly memory: ServerMemory;
  readonly sessions: TransactionSessions;
  readonly active: ActiveStatements;
  readonly progress: ProgressRegistry;
  readonly counters: Counters;
  readonly operations: StatementOperations;
  readonly meter: StatementMeter;
  readonly scripts: ScriptEngine;
  readonly store: KeyValueStore;
  /** Absent: all statements run in the main thread. */
  readonly threads?: ReaderThreads | undefined;
  /** Of the server; absent: there are none. */
  readonly users?: UserChanges | undefined;
  /** The cluster; absent: this server alone writes its databases. */
  readonly replication?: Replication | undefined;
  /** What stands in the place of LMDB; absent: nothing does. */
  readonly openEnvironment?: OpenEnvironment | undefined;
}
