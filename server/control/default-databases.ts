import { DatabaseError } from '#core/errors.ts';
import type { Asker, ServerOperations } from '#database/operations/server-operations.ts';
import type { DatabasesPort } from '#database/session.ts';
import { rootName } from '#security/credential-policy.ts';
import type { Users } from '#security/users.ts';
import type { ServerEvents } from './event-log.ts';

/** A database that must be there when the server starts (http-api.md 21.3). */
export interface DefaultDatabase {
  readonly name: string;
  readonly credentials: readonly {
    readonly user: string;
    readonly password: string | undefined;
    readonly group: string;
  }[];
  /** `import:URL`, `restore:URL`. */
  readonly actions: readonly string[];
}

export interface DefaultDatabaseTargets {
  readonly databases: DatabasesPort;
  readonly users: Users;
  readonly events: ServerEvents;
  /** Carries out `{restore:URL}` and `{import:URL}`. */
  readonly operations: Pick<ServerOperations, 'restore' | 'importNew'>;
}

/** The server itself asks, and nobody ends it. */
const startUp: Asker = {
  principal: { name: rootName, isRoot: true, via: 'peer' },
  signal: new AbortController().signal,
};

const entryShape = /^\s*([^[\]{};]+)\[([^\]]*)\]\s*((?:\{[^}]*\}\s*)*)$/;

/**
 * Takes `name[user:password:group,...]{action};...` apart.
 * @returns the entries up to the first one that has another form, and that one
 */
export function parseDefaultDatabases(text: string): {
  readonly entries: readonly DefaultDatabase[];
  readonly broken: string | undefined;
} {
  const entries: DefaultDatabase[] = [];
  for (const part of splitOutside(text, ';')) {
    if (part.trim() === '') continue;
    const match = entryShape.exec(part);
    if (!match) return { entries, broken: part.trim() };
    const [, name = '', credentials = '', actions = ''] = match;
    entries.push({
      name: name.trim(),
      credentials: credentials
        .split(',')
        .filter((credential) => credential.trim() !== '')
        .map(parseCredential),
      actions: [...actions.matchAll(/\{([^}]*)\}/g)].map(([, action]) => (action ?? '').trim()),
    });
  }
  return { entries, broken: undefined };
}

function parseCredential(text: string): DefaultDatabase['credentials'][number] {
  const [user = '', password, group] = text.trim().split(':');
  return { user, password, group: group ?? 'admin' };
}

/** Splits where the separator stands outside brackets and braces: URLs may hold it. */
function splitOutside(text: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let part = '';
  let depth = 0;
  for (const char of text) {
    if (char === '[' || char === '{') depth += 1;
    if (char === ']' || char === '}') depth -= 1;
    if (char === separator && depth === 0) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  return [...parts, part];
}

/** Makes what is missing; what cannot be made is reported and does not keep the server from starting. */
export async function createDefaultDatabases(
  text: string,
  targets: DefaultDatabaseTargets,
): Promise<void> {
  const { entries, broken } = parseDefaultDatabases(text);
  for (const entry of entries) await createDefaultDatabase(entry, targets);
  if (broken !== undefined)
    targets.events.report(
      'WARNING',
      'Server',
      `service.server.defaultDatabases: an entry has another form than name[user:password:group]{action}; it and what follows is ignored`,
    );
}

async function createDefaultDatabase(
  { name, credentials, actions }: DefaultDatabase,
  targets: DefaultDatabaseTargets,
): Promise<void> {
  const { databases, users, events } = targets;
  try {
    // Only what is missing is made: a restart must never destroy data (http-api.md 21.3).
    if (!databases.exists(name)) {
      await make(name, actions, targets);
      events.report('INFO', 'Server', 'Default database created', name);
    }
    for (const credential of credentials) await grant(name, credential, { users, events });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    events.report('ERROR', 'Server', `Default database '${name}': ${error.message}`);
  }
}

/** An empty database, or one of an archive or a file; of several actions the first one makes it. */
async function make(
  name: string,
  actions: readonly string[],
  { databases, operations, events }: DefaultDatabaseTargets,
): Promise<void> {
  const [action, ...others] = actions;
  for (const other of others)
    events.report('WARNING', 'Server', `Action '${other.split(':')[0]}' is left out`, name);
  if (action === undefined) {
    await databases.create(name);
    return;
  }
  const at = action.indexOf(':');
  const verb = action.slice(0, at).trim().toLowerCase();
  const url = action.slice(at + 1).trim();
  if (at > 0 && verb === 'restore') await operations.restore(name, { url }, startUp);
  else if (at > 0 && verb === 'import')
    await operations.importNew(name, { url, settings: undefined }, startUp);
  else
    throw new DatabaseError(
      'IllegalArgument',
      `the action '${action.slice(0, 40)}' is neither restore:URL nor import:URL`,
    );
}

/** Gives a user a level on the database; the user is made when there is a password for it. */
async function grant(
  database: string,
  { user, password, group }: DefaultDatabase['credentials'][number],
  { users, events }: Pick<DefaultDatabaseTargets, 'users' | 'events'>,
): Promise<void> {
  const known = users.get(user);
  if (!known) {
    if (password === undefined)
      events.report(
        'WARNING',
        'Security',
        `Default database '${database}': user '${user}' does not exist`,
      );
    else await users.create(user, { password, databases: new Map([[database, [group]]]) });
    return;
  }
  if (user === rootName || known.databases.get(database)?.includes(group)) return;
  if (password !== undefined && !(await users.hasPassword(user, password))) {
    events.report(
      'CRITICAL',
      'Security',
      `Default database '${database}': the password of user '${user}' differs; no access was given`,
    );
    return;
  }
  const databases = new Map(known.databases);
  databases.set(database, [...(databases.get(database) ?? []), group]);
  await users.update(user, { databases });
}
