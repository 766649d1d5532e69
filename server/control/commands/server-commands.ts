import { serverName } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ControlCommand } from '../control-command.ts';
import { ok } from '../control-command.ts';
import { requireNothing, requireOneName } from '../command-parser.ts';

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

/** Adds this server to the cluster of which a member is named (http-api.md 12). */
export const connectCluster: ControlCommand = {
  phrase: 'connect cluster',
  access: 'root',
  run: async ({ argument, principal, targets: { cluster } }) => {
    if (cluster === undefined) throw notEnabled();
    await cluster.management.connect(requireOneName(argument, 'address'), principal.name);
    return ok;
  },
};

/** As `POST /cluster/leave`. */
export const disconnectCluster: ControlCommand = {
  phrase: 'disconnect cluster',
  access: 'root',
  run: async ({ argument, targets: { cluster } }) => {
    if (cluster === undefined) throw notEnabled();
    requireNothing(argument);
    const { status, body } = await cluster.management.leave(false);
    if (status === 200) return ok;
    throw new DatabaseError('OperationRunning', String(body['error']));
  },
};

function notEnabled(): DatabaseError {
  return new DatabaseError('IllegalArgument', 'Raft HA is not enabled');
}
