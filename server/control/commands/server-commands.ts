import { serverName } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ControlCommand } from '../control-command.ts';
import { ok } from '../control-command.ts';

const answerTimeMs = 1000;

/** The events since the start, or those of an older file. */
export const getServerEvents: ControlCommand = {
  phrase: 'get server events',
  access: 'root',
  isAudited: false,
  run: async ({ argument, targets: { events } }) => ({
    result: argument === '' ? events.recent() : await events.read(argument),
    files: events.fileNames(),
  }),
};

export const shutdown: ControlCommand = {
  phrase: 'shutdown',
  access: 'root',
  run: ({ argument, targets: { control, settings } }) => {
    const own = settings.get(serverName);
    if (argument !== '' && argument !== own)
      throw new DatabaseError(
        'IllegalArgument',
        `Server '${argument}' is not known; this is '${own}'`,
      );
    control.stopSoon(answerTimeMs, 'command shutdown');
    return ok;
  },
};

function needsCluster(phrase: string): ControlCommand {
  return {
    phrase,
    access: 'root',
    run: () => {
      throw new DatabaseError('IllegalArgument', 'Raft HA is not enabled');
    },
  };
}

export const connectCluster = needsCluster('connect cluster');
export const disconnectCluster = needsCluster('disconnect cluster');
