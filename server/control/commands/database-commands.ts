import { serverMaxDatabases } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { requireOneName } from '../command-parser.ts';
import type { CommandCall, ControlCommand } from '../control-command.ts';
import { ok } from '../control-command.ts';

/** Takes the name of an existing database. @throws DatabaseError `IllegalArgument` */
export function requireDatabase({ argument, targets }: CommandCall): string {
  const name = requireOneName(argument, 'database name');
  if (targets.databases.exists(name)) return name;
  throw new DatabaseError('IllegalArgument', `Database '${name}' does not exist`);
}

export const createDatabase: ControlCommand = {
  phrase: 'create database',
  place: 'leader',
  access: 'root',
  run: async ({ argument, targets: { databases, settings } }) => {
    const name = requireOneName(argument, 'database name');
    if (databases.exists(name))
      throw new DatabaseError('DatabaseExists', `Database '${name}' already exists`);
    const max = settings.get(serverMaxDatabases);
    if (databases.names().length >= max)
      throw new DatabaseError(
        'IllegalArgument',
        `the server holds ${max} databases, as many as ${serverMaxDatabases.key} allows`,
      );
    await databases.create(name);
    return ok;
  },
};

export const dropDatabase: ControlCommand = {
  phrase: 'drop database',
  place: 'leader',
  access: 'root',
  run: async (call) => {
    await call.targets.databases.drop(requireDatabase(call));
    return ok;
  },
};

export const openDatabase: ControlCommand = {
  phrase: 'open database',
  access: 'root',
  run: async (call) => {
    await call.targets.databases.openClosed(requireDatabase(call));
    return ok;
  },
};

export const closeDatabase: ControlCommand = {
  phrase: 'close database',
  access: 'root',
  run: async (call) => {
    await call.targets.databases.close(requireDatabase(call));
    return ok;
  },
};

/** Copies that differ from the leader's are fetched anew; a server on its own has none. */
export const alignDatabase: ControlCommand = {
  phrase: 'align database',
  place: 'leader',
  access: 'root',
  run: async (call) => {
    const name = requireDatabase(call);
    const { cluster } = call.targets;
    if (cluster === undefined) return ok;
    return { ...ok, ...(await cluster.verify.align(name, call.principal.name)) };
  },
};
