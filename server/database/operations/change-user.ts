import { DatabaseError } from '#core/errors.ts';
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
}

/** A new user may do everything with all databases (cypher.md 12.2). */
const grantsOfNew: ReadonlyMap<string, readonly string[]> = new Map([['*', ['admin']]]);

/** @throws DatabaseError `Forbidden` for others than root; `IllegalArgument` for a user that is there, or is not */
export async function changeUser(
  { change, name, password, isLenient }: ChangeUser,
  { asker }: MaintenanceOrder,
  users: UserChanges | undefined,
): Promise<readonly ValueMap[]> {
  requireRoot(asker, 'change');
  if (users === undefined) throw new DatabaseError('NotSupported', 'not supported: users here');
  const isThere = users.get(name) !== undefined;
  if (change === 'create') {
    if (isThere && isLenient) return [];
    await users.create(name, { password: password ?? '', databases: grantsOfNew });
    return [];
  }
  if (!isThere) {
    if (isLenient) return [];
    throw new DatabaseError('IllegalArgument', `User '${name}' does not exist`);
  }
  if (change === 'drop') await users.drop(name);
  else await users.update(name, { password: password ?? '' });
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

function requireRoot(asker: MaintenanceOrder['asker'], what: string): void {
  if (asker?.principal.isRoot !== true)
    throw new DatabaseError('Forbidden', `only root may ${what} users`);
}
