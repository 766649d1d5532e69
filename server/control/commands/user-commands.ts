import { DatabaseError } from '#core/errors.ts';
import { parseGrants } from '#security/user-file.ts';
import { requireJsonObject, requireOneName } from '../command-parser.ts';
import type { ControlCommand } from '../control-command.ts';
import { ok } from '../control-command.ts';

export const createUser: ControlCommand = {
  phrase: 'create user',
  place: 'leader',
  access: 'root',
  mask: nameAlone,
  run: async ({ argument, targets: { users, groups } }) => {
    const given = requireJsonObject(argument);
    const name = requireText(given.get('name'), 'name');
    const password = requireText(given.get('password'), 'password');
    const databases = parseGrants(given.get('databases') ?? new Map());
    if (!databases)
      throw new DatabaseError(
        'IllegalArgument',
        "Field 'databases' must map database names to a level or a list of levels",
      );
    await users.create(name, { password, databases });
    const warnings = groups.unknownIn(databases);
    return warnings.length === 0 ? ok : { ...ok, warnings };
  },
};

export const dropUser: ControlCommand = {
  phrase: 'drop user',
  place: 'leader',
  access: 'root',
  run: async ({ argument, targets: { users } }) => {
    const name = requireOneName(argument, 'user name');
    if (!users.get(name))
      throw new DatabaseError('IllegalArgument', `User '${name}' not found on server`);
    await users.drop(name);
    return ok;
  },
};

/** Whom it is about (security.md 6). */
function nameAlone(argument: string): string {
  try {
    const name = requireJsonObject(argument).get('name');
    return typeof name === 'string' ? `{"name":${JSON.stringify(name)},...}` : '{...}';
  } catch {
    return '{...}';
  }
}

function requireText(value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new DatabaseError('IllegalArgument', `Field '${field}' must be a string that is not empty`);
}
