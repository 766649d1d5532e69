import type { Principal } from '#core/principal.ts';
import type { Door } from '#http/door.ts';
import type { Pieces } from '../protocol/long-json.ts';
import type { Flag } from '../policy/configuration.ts';
import type { Policy } from '../policy/policy.ts';
import type { ToolName } from '../policy/tool-names.ts';
import type { Arguments } from './arguments.ts';
import type { KeyedTurns } from './keyed-turns.ts';

/** What tools work on: the part of the HTTP door's surroundings that they need. */
export type ToolSurroundings = Pick<
  Door,
  | 'settings'
  | 'databases'
  | 'authorizer'
  | 'runtime'
  | 'log'
  | 'events'
  | 'profiler'
  | 'version'
  | 'onInternalError'
  | 'telemetry'
  | 'cluster'
> & {
  readonly policy: Policy;
  /** Of upserts, by what they look for. */
  readonly turns: KeyedTurns;
};

/** Who calls, and until when. */
export interface Caller {
  readonly principal: Principal;
  readonly requestId: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

export interface ToolCall {
  readonly caller: Caller;
  readonly arguments: Arguments;
  readonly server: ToolSurroundings;
  /** Rows of the answer so far, for budgets and the audit. */
  readonly told?: { rows: number };
}

export function tellRows({ told }: ToolCall, rows: number): void {
  if (told !== undefined) told.rows += rows;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** One tool (contract 2, Tools; mcp.md 4). */
export interface Tool {
  readonly name: ToolName;
  readonly description: string;
  readonly inputSchema: JsonSchema | ((server: ToolSurroundings) => JsonSchema);
  /** Hints of the protocol for clients that ask their users before a call. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: false;
  };
  /** Flags that every call needs, whatever it does; prompts ask for them, too. */
  readonly needs: readonly Flag[];
  /** @returns JSON text. @throws ToolFailure, DatabaseError: their messages are the answer */
  run(call: ToolCall): Promise<Pieces> | Pieces;
}

export const reads = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
export const addsOnce = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
export const changes = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false,
} as const;

export const databaseArgument = { type: 'string', description: 'Name of the database' };

export function objectSchema(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = [],
): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}
