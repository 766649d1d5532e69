import { systemRuntime } from '#platform/system-runtime.ts';
import type { ApiClient } from './api-client.ts';
import { type Arguments, requireWords } from './arguments.ts';
import { connect } from './connection.ts';
import { ProgressBar } from './progress-bar.ts';
import { quoted, runStreamed, showingProgress } from './server-operation.ts';
import {
  CommandFailure,
  type ExitCode,
  exitCodes,
  printable,
  type Terminal,
  write,
  wrongUse,
} from './terminal.ts';

/** `polyad backup <db>`: prints the name of the archive, or the address it was written to (`--to`). */
export async function backupCommand(
  { words, options }: Arguments,
  terminal: Terminal,
): Promise<ExitCode> {
  const [database = ''] = requireWords(words, ['database']);
  const client = await connect(options, terminal);
  const bar = new ProgressBar(terminal);
  const { to } = options;
  const answer = to === undefined ? trigger(client, database) : backUpTo(client, database, to);
  const { sleep } = systemRuntime.timers;
  try {
    const { text } = await showingProgress(client, { database, bar, sleep }, answer);
    const told = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const [row] = Array.isArray(told['result']) ? told['result'] : [told];
    bar.clear();
    await write(terminal.output, `${printable(String(row?.backupFile ?? to))}\n`);
  } finally {
    bar.clear();
  }
  return exitCodes.ok;
}

const asJson = { 'content-type': 'application/json' };

function trigger(client: ApiClient, database: string) {
  const body = JSON.stringify({ command: `trigger backup ${quoted(database)}` });
  return client.send({ method: 'POST', path: '/server', headers: asJson, body });
}

function backUpTo(client: ApiClient, database: string, to: string) {
  const command = `BACKUP DATABASE '${to.replaceAll("'", '%27')}'`;
  const body = JSON.stringify({ language: 'sql', command });
  const path = `/command/${encodeURIComponent(database)}`;
  return client.send({ method: 'POST', path, headers: asJson, body });
}

const archiveName = /^([^/\\]+)-backup-\d{8}-\d{6,9}\.zip$/;

/** `polyad restore <db> <archive|url>`: from an archive of the server, by its name, or from an address. */
export async function restoreCommand(
  { words, options }: Arguments,
  terminal: Terminal,
): Promise<ExitCode> {
  const [database = '', source = ''] = requireWords(words, ['database', 'archive']);
  const archived = archiveName.exec(source)?.[1];
  const overwrite = options.overwrite === true;
  if (overwrite && archived === undefined)
    throw wrongUse('--overwrite is for archives of the server, which are named without an address');
  const client = await connect(options, terminal);
  const bar = new ProgressBar(terminal);
  const command =
    archived === undefined
      ? `restore database ${quoted(database)} ${source}`
      : `restore backup ${quoted(archived)} ${source} as ${quoted(database)}`;
  const encryptionKey = terminal.environment['POLYAD_ENCRYPTION_KEY'];
  try {
    const body = { command, overwrite, ...(encryptionKey !== undefined && { encryptionKey }) };
    await runStreamed(client, body, bar).catch((error) => {
      throw overwrite ? error : namingTheSwitch(error);
    });
    bar.clear();
    await write(terminal.output, `Restored database '${printable(database)}'\n`);
  } finally {
    bar.clear();
  }
  return exitCodes.ok;
}

/** The server names the field of its API. */
function namingTheSwitch(error: unknown): unknown {
  if (!(error instanceof CommandFailure)) return error;
  return new CommandFailure(
    error.code,
    error.message.replace('the field "overwrite": true', '--overwrite'),
  );
}
