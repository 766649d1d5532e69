import type { Effect } from '#core/effects.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import type { DatabasesPort } from '#database/session.ts';
import { apiTokenPrincipalPrefix } from '#security/api-tokens.ts';
import { ToolFailure } from '../tools/tool-failure.ts';
import type { Configuration, Flag } from './configuration.ts';
import { isInProfile, type ProfileName, type ToolName, toolNames } from './tool-names.ts';

/** The flag that an effect of a statement needs (mcp.md 5); total, so that a new effect needs a decision. */
const flagOfEffect = {
  read: 'allowReads',
  insert: 'allowInsert',
  update: 'allowUpdate',
  delete: 'allowDelete',
  schema: 'allowSchemaChange',
  settings: 'allowAdmin',
  repair: 'allowAdmin',
  security: 'allowAdmin',
  admin: 'allowAdmin',
} as const satisfies Record<Effect, Flag>;

const wordsOfFlag = {
  allowReads: 'Read operations',
  allowInsert: 'Insert operations',
  allowUpdate: 'Update operations',
  allowDelete: 'Delete operations',
  allowSchemaChange: 'Schema change operations',
  allowAdmin: 'Admin operations',
} as const satisfies Record<Flag, string>;

export interface PolicyOptions {
  readonly configuration: () => Configuration;
  readonly authorizer: Pick<Authorizer, 'canAccess'>;
  readonly databases: Pick<DatabasesPort, 'names' | 'exists'>;
}

/**
 * Who may do what over the tool protocol (contract 2, Authentication 2; mcp.md 2.4), beside the native rights, which hold
 * below all of it. Everything is read off the configuration of the moment.
 */
export class Policy {
  readonly #options: PolicyOptions;

  constructor(options: PolicyOptions) {
    this.#options = options;
  }

  get configuration(): Configuration {
    return this.#options.configuration();
  }

  /** Whether the user is on the list. */
  admits(principal: Principal): boolean {
    return listAdmits(this.configuration.allowedUsers, principal);
  }

  /** The tools that the caller sees, in the order of `tools/list`. */
  tools(principal: Principal): readonly ToolName[] {
    return toolNames.filter((tool) => this.isVisible(principal, tool));
  }

  isVisible(principal: Principal, tool: ToolName): boolean {
    const entry = this.#entryOf(principal);
    if (!isInProfile(tool, this.configuration.profile)) return false;
    return entry === undefined || isInProfile(tool, entry);
  }

  /** @throws ToolFailure that names both profiles */
  requireVisible(principal: Principal, tool: ToolName): void {
    if (this.isVisible(principal, tool)) return;
    const entry = this.#entryOf(principal);
    const also = entry === undefined ? '' : ` intersected with principal profile '${entry}'`;
    throw new ToolFailure(
      `Tool '${tool}' is not available in global MCP profile '${this.configuration.profile}'${also}`,
    );
  }

  /** @throws ToolFailure when the server does not grant it */
  requireGlobal(flag: Flag): void {
    if (!this.configuration[flag]) throw notAllowed(flag);
  }

  /**
   * One answer for a database that does not exist and one that the caller may not use.
   * @throws ToolFailure
   */
  requireDatabase(principal: Principal, database: string, needed: readonly Flag[]): void {
    for (const flag of needed) this.requireGlobal(flag);
    if (!this.#isAccessible(principal, database))
      throw new ToolFailure(`Database '${database}' does not exist or is not accessible`);
    for (const flag of needed) this.#requireOn(database, flag);
  }

  /** Judges what a statement does, before anything of it runs. @throws ToolFailure */
  judge(database: string, effects: Iterable<Effect>): void {
    for (const effect of effects) {
      const flag = flagOfEffect[effect];
      this.requireGlobal(flag);
      this.#requireOn(database, flag);
    }
  }

  /** Names of the databases that the caller may read, sorted. */
  readable(principal: Principal): readonly string[] {
    return this.#options.databases.names().filter((name) => this.canRead(principal, name));
  }

  canRead(principal: Principal, database: string): boolean {
    const { allowReads } = this.configuration;
    const isDenied = this.#overrideOf(database)?.allowReads === false;
    return allowReads && !isDenied && this.#isAccessible(principal, database);
  }

  #isAccessible(principal: Principal, database: string): boolean {
    const { authorizer, databases } = this.#options;
    const list = this.#overrideOf(database)?.allowedUsers;
    const isListed = list === undefined || listAdmits(list, principal);
    // All is asked for in any case: what is refused takes as long as what does not exist.
    const mayUse = authorizer.canAccess(principal, database);
    return databases.exists(database) && mayUse && isListed;
  }

  #requireOn(database: string, flag: Flag): void {
    if (this.#overrideOf(database)?.[flag] === false) throw notAllowed(flag);
  }

  #overrideOf(database: string) {
    const { databases } = this.configuration;
    return Object.hasOwn(databases, database) ? databases[database] : undefined;
  }

  #entryOf(principal: Principal): ProfileName | undefined {
    const { principalProfiles } = this.configuration;
    const name = namesOf(principal).find((key) => Object.hasOwn(principalProfiles, key));
    return name === undefined ? undefined : principalProfiles[name];
  }
}

/** The canonical key first, then the bare name of an API token. */
function namesOf({ name, via }: Principal): readonly string[] {
  return via === 'api-token' ? [name, name.slice(apiTokenPrincipalPrefix.length)] : [name];
}

function listAdmits(list: readonly string[], principal: Principal): boolean {
  return list.includes('*') || namesOf(principal).some((name) => list.includes(name));
}

function notAllowed(flag: Flag): ToolFailure {
  return new ToolFailure(`${wordsOfFlag[flag]} are not allowed by MCP configuration`);
}
