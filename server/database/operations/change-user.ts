import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { ChangeUser } from '#query/algebra/maintenance.ts';
import type { UserList } from '#query/operators/operator.ts';
import type { MaintenanceOrder } from '../statement/context.ts';

/** The users of the server; a new password and a drop revoke what was given out for the old one. */
export interface UserChanges {
  get(name: string): unknown;
  list(): readonly { readonly name: string; readonly databases: ReadonlyMap<string, unknown> }[];
  create(
    name: string,
    given: { password: string; databases: ReadonlyMap<string, readonly string[]> },
  ): Promise<void>;
  update(name: string, change: { password: string }): Promise<void>;
  drop(name: string): Promise<void>;
  /** Told who changed whom (security.md 6), never with a secret. */
  told(message: string): void;
}

/** A new user may do everything with all databases (cypher.md 12.2). */
const grantsOfNew: ReadonlyMap<string, readonly string[]> = new Map([['*', ['admin']]]);

/** @throws DatabaseError `Forbidden` for others than root; `IllegalArgument` for a user that is there, or is not */
export async function changeUser(
  { change, name, password, isLenient }: ChangeUser,
  { asker }: MaintenanceOrder,
  users: UserChanges | undefined,
): Promise<readonly ValueMap[]> {
  const { name: actor } = requireRoot(asker, 'change');
  if (users === undefined) throw new DatabaseError('NotSupported', 'not supported: users here');
  const isThere = users.get(name) !== undefined;
  if (change === 'create') {
    if (isThere && isLenient) return [];
    await users.create(name, { password: password ?? '', databases: grantsOfNew });
    users.told(`User '${actor}' created user '${name}'`);
    return [];
  }
  if (!isThere) {
    if (isLenient) return [];
    throw new DatabaseError('IllegalArgument', `User '${name}' does not exist`);
  }
  if (change === 'drop') {
    await users.drop(name);
    users.told(`User '${actor}' deleted user '${name}'`);
  } else {
    await users.update(name, { password: password ?? '' });
    users.told(`User '${actor}' changed password of user '${name}'`);
  }
  return [];
}

/** The users by name, with the databases that they are given (cypher.md 12.2). @throws DatabaseError `Forbidden` for others than root */
export function shownUsers(
  asker: MaintenanceOrder['asker'],
  users: UserChanges | undefined,
): ReturnType<UserList['all']> {
  requireRoot(asker, 'list');
  return (users?.list() ?? []).map(({ name, databases }) => ({
    name,
    databases: [...databases.keys()],
  }));
}

function requireRoot(asker: MaintenanceOrder['asker'], what: string): Principal {
  if (asker?.principal.isRoot === true) return asker.principal;
  throw new DatabaseError('Forbidden', `only root may ${what} users`);
}
