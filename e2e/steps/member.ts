import type { Namespace } from './objects.ts';

export interface MemberRequest {
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of root's mounted password. */
  readonly password?: string;
  /** Instead of the member itself; for example the Service of the Cluster. */
  readonly host?: string;
}

export interface MemberAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const program = `
const fs = require('node:fs');
const { path, body, headers, password, host } = JSON.parse(fs.readFileSync(0, 'utf8'));
const file = process.env.SERVICE_SERVER_ROOT_PASSWORD_PATH ?? '/etc/polyad/root/rootPassword';
const secret = password ?? fs.readFileSync(file, 'utf8').trim();
fetch('http://' + (host ?? '127.0.0.1') + ':2480/api/v1' + path, {
  method: body ? 'POST' : 'GET',
  headers: { authorization: 'Basic ' + Buffer.from('root:' + secret).toString('base64'), 'content-type': 'application/json', ...headers },
  body: body && JSON.stringify(body),
}).then(async (answer) => console.log(JSON.stringify({
  status: answer.status, body: await answer.text(), headers: Object.fromEntries(answer.headers) })));`;

/** A request as root, sent from inside the member's pod; the password stays there. */
export async function ask(
  namespace: Namespace,
  pod: string,
  request: MemberRequest,
): Promise<MemberAnswer> {
  const output = await namespace.kubectl(
    ['exec', '-i', pod, '-c', 'server', '--', 'node', '--no-warnings', '-e', program],
    JSON.stringify(request),
  );
  return JSON.parse(output) as MemberAnswer;
}

/** Rows of a SQL statement. @throws Error when the answer is no 200 */
export async function sql(
  namespace: Namespace,
  pod: string,
  database: string,
  command: string,
  more: Partial<MemberRequest> = {},
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { status, body } = await ask(namespace, pod, {
    path: `/command/${database}`,
    body: { language: 'sql', command, limit: -1 },
    ...more,
  });
  if (status !== 200) throw new Error(`${command}: ${status} ${body}`);
  return (JSON.parse(body) as { result: Readonly<Record<string, unknown>>[] }).result;
}

export async function serverCommand(
  namespace: Namespace,
  pod: string,
  command: string,
): Promise<string> {
  const { status, body } = await ask(namespace, pod, { path: '/server', body: { command } });
  if (status !== 200) throw new Error(`${command}: ${status} ${body}`);
  return body;
}
