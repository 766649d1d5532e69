import { type ApiClient, requireOk } from './api-client.ts';
import { type Arguments, requireWords } from './arguments.ts';
import { connect } from './connection.ts';
import { type ExitCode, exitCodes, printable, type Terminal, write } from './terminal.ts';

interface Status {
  readonly url: string;
  readonly ready: boolean;
  readonly version: string;
  readonly serverName: string;
  readonly databases: readonly string[];
  /** Of all users for root, else the user's own. */
  readonly statements: readonly Task[];
  readonly operations: readonly Task[];
}

interface Task {
  readonly id: number;
  readonly database: string;
  readonly user: string;
  readonly elapsedMs: number;
  readonly command?: string;
  readonly operation?: string;
  readonly percentage?: number;
  readonly state?: string;
}

/** `polyad status [--json]`: exit code 0 when the server takes requests. */
export async function statusCommand(
  { words, options }: Arguments,
  terminal: Terminal,
): Promise<ExitCode> {
  requireWords(words, []);
  const status = await read(await connect(options, terminal));
  const text = options.json === true ? `${JSON.stringify(status)}\n` : statusText(status);
  await write(terminal.output, text);
  return status.ready ? exitCodes.ok : exitCodes.failed;
}

async function read(client: ApiClient): Promise<Status> {
  const ask = async (path: string) =>
    JSON.parse(requireOk(await client.send({ method: 'GET', path })).text);
  const ready = await client.send({ method: 'GET', path: '/ready' });
  const info = await ask('/server?mode=basic');
  const operations: readonly Task[] = (await ask('/server/operations')).result;
  return {
    url: client.target.url.origin,
    ready: ready.status === 204,
    version: info.version,
    serverName: info.serverName,
    databases: (await ask('/databases')).result,
    statements: (await ask('/server/statements')).result,
    operations: operations.filter(({ state }) => state === 'running' || state === 'cancelling'),
  };
}

function statusText(status: Status): string {
  const { url, ready, version, serverName, databases, statements, operations } = status;
  const lines = [
    `${serverName} at ${url}, version ${version}, ${ready ? 'ready' : 'not ready'}`,
    `databases: ${databases.length === 0 ? 'none' : databases.join(', ')}`,
    ...statements.map((task) => `statement ${taskText(task)}: ${task.command?.slice(0, 100)}`),
    ...operations.map((task) => `operation ${taskText(task)}: ${task.operation}${percent(task)}`),
  ];
  return lines.map((line) => `${printable(line).replaceAll('\n', ' ')}\n`).join('');
}

function taskText({ id, user, database, elapsedMs }: Task): string {
  return `${id} of ${user} on ${database}, ${(elapsedMs / 1000).toFixed(1)} s`;
}

function percent({ percentage = -1 }: Task): string {
  return percentage < 0 ? '' : ` ${percentage} %`;
}
