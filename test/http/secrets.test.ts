import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCertificate, makePkcs12 } from '../support/certificates.ts';
import { startServer } from '../support/server-process.ts';

/*
 * No secret comes out (security.md 6). A real server at its most talkative lives through logins, wrong passwords, tokens,
 * settings, failing commands and addresses with credentials. Everything that it printed, wrote to its logs or answered is
 * searched for each secret, plain and in base64.
 */

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: object | string;
  readonly authorization?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

const basic = (name: string, password: string) =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

function send(port: number, { method, path, body, authorization, headers }: Sent) {
  const bytes = typeof body === 'object' ? JSON.stringify(body) : (body ?? '');
  return new Promise<Answered>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        headers: {
          ...(authorization === undefined ? undefined : { authorization }),
          'content-length': Buffer.byteLength(bytes),
          ...headers,
        },
      },
      (answer) => {
        let text = JSON.stringify(answer.headers);
        answer.on('data', (piece) => {
          text += String(piece);
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}

/** Every file below a directory, as text. */
function filesBelow(directory: string): readonly [path: string, text: string][] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [path, readFileSync(path, 'latin1')]);
}

const secrets = {
  root: 'root-secret-Zq1',
  keyStore: 'store-secret-Zq2',
  trustStore: 'trust-secret-Zq3',
  default: 'default-secret-Zq4',
  wrong: 'wrong-secret-Zq5',
  jay: 'jay-secret-Zq6',
  changed: 'changed-secret-Zq7',
  command: 'command-secret-Zq8',
  setting: 'setting-secret-Zq9',
  phrase: 'phrase-secret-ZqA with-secret-ZqB blanks-secret-ZqC',
  url: 'url-secret-ZqD',
  broken: 'broken-secret-ZqE',
  digest: 'digest-secret-ZqF',
  short: 'ZqGshrt',
  key: 'encryption-secret-ZqH',
  user: 'cypher-secret-ZqI',
} as const;

/** One user of the server, who keeps every answer, and knows what must not be in it. */
class Client {
  readonly seen: [what: string, text: string][] = [];
  readonly given = new Set<string>(Object.values(secrets).flatMap((secret) => secret.split(' ')));
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  async ask(sent: Sent): Promise<Answered> {
    const authorization = sent.authorization ?? basic('root', secrets.root);
    for (const [, encoded = ''] of authorization.matchAll(/^Basic (.+)$/g)) this.given.add(encoded);
    const path = sent.path.startsWith('/') ? sent.path : `/api/v1/${sent.path}`;
    const answered = await send(this.#port, { ...sent, path, authorization });
    this.seen.push([`${sent.method} ${sent.path}: ${answered.status}`, answered.text]);
    return answered;
  }

  /** As `ask`, for an answer that is there to give a secret out. */
  async obtain(sent: Sent, pattern: RegExp): Promise<string> {
    const { text, status } = await this.ask(sent);
    this.seen.pop();
    const found = pattern.exec(text)?.[0];
    assert(found !== undefined, `${sent.path}: ${status} ${text}`);
    this.given.add(found);
    return found;
  }

  command(text: string): Promise<Answered> {
    return this.ask({ method: 'POST', path: 'server', body: { command: text } });
  }

  sql(text: string, more: object = {}): Promise<Answered> {
    const body = { language: 'sql', command: text, ...more };
    return this.ask({ method: 'POST', path: 'command/school', body });
  }
}

async function makeUsers(client: Client): Promise<void> {
  const path = 'server/users';
  const post = (body: object | string) => client.ask({ method: 'POST', path, body });
  await post({ name: 'jay', password: secrets.jay, databases: { school: 'admin' } });
  const body = { password: secrets.changed };
  await client.ask({ method: 'PUT', path: `${path}?name=jay`, body });
  await post({ name: 'jay', password: secrets.jay });
  await post({ name: 'kim', password: secrets.short });
  await post(`{"name":"kim","password":"${secrets.broken}`);
  await post({ name: 'kim', password: [secrets.broken] });
  await client.command(`create user {"name":"lee","password":"${secrets.command}"}`);
  await client.command(`create user {"name":"lee","password":"${secrets.command}"}`);
  await client.command(`create user {"name":"lee","password":"${secrets.command}`);
  await client.command(`create user lee ${secrets.command}`);
  await client.command(`create usr {"name":"lee","password":"${secrets.command}"}`);
  const broken = `{"command":"create user ${secrets.broken}`;
  await client.ask({ method: 'POST', path: 'server', body: broken });
}

async function proveIdentities(client: Client): Promise<void> {
  const headers = [
    basic('jay', secrets.wrong),
    basic('nobody', secrets.wrong),
    `Basic ${Buffer.from(secrets.wrong).toString('base64')}`,
    `Basic ${secrets.wrong}`,
    `Digest username="root", response="${secrets.digest}"`,
    `Bearer AU-${secrets.digest}`,
    `Bearer at-${secrets.digest}`,
    `${secrets.digest}`,
  ];
  for (const authorization of headers) {
    await client.ask({ method: 'GET', path: 'databases', authorization });
    await client.ask({ method: 'POST', path: 'login', authorization });
    await client.ask({ method: 'POST', path: 'logout', authorization });
  }
  const jay = basic('jay', secrets.changed);
  const login = { method: 'POST', path: 'login', authorization: jay };
  const authorization = `Bearer ${await client.obtain(login, /AU-[^"]+/)}`;
  await client.ask({ method: 'GET', path: 'databases', authorization });
  await client.ask({ method: 'GET', path: 'query/school/sql/SELECT%20nonsense(', authorization });
  await client.ask({ method: 'POST', path: 'logout', authorization });
  await client.ask({ method: 'GET', path: 'databases', authorization });
  const made = { method: 'POST', path: 'server/api-tokens', body: { name: 'ci' } };
  const token = await client.obtain(made, /at-[0-9a-f]{64}/);
  await client.ask({ method: 'GET', path: 'databases', authorization: `Bearer ${token}` });
  await client.ask({ method: 'GET', path: 'server/api-tokens' });
  await client.ask({ method: 'DELETE', path: `server/api-tokens?token=${token}` });
  await client.ask({ method: 'GET', path: 'sessions' });
}

/** Known and unknown, plain and quoted. */
async function changeSettings(client: Client): Promise<void> {
  for (const key of ['server.rootPassword', 'service.ssl.keyStorePassword'])
    for (const value of [secrets.setting, secrets.phrase, `"${secrets.phrase}"`])
      await client.command(`set server setting ${key} ${value}`);
  await client.command(`set server setting server.rootPasword ${secrets.setting}`);
  await client.command(
    `set server setting server.defaultDatabases x[jay:${secrets.default}:admin]`,
  );
  await client.command(`set database setting school server.rootPassword ${secrets.phrase}`);
}

async function fetchAndEncrypt(client: Client): Promise<void> {
  for (const scheme of ['http', 'https', 'ftp']) {
    const address = `${scheme}://someone:${secrets.url}@127.0.0.1:1/x.json`;
    await client.command(`import database made ${address}`);
    await client.command(`restore database made ${address}`);
    await client.sql(`IMPORT DATABASE ${address}`);
    await client.sql(`IMPORT DATABASE '${address}'`);
    await client.ask({
      method: 'POST',
      path: 'server',
      body: { command: `import database made ${address}` },
      headers: { accept: 'text/event-stream' },
    });
  }
  await client.sql(`BACKUP DATABASE WITH encryptionKey = '${secrets.key}'`);
  const named = 'BACKUP DATABASE file://b.zip WITH';
  await client.sql(`${named} encryptionKey = '${secrets.key}', nonsense = 1`);
  await client.sql(`CREATE USER eve IDENTIFIED BY '${secrets.user}' ROLE admin`);
  for (const verb of ['CREATE', 'ALTER'])
    for (const awaitResponse of [true, false])
      for (const language of ['cypher', 'sql'])
        await client.sql(`${verb} USER eve SET PASSWORD '${secrets.user}'`, {
          language,
          awaitResponse,
        });
}

async function lookAround(client: Client): Promise<void> {
  const paths = ['server', 'server?mode=cluster', 'openapi.json', 'server/users', 'server/groups'];
  for (const path of [...paths, 'server/statements', 'server/operations', 'progress/school'])
    await client.ask({ method: 'GET', path });
  for (const path of ['/prometheus', '/metrics', '/api/v1/metrics', '/api/v1/prometheus'])
    await client.ask({ method: 'GET', path });
  for (const text of ['profiler results', 'profiler stop', 'get server events', 'list statements'])
    await client.command(text);
  await client.command('get backup config');
}

test('secrets appear in no log, event, answer, metric or document', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-secrets-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const certificate = makeCertificate(directory, 'server');
  const server = await startServer({
    rootPath: directory,
    rootPassword: secrets.root,
    readyTimeoutMs: 55_000,
    settings: {
      'service.server.logLevel': 'debug',
      'service.server.saltIterations': '1000',
      'service.server.plugins': 'prometheus',
      'service.ssl.enabled': 'true',
      'service.server.httpsIncomingPort': '0',
      'service.ssl.keyStore': makePkcs12(certificate, secrets.keyStore),
      'service.ssl.keyStorePassword': secrets.keyStore,
      'service.ssl.trustStore': certificate.certificate,
      'service.ssl.trustStorePassword': secrets.trustStore,
      'service.server.defaultDatabases': `school[albert:${secrets.default}:reader]`,
    },
  });
  context.after(() => server.kill());
  const client = new Client(server.port);
  await client.command('profiler start');
  await makeUsers(client);
  await proveIdentities(client);
  await changeSettings(client);
  await fetchAndEncrypt(client);
  await lookAround(client);
  await server.stop();

  const kept = ['log', 'config', 'profiler'].flatMap((name) => {
    const path = join(directory, name);
    return statSync(path, { throwIfNoEntry: false }) ? filesBelow(path) : [];
  });
  assert.ok(kept.some(([path, text]) => path.includes('log') && text.includes('request')));
  const all: [string, string][] = [['output', server.output()], ...kept, ...client.seen];
  const leaks: string[] = [];
  for (const [where, text] of all)
    for (const secret of client.given)
      if (text.includes(secret)) leaks.push(`${secret} in ${where}`);
  assert.deepEqual(leaks, []);
});
