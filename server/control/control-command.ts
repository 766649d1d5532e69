import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { Settings } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { Asker, ServerOperations } from '#database/operations/server-operations.ts';
import type { ProgressEntry } from '#database/progress/progress-registry.ts';
import type { DatabasesPort } from '#database/session.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import type { Groups } from '#security/groups.ts';
import type { Users } from '#security/users.ts';
import type { BackupControl } from './backup-control.ts';
import type { ServerEvents } from './event-log.ts';
import type { Profiler } from './profiler.ts';
import type { ServerControl } from './server-control.ts';

/** What control commands work on. */
export interface CommandTargets {
  readonly settings: Settings;
  readonly databases: DatabasesPort;
  readonly users: Users;
  readonly groups: Groups;
  readonly authorizer: GroupAuthorizer;
  readonly events: ServerEvents;
  readonly control: ServerControl;
  readonly profiler: Profiler;
  /** Backup, restore, import. */
  readonly operations: ServerOperations;
  readonly backups: BackupControl;
  /** Set when this server is in a cluster. */
  readonly cluster?: ClusterDoor | undefined;
  readonly runtime: Runtime;
  readonly version: string;
}

/** What a request may say beside the command's text. */
export interface CommandRequest {
  /** All fields of the body. */
  readonly body: ValueMap;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Told how far the command is, when the client wants to know. */
  readonly report: ((event: Readonly<Record<string, unknown>>) => void) | undefined;
  /** For the log. */
  readonly requestId: string | undefined;
}

export interface CommandCall extends CommandRequest {
  readonly principal: Principal;
  /** What follows the command's phrase, without white space around it. */
  readonly argument: string;
  readonly targets: CommandTargets;
}

/** The JSON answer of a command; `{result: 'ok'}` when there is nothing to tell. */
export type CommandAnswer = Readonly<Record<string, unknown>>;

/** One command of `POST /server` (http-api.md 12). */
export interface ControlCommand {
  /** The words it starts with, in lower case, one blank between them. */
  readonly phrase: string;
  readonly access: 'root' | 'user';
  /** In a cluster the leader runs it; absent: the server that is asked. */
  readonly place?: 'leader';
  /** For the audit, when the argument holds secrets. */
  readonly mask?: (argument: string) => string;
  /** What the last progress event says; commands with it tell their progress as events when the client asks for it. */
  readonly completedText?: (argument: string) => string;
  /** False for commands that only look. */
  readonly isAudited?: boolean;
  /** @throws DatabaseError `IllegalArgument`, `InvalidSetting`, ... for wrong arguments */
  run(call: CommandCall): Promise<CommandAnswer> | CommandAnswer;
}

export const ok: CommandAnswer = { result: 'ok' };

/** Who runs the command, for operations on databases. */
export function askerOf(
  { principal, signal, requestId }: CommandCall,
  onProgress?: (entry: ProgressEntry, step: string) => void,
): Asker {
  return { principal, signal, requestId, ...(onProgress === undefined ? {} : { onProgress }) };
}

/** A field of the body that holds a text, if it is there. @throws DatabaseError `IllegalArgument` for another value */
export function bodyText(body: ValueMap, name: string): string | undefined {
  const value = body.get(name) ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw new DatabaseError('IllegalArgument', `field '${name}' must be a text`);
}
