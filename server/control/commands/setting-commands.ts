import { requireSetting } from '#config/registry.ts';
import { DatabaseError } from '#core/errors.ts';
import { takeName } from '../command-parser.ts';
import type { ControlCommand } from '../control-command.ts';
import { ok } from '../control-command.ts';

/** In force at once and until the server stops; for a database setting, in databases opened from now on. */
export const setServerSetting: ControlCommand = {
  phrase: 'set server setting',
  access: 'root',
  mask: (argument) => firstWords(argument, 1),
  run: ({ argument, targets: { settings, events } }) => {
    const { key, text } = takeAssignment(argument);
    const spec = requireSetting(key);
    settings.set(spec, text);
    if (spec.reload === 'live') return ok;
    const message = `${spec.key} is read when the server starts: this change has no effect until it is set in the configuration and the server restarts`;
    events.report('HINT', 'Server', message);
    return { ...ok, restart: true, warnings: [{ code: 'RestartNeeded', message }] };
  },
};

/** Kept in the configuration of the database. */
export const setDatabaseSetting: ControlCommand = {
  phrase: 'set database setting',
  place: 'leader',
  access: 'root',
  mask: (argument) => firstWords(argument, 2),
  run: async ({ argument, targets: { databases } }) => {
    const { name, rest } = takeName(argument, 'database name');
    const { key, text } = takeAssignment(rest);
    if (!databases.exists(name))
      throw new DatabaseError('IllegalArgument', `Database '${name}' does not exist`);
    const spec = requireSetting(key);
    if (spec.scope !== 'database')
      throw new DatabaseError('InvalidSetting', `${spec.key} is a setting of the server`);
    spec.parse(text);
    await databases.open(name).setSetting(spec.key, text);
    return ok;
  },
};

/** Key and value; the value is the rest of the line, quotes around it are taken away. */
function takeAssignment(argument: string): { readonly key: string; readonly text: string } {
  const { name, rest } = takeName(argument, 'key of the setting');
  if (rest === '') throw new DatabaseError('IllegalArgument', `the value of '${name}' is missing`);
  const quoted = /^"([^"]*)"$|^'([^']*)'$/.exec(rest);
  return { key: name, text: quoted ? (quoted[1] ?? quoted[2] ?? '') : rest };
}

/** Names and keys are shown; values are not, because some are secret. */
function firstWords(argument: string, count: number): string {
  const words = argument.split(/\s+/);
  return words.slice(0, count).join(' ') + (words.length > count ? ' ...' : '');
}
