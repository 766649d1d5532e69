import type { Effect } from '#core/effects.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Access, Authorizer, Principal } from '#core/principal.ts';
import { parsePermissions } from './api-token-file.ts';
import { apiTokenPrincipalPrefix, type ApiTokens } from './api-tokens.ts';
import {
  type DatabaseRight,
  type Group,
  type RecordRight,
  typeRightsToJson,
} from './group-document.ts';
import type { Groups } from './groups.ts';
import type { Users } from './users.ts';

/** Limits that the groups of a user set; -1 means none. */
export interface UserLimits {
  readonly resultSetLimit: number;
  readonly readTimeoutMs: number;
}

interface Rights extends UserLimits {
  readonly database: ReadonlySet<DatabaseRight>;
  readonly types: ReadonlyMap<string, ReadonlySet<RecordRight>>;
  readonly otherTypes: ReadonlySet<RecordRight>;
  readonly readsAll: boolean;
}

/**
 * Judges by users, their groups and API tokens (security.md 4). An unknown principal has no rights. Rights are worked out once per user and
 * database and forgotten at any change, so a check costs two map lookups.
 */
export class GroupAuthorizer implements Authorizer {
  readonly #users: Users;
  readonly #groups: Groups;
  readonly #apiTokens: ApiTokens;
  readonly #rights = new Map<string, Map<string, Rights | undefined>>();
  #revision = 0;
  /** Of API tokens of other servers, for as long as a request of theirs runs. */
  readonly #lent = new WeakMap<Principal, LentRights>();

  constructor(users: Users, groups: Groups, apiTokens: ApiTokens) {
    this.#users = users;
    this.#groups = groups;
    this.#apiTokens = apiTokens;
    const changed = (): void => {
      this.#rights.clear();
      this.#revision += 1;
    };
    users.onChanged(changed);
    groups.onChanged(changed);
    apiTokens.onChanged(changed);
  }

  /** What another server must be told of a principal that it does not know; undefined for users. */
  rightsToLend(who: Principal): LentRights | undefined {
    if (who.via !== 'api-token') return undefined;
    const lent = this.#lent.get(who);
    const token = lent === undefined ? this.#apiTokens.ofPrincipal(who.name) : undefined;
    if (token === undefined) return lent;
    const { types, database: access } = token.permissions;
    const permissions = { types: typeRightsToJson(types), database: access };
    return { principal: who.name, database: token.database, permissions };
  }

  /** The principal of an API token of another server. @param rights as it has sent and signed them */
  lent(name: string | undefined, rights: LentRights | undefined): Principal | undefined {
    if (rights === undefined || name !== rights.principal) return undefined;
    if (!name.startsWith(apiTokenPrincipalPrefix)) return undefined;
    const principal: Principal = { name, isRoot: false, via: 'api-token' };
    this.#lent.set(principal, rights);
    return principal;
  }

  /** Another one after any change: whoever keeps an answer looks whether it still holds. */
  get revision(): number {
    return this.#revision;
  }

  require(who: Principal, database: string, access: Access): void {
    if (who.isRoot) return;
    const rights = this.#rightsOf(who, database);
    if (!rights)
      throw new DatabaseError(
        'Forbidden',
        `User '${who.name}' has not access to database '${database}'`,
      );
    for (const effect of access.effects)
      requireEffect(effect, access.types, { who, database, rights });
  }

  canAccess(who: Principal, database: string): boolean {
    return who.isRoot || this.#rightsOf(who, database) !== undefined;
  }

  canRead(who: Principal, database: string, type?: string): boolean {
    if (who.isRoot) return true;
    const rights = this.#rightsOf(who, database);
    if (type === undefined) return rights?.readsAll ?? false;
    return (rights?.types.get(type) ?? rights?.otherTypes)?.has('readRecord') ?? false;
  }

  /** Whether the user may read records of at least one type. */
  canReadSome(who: Principal, database: string): boolean {
    if (who.isRoot) return true;
    const rights = this.#rightsOf(who, database);
    if (!rights) return false;
    if (rights.otherTypes.has('readRecord')) return true;
    for (const ofType of rights.types.values()) if (ofType.has('readRecord')) return true;
    return false;
  }

  /** The most restrictive limits of the user's groups. */
  limitsOf(who: Principal, database: string): UserLimits {
    return (who.isRoot ? undefined : this.#rightsOf(who, database)) ?? noLimits;
  }

  #rightsOf(who: Principal, database: string): Rights | undefined {
    const isApiToken = who.via === 'api-token';
    const lent = isApiToken ? this.#lent.get(who) : undefined;
    if (lent !== undefined) return rightsOfLent(lent, database);
    // A token expires without any change that would make its rights be forgotten.
    if (isApiToken && this.#apiTokens.ofPrincipal(who.name) === undefined) return undefined;
    let ofUser = this.#rights.get(who.name);
    if (!ofUser) {
      ofUser = new Map();
      this.#rights.set(who.name, ofUser);
    }
    if (ofUser.has(database)) return ofUser.get(database);
    // Names of databases come from requests: what is remembered must stay bounded.
    if (ofUser.size > 1000) ofUser.clear();
    const rights = isApiToken
      ? this.#workForToken(who.name, database)
      : this.#work(who.name, database);
    ofUser.set(database, rights);
    return rights;
  }

  #workForToken(principal: string, database: string): Rights | undefined {
    const token = this.#apiTokens.ofPrincipal(principal);
    if (!token || (token.database !== '*' && token.database !== database)) return undefined;
    const { types, database: access } = token.permissions;
    return union([{ resultSetLimit: -1, readTimeout: -1, access, types }]);
  }

  #work(user: string, database: string): Rights | undefined {
    const granted = this.#users.get(user)?.databases;
    const names = granted?.get(database) ?? granted?.get('*');
    if (!names) return undefined;
    const groups = names
      .map((name) => this.#groups.resolve(database, name))
      .filter((group) => group !== undefined);
    return union(groups);
  }
}

/** What an API token may do, as servers tell each other. */
export interface LentRights {
  readonly principal: string;
  readonly database: string;
  readonly permissions: unknown;
}

function rightsOfLent(lent: LentRights, database: string): Rights | undefined {
  if (lent.database !== '*' && lent.database !== database) return undefined;
  const { types, database: access } = parsePermissions(lent.permissions, lent.principal);
  return union([{ resultSetLimit: -1, readTimeout: -1, access, types }]);
}

const noLimits: UserLimits = { resultSetLimit: -1, readTimeoutMs: -1 };

function union(groups: readonly Group[]): Rights {
  const typeNames = new Set(groups.flatMap((group) => [...group.types.keys()]));
  const rightsOn = (type: string) =>
    new Set(groups.flatMap((group) => group.types.get(type) ?? group.types.get('*') ?? []));
  const types = new Map([...typeNames].map((type) => [type, rightsOn(type)]));
  const otherTypes = rightsOn('*');
  return {
    database: new Set(groups.flatMap((group) => group.access)),
    types,
    otherTypes,
    readsAll: [otherTypes, ...types.values()].every((rights) => rights.has('readRecord')),
    resultSetLimit: lowest(groups.map((group) => group.resultSetLimit)),
    readTimeoutMs: lowest(groups.map((group) => group.readTimeout)),
  };
}

function lowest(limits: readonly number[]): number {
  const set = limits.filter((limit) => limit >= 0);
  return set.length === 0 ? -1 : Math.min(...set);
}

const recordRightOf: Partial<Record<Effect, RecordRight>> = {
  read: 'readRecord',
  insert: 'createRecord',
  update: 'updateRecord',
  delete: 'deleteRecord',
};
const databaseRightOf: Partial<Record<Effect, DatabaseRight>> = {
  schema: 'updateSchema',
  repair: 'updateSchema',
  settings: 'updateDatabaseSettings',
  security: 'updateSecurity',
};

interface Asking {
  readonly who: Principal;
  readonly database: string;
  readonly rights: Rights;
}

function requireEffect(effect: Effect, types: readonly string[] | undefined, asking: Asking): void {
  const recordRight = recordRightOf[effect];
  if (recordRight) {
    requireOnTypes(recordRight, types, asking);
    return;
  }
  const right = databaseRightOf[effect];
  if (right && asking.rights.database.has(right)) return;
  // The remaining effect, admin, is root's alone.
  throw denied(right ?? 'administer', `database '${asking.database}'`, asking);
}

/** Without a list of types the right must hold on all types, named ones and others. */
function requireOnTypes(
  right: RecordRight,
  types: readonly string[] | undefined,
  asking: Asking,
): void {
  const { rights, database } = asking;
  if (types === undefined && !rights.otherTypes.has(right))
    throw denied(right, `database '${database}'`, asking);
  for (const type of types ?? rights.types.keys())
    if (!(rights.types.get(type) ?? rights.otherTypes).has(right))
      throw denied(right, `type '${type}' of database '${database}'`, asking);
}

function denied(right: string, what: string, { who }: Asking): DatabaseError {
  return new DatabaseError('Forbidden', `User '${who.name}' is not allowed to ${right} on ${what}`);
}
