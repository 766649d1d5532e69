import { requireNothing } from '../command-parser.ts';
import type { ControlCommand } from '../control-command.ts';

/** The only command that everybody may run; tells the databases that the caller may access. */
export const listDatabases: ControlCommand = {
  phrase: 'list databases',
  access: 'user',
  isAudited: false,
  run: ({ principal, argument, targets: { databases, authorizer, version } }) => {
    requireNothing(argument);
    return {
      result: databases.names().filter((name) => authorizer.canAccess(principal, name)),
      user: principal.name,
      version,
    };
  },
};
