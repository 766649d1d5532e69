import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { Settings } from '#config/effective-settings.ts';
import type { BackupControl } from '#control/backup-control.ts';
import type { ServerEvents } from '#control/event-log.ts';
import type { Meters } from '#control/meters.ts';
import type { Metrics } from '#control/metrics.ts';
import type { Profiler } from '#control/profiler.ts';
import type { ServerControl } from '#control/server-control.ts';
import type { Telemetry } from '#control/telemetry.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ServerMemory } from '#database/bounds/memory-accounts.ts';
import type { ServerOperations } from '#database/operations/server-operations.ts';
import type { DatabasesPort } from '#database/session.ts';
import type { ApiTokens } from '#security/api-tokens.ts';
import type { Authenticator } from '#security/authenticator.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import type { Groups } from '#security/groups.ts';
import type { TokenSessions } from '#security/token-sessions.ts';
import type { TlsCredentials } from '#security/tls-credentials.ts';
import type { Users } from '#security/users.ts';
import type { DoorLimits } from './connection/door-limits.ts';
import type { BodyDeadlines } from './request/request-body.ts';
import type { RequestMeter } from './request/request-meter.ts';
import type { NameCache } from './answer/json-writer.ts';
import type { ReplayCache } from './replay/cache.ts';
import type { ColumnTemplates } from './serializers/record.ts';
import type { DenialReports } from './request/denial-reports.ts';
import type { TruncationLog } from './answer/truncation-log.ts';

/** Everything that routes of the HTTP door may use; made once, by `main.ts` and `http-server.ts`. */
export interface DoorDependencies {
  readonly settings: Settings;
  readonly databases: DatabasesPort;
  readonly authenticator: Authenticator;
  readonly authorizer: GroupAuthorizer;
  readonly tokens: TokenSessions;
  readonly apiTokens: ApiTokens;
  readonly users: Users;
  readonly groups: Groups;
  /** Makes the door speak HTTPS, too. */
  readonly tls?: TlsCredentials | undefined;
  readonly control: ServerControl;
  readonly events: ServerEvents;
  readonly meters: Meters;
  readonly metrics: Metrics;
  readonly operations: ServerOperations;
  readonly backups: BackupControl;
  readonly profiler: Profiler;
  /** Set when plugin `prometheus` is on. */
  readonly telemetry?: Telemetry | undefined;
  /** Set when this server is in a cluster. */
  readonly cluster?: ClusterDoor | undefined;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Of the bodies and messages of all requests, at every door, and of what is made of them (`connection/request-memory.ts`). */
  readonly memory: ServerMemory;
  /** Of the product, as `GET /server` and the OpenAPI document tell it. */
  readonly version: string;
  /** Called with errors that are nobody's fault but ours; ends the process when state is in doubt. */
  readonly onInternalError: (error: unknown) => void;
}

export interface Door extends DoorDependencies {
  readonly deadlines: BodyDeadlines;
  readonly limits: DoorLimits;
  readonly replays: ReplayCache;
  readonly truncations: TruncationLog;
  readonly denials: DenialReports;
  readonly requests: RequestMeter;
  readonly names: NameCache;
  readonly templates: ColumnTemplates;
}
