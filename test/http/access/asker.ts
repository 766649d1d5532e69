import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type Caller, callers } from './rules.ts';

/** A request of somebody. */
export interface Asked {
  readonly method: string;
  /** Below `/api/v1`, unless `isAtRoot`. */
  readonly path: string;
  readonly isAtRoot?: boolean;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Given {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Empty when the answer is no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

const password = 'password';
const looks = [
  'SELECT FROM D ORDER BY @rid',
  'SELECT FROM P ORDER BY @rid',
  'SELECT FROM E ORDER BY @rid',
  'SELECT FROM schema:types ORDER BY name',
  'SELECT FROM schema:indexes ORDER BY name',
];

/** Sends the requests of every caller to one server, on a few connections. */
export class Asker {
  readonly #port: number;
  readonly #everywhere: Readonly<Record<string, string>>;
  readonly #headers = new Map<string, string | undefined>();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

  /** @param everywhere headers of each request */
  constructor(
    port: number,
    rootPassword: string,
    everywhere: Readonly<Record<string, string>> = {},
  ) {
    this.#port = port;
    this.#everywhere = everywhere;
    this.#headers.set('root', basic('root', rootPassword));
  }

  close(): void {
    this.#agent.destroy();
  }

  headerOf(caller: string): string | undefined {
    return this.#headers.get(caller);
  }

  /** Some data in database `school`, and everybody of the rules. */
  async setUp(): Promise<void> {
    const schema = [
      'CREATE DOCUMENT TYPE D',
      'CREATE PROPERTY D.name STRING',
      'CREATE PROPERTY D.id STRING',
      'CREATE INDEX ON D (id) UNIQUE',
      'CREATE VERTEX TYPE P',
    ];
    const data = [
      'DEFINE FUNCTION known.adds "INSERT INTO D SET n = 99" LANGUAGE sql',
      "INSERT INTO D SET n = 1, name = 'one'",
      'CREATE VERTEX P SET n = 1',
    ];
    for (const command of [...schema, 'CREATE EDGE TYPE E', ...data])
      await this.#must({
        method: 'POST',
        path: '/command/school',
        body: { language: 'sql', command },
      });
    for (const caller of callers) await this.#introduce(caller);
  }

  async ask(caller: string, asked: Asked): Promise<Given> {
    const { method, path, isAtRoot = false, body, headers = {} } = asked;
    const bytes = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    const authorization = this.#headers.get(caller);
    return await new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          method,
          path: isAtRoot ? path : `/api/v1${path}`,
          agent: this.#agent,
          headers: {
            ...this.#everywhere,
            ...(authorization === undefined ? undefined : { authorization }),
            ...(bytes === '' ? undefined : { 'content-length': String(Buffer.byteLength(bytes)) }),
            ...headers,
          },
        },
        (answer) => {
          let text = '';
          answer.on('data', (piece) => {
            text += String(piece);
          });
          answer.on('end', () => {
            const isJson = answer.headers['content-type'] === 'application/json' && text !== '';
            const { statusCode = 0 } = answer;
            resolve({
              status: statusCode,
              headers: answer.headers,
              text,
              body: isJson ? JSON.parse(text) : {},
            });
          });
          answer.on('error', reject);
        },
      );
      sent.on('error', reject);
      sent.end(bytes);
    });
  }

  /** Everything that a write could change, as text. */
  async fingerprint(): Promise<readonly string[]> {
    const seen: string[] = [];
    for (const command of looks) {
      const body = { language: 'sql', command };
      const {
        status,
        body: answer,
        text,
      } = await this.ask('root', { method: 'POST', path: '/query/school', body });
      assert.equal(status, 200, `${command}: ${text}`);
      seen.push(JSON.stringify(answer['result']));
    }
    for (const path of ['/databases', '/server/users', '/server/groups', '/server/api-tokens'])
      seen.push((await this.ask('root', { method: 'GET', path })).text);
    return seen;
  }

  /** Resolves when no statement waits for its asynchronous execution. */
  async queueIsEmpty(): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (performance.now() < deadline) {
      const { body } = await this.ask('root', { method: 'GET', path: '/server' });
      const metrics = body['metrics'] as {
        executors: { async: { activeCount: number; queueSize: number } };
      };
      const { activeCount, queueSize } = metrics.executors.async;
      if (activeCount === 0 && queueSize === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.fail('the queue does not empty');
  }

  async #introduce(caller: Caller): Promise<void> {
    const { name, via, database = '*', rights } = caller;
    if (via === 'nothing') this.#headers.set(name, undefined);
    if (via === 'text') this.#headers.set(name, caller.header);
    if (via === 'basic' && name !== 'root') {
      const databases = { [database]: name === 'stranger' ? 'schema' : name };
      await this.#must({
        method: 'POST',
        path: '/server/users',
        body: { name, password, databases },
      });
      this.#headers.set(name, basic(name, password));
    }
    if (via === 'token') {
      const [user = ''] = name.split(' ');
      const { body } = await this.ask(user, { method: 'POST', path: '/login' });
      this.#headers.set(name, `Bearer ${body['token']}`);
    }
    if (via === 'api-token') {
      const permissions = { types: { '*': { access: rights } } };
      const body = { name, database, permissions };
      const made = await this.#must({ method: 'POST', path: '/server/api-tokens', body });
      this.#headers.set(name, `Bearer ${(made['result'] as { token: string }).token}`);
    }
  }

  async #must(asked: Asked): Promise<Readonly<Record<string, unknown>>> {
    const given = await this.ask('root', asked);
    assert.ok(given.status < 300, `${JSON.stringify(asked)}: ${given.status} ${given.text}`);
    return given.body;
  }
}

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}
