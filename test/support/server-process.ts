import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';

/** The real server as a child process on loopback, as the README starts it. */
export interface ServerProcess {
  readonly port: number;
  readonly child: ChildProcess;
  /** Everything it printed so far. */
  output(): string;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** SIGTERM. @returns the exit code */
  stop(): Promise<number | null>;
}

/** Spares a server the filling of its code cache, for tests in which its memory does not matter. */
export const quickStart = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/polyad-code'),
};

export interface ServerOptions {
  readonly rootPath: string;
  readonly rootPassword: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly nodeArguments?: readonly string[];
  /** What starts the server's command line, which follows: `['nice']`. */
  readonly launcher?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Default 45 s. */
  readonly readyTimeoutMs?: number;
  /** What is waited for: that it serves (default), or only that it listens, while its databases are opened. */
  readonly until?: 'ready' | 'health';
}

const projectDirectory = resolve(import.meta.dirname, '../..');

/** Starts a server and waits until `/ready` (or `/health`) answers 204. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const port = await freePort();
  const settings = {
    'service.server.rootPath': options.rootPath,
    'service.server.httpIncomingPort': String(port),
    'service.server.httpIncomingHost': '127.0.0.1',
    'service.server.rootPassword': options.rootPassword,
    'service.server.logsDirectory': join(options.rootPath, 'log'),
    ...options.settings,
  };
  const text = Object.entries(settings).map(([key, value]) => `${key}="${value}"`);
  const script = join(projectDirectory, 'server/main.ts');
  const line = [
    ...(options.launcher ?? []),
    process.execPath,
    ...(options.nodeArguments ?? []),
    script,
  ];
  const child = spawn(line[0] ?? process.execPath, line.slice(1), {
    env: { ...process.env, ...options.environment, SERVICE_SETTINGS: text.join(' ') },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.rootPath,
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed = (printed + String(chunk)).slice(-20_000);
  });
  child.stderr.on('data', (chunk) => {
    printed = (printed + String(chunk)).slice(-20_000);
  });
  const exited = new Promise<number | null>((done) => {
    child.once('exit', (code) => done(code));
  });
  const server: ServerProcess = {
    port,
    child,
    output: () => printed,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
  await waitUntil(server, options.until ?? 'ready', options.readyTimeoutMs ?? 45_000);
  return server;
}

async function waitUntil(
  server: ServerProcess,
  path: 'ready' | 'health',
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (server.child.exitCode !== null) break;
    try {
      const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/${path}`);
      if (answer.status === 204) return;
    } catch {
      // Not listening yet; the deadline bounds the loop.
    }
    await new Promise((done) => setTimeout(done, 20));
  }
  await server.kill();
  throw new Error(`the server did not get ready\n${server.output()}`);
}

/** A port of loopback that nobody has now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done));
  const address = probe.address();
  await new Promise<void>((done) => {
    probe.close(() => done());
  });
  return typeof address === 'object' && address ? address.port : 0;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/** A client of one server as root (or as `user`), speaking the public HTTP API only. */
export class HttpClient {
  readonly #base: string;
  readonly #authorization: string;

  constructor(port: number, user: string, password: string) {
    this.#base = `http://127.0.0.1:${port}/api/v1`;
    this.#authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpAnswer> {
    const answer = await fetch(this.#base + path, {
      method,
      headers: {
        authorization: this.#authorization,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: answer.headers,
    };
  }

  /** Runs one SQL statement by `/command`. @throws Error with status and body when it is refused */
  async sql(
    database: string,
    command: string,
    params: unknown = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const answer = await this.request(
      'POST',
      `/command/${database}`,
      { language: 'sql', command, params, limit: -1 },
      headers,
    );
    if (answer.status !== 200) throw new RefusedRequest(answer, command);
    return (answer.body as { result: Readonly<Record<string, unknown>>[] }).result;
  }

  async server(command: string): Promise<HttpAnswer> {
    return this.request('POST', '/server', { command });
  }
}

export class RefusedRequest extends Error {
  readonly answer: HttpAnswer;
  constructor(answer: HttpAnswer, command: string) {
    super(`${answer.status} for '${command.slice(0, 120)}': ${JSON.stringify(answer.body)}`);
    this.answer = answer;
  }
}
