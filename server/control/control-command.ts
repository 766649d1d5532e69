import type { Settings } from '#config/effective-settings.ts';
import type { Principal } from '#core/principal.ts';
import type { Runtime } from '#core/runtime.ts';
import type { DatabasesPort } from '#database/session.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import type { Users } from '#security/users.ts';
import type { ServerEvents } from './event-log.ts';
import type { Profiler } from './profiler.ts';
import type { ServerControl } from './server-control.ts';

/** What control commands work on. */
export interface CommandTargets {
  readonly settings: Settings;
  readonly databases: DatabasesPort;
  readonly users: Users;
  readonly authorizer: GroupAuthorizer;
  readonly events: ServerEvents;
  readonly control: ServerControl;
  readonly profiler: Profiler;
  readonly runtime: Runtime;
  readonly version: string;
}

export interface CommandCall {
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
  /** For the audit, when the argument holds secrets. */
  readonly mask?: (argument: string) => string;
  /** False for commands that only look. */
  readonly isAudited?: boolean;
  /** @throws DatabaseError `IllegalArgument`, `InvalidSetting`, ... for wrong arguments */
  run(call: CommandCall): Promise<CommandAnswer> | CommandAnswer;
}

export const ok: CommandAnswer = { result: 'ok' };
