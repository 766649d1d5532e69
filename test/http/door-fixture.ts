import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import {
  serverHttpAuthSessionExpireTimeout,
  serverHttpAuthSessionMax,
  serverHttpAuthSessionMaxPerUser,
  serverPlugins,
  sslKeyStore,
  sslKeyStorePassword,
} from '#config/server-settings.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { BackupControl } from '#control/backup-control.ts';
import { ServerEvents } from '#control/event-log.ts';
import { Meters } from '#control/meters.ts';
import { Metrics } from '#control/metrics.ts';
import { Profiler } from '#control/profiler.ts';
import { ProfilerFiles } from '#control/profiler-files.ts';
import { parsePlugins } from '#control/plugins.ts';
import { ServerControl } from '#control/server-control.ts';
import { Telemetry } from '#control/telemetry.ts';
import type { Log, LogFields } from '#core/log.ts';
import type { Authorizer } from '#core/principal.ts';
import type { ServerOperations } from '#database/operations/server-operations.ts';
import type { DatabasesPort } from '#database/session.ts';
import { StatementMeter } from '#database/statement/meter.ts';
import type { DoorDependencies } from '#http/door.ts';
import type { MountedRoutes } from '#http/routes/mounted-routes.ts';
import { HttpServer } from '#http/connection/server.ts';
import { requestMemory } from '#http/connection/request-memory.ts';
import { openApiDocument } from '#http/document/openapi.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Audit } from '#security/audit.ts';
import { ApiTokens } from '#security/api-tokens.ts';
import { Authenticator } from '#security/authenticator.ts';
import { GroupAuthorizer } from '#security/authorizer.ts';
import { Groups } from '#security/groups.ts';
import { LoginAttempts } from '#security/login-attempts.ts';
import { TlsCredentials } from '#security/tls-credentials.ts';
import { TokenSessions } from '#security/token-sessions.ts';
import { Users } from '#security/users.ts';
import { quickDerivation, stoppedTimers } from '../security/fixtures.ts';
import { OpenApiChecker } from '../support/openapi-checker.ts';
import { FakeDatabases } from './fake-databases.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
  /** The parsed body; undefined when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly body?: string | Uint8Array | object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default root; null sends no credentials. */
  readonly user?: string | null;
}

/** What the log was told. */
export interface LoggedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

/** The HTTP door on an ephemeral port, over scripted databases. */
export interface DoorFixture {
  readonly port: number;
  readonly databases: FakeDatabases;
  readonly settings: Settings;
  readonly users: Users;
  readonly groups: Groups;
  readonly control: ServerControl;
  readonly events: ServerEvents;
  readonly server: HttpServer;
  /** With setting `ssl.keyStore`. */
  readonly tls: TlsCredentials | undefined;
  readonly internalErrors: unknown[];
  readonly logged: readonly LoggedLine[];
  readonly tokens: TokenSessions;
  readonly apiTokens: ApiTokens;
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** Sends bytes on a connection of their own; resolves when the server closed it. */
  raw(bytes: string | readonly (string | Buffer)[]): Promise<string>;
  open(): Promise<Socket>;
}

export function basic(name: string, password = 'password'): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

/** @param openDatabases real databases instead of the scripted ones */
export async function startDoor(
  context: TestContext,
  texts: Readonly<Record<string, string>> = {},
  openDatabases?: (authorizer: Authorizer) => Promise<DatabasesPort>,
  /** Puts another door upon it, before it listens. */
  mount?: (door: DoorDependencies, server: HttpServer) => void,
  /** That of the real databases. */
  meter?: () => StatementMeter | undefined,
  mounted?: MountedRoutes,
  openCluster?: (
    parts: Omit<DoorDependencies, 'cluster'> & { readonly scripted: FakeDatabases },
  ) => Promise<ClusterDoor>,
): Promise<DoorFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-http-'));
  const settings = new Settings(new Map(Object.entries({ ...onLoopback, ...texts })));
  const { clock, timers } = systemRuntime;
  const logged: LoggedLine[] = [];
  const log = recordingLog(logged);
  const events = new ServerEvents({ directory, settings, clock, log });
  const audit: Audit = {
    report: (type, message, requestId) => events.report(type, 'Security', message, null, requestId),
  };
  const security = await makeSecurity(directory, audit, settings);
  const scripted = new FakeDatabases(settings, ['school', 'other']);
  const databases = (await openDatabases?.(security.authorizer)) ?? scripted;
  const control = new ServerControl({ settings, events, timers, log });
  const meters = new Meters(stoppedTimers);
  const usage = { heapUsed: () => 1, residentBytes: () => 2, processorMicroseconds: () => 3 };
  const internalErrors: unknown[] = [];
  const metrics = new Metrics({ meters, databases, events, clock, usage });
  const profiler = new Profiler({
    meter: meter?.() ?? new StatementMeter(clock),
    files: new ProfilerFiles(join(directory, 'profiler'), clock),
    runtime: systemRuntime,
    snapshot: () => metrics.snapshot(),
    report: (message) => events.report('ERROR', 'Server', message),
  });
  const tls = await openTls(settings, audit);
  const withoutCluster = {
    ...security,
    tls,
    settings,
    databases,
    control,
    events,
    meters,
    metrics,
    profiler,
    ...noOperations,
    runtime: systemRuntime,
    log,
    version: '26.10.1',
    memory: requestMemory(settings, undefined),
    telemetry: parsePlugins(settings.get(serverPlugins)).length > 0 ? new Telemetry() : undefined,
    onInternalError: (error: unknown) => void internalErrors.push(error),
  };
  const cluster = await openCluster?.({ ...withoutCluster, scripted });
  const parts: DoorDependencies = { ...withoutCluster, cluster };
  const server = new HttpServer(parts, mounted);
  mount?.(parts, server);
  const port = await server.listen();
  checker ??= checkerOf(server);
  control.started(() => databases.isRecovered());
  context.after(async () => {
    cluster?.close();
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    port,
    databases: scripted,
    settings,
    users: security.users,
    tokens: security.tokens,
    apiTokens: security.apiTokens,
    groups: security.groups,
    control,
    events,
    server,
    tls,
    internalErrors,
    logged,
    ask: (method, path, asked) => ask(port, method, path, asked),
    raw: (bytes) => raw(port, typeof bytes === 'string' ? [bytes] : bytes),
    open: () => openSocket(port),
  };
}

function recordingLog(lines: LoggedLine[]): Log {
  const writer =
    (level: LoggedLine['level']) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  };
}

/** Operations on whole databases are tested with a server of its own. */
const noOperations = {
  operations: {} as ServerOperations,
  backups: {} as BackupControl,
};

const onLoopback = {
  'server.httpIncomingPort': '0',
  'server.httpsIncomingPort': '0',
  'server.httpAuthSessionMax': '3',
  'server.httpIncomingHost': '127.0.0.1',
};

async function openTls(settings: Settings, audit: Audit): Promise<TlsCredentials | undefined> {
  const path = settings.get(sslKeyStore);
  if (path === '') return undefined;
  const store = { path, password: settings.get(sslKeyStorePassword), setting: sslKeyStore.key };
  const tls = new TlsCredentials({
    store,
    audit,
    clock: systemRuntime.clock,
    timers: stoppedTimers,
  });
  await tls.load();
  return tls;
}

/** Users root and jay (reader of school), both with the password `password`. */
async function makeSecurity(directory: string, audit: Audit, settings: Settings) {
  const { clock, random } = systemRuntime;
  const derivation = quickDerivation;
  const iterations = () => 1;
  const timers = stoppedTimers;
  const configDirectory = directory;
  const users = new Users({ configDirectory, derivation, random, timers, audit, iterations });
  const groups = new Groups({ configDirectory, timers, audit });
  await groups.load();
  const apiTokens = new ApiTokens({
    configDirectory,
    timers,
    clock,
    random,
    audit,
    countMax: () => 20,
  });
  await users.create('root', { password: 'password', databases: new Map([['*', ['admin']]]) });
  await users.create('jay', { password: 'password', databases: new Map([['school', ['reader']]]) });
  const tokens = new TokenSessions({
    serverName: 'Service_0',
    users,
    clock,
    random,
    audit,
    limits: {
      idleMs: () => settings.get(serverHttpAuthSessionExpireTimeout) * 1000,
      absoluteMs: () => 0,
      perUserMax: () => settings.get(serverHttpAuthSessionMaxPerUser),
      countMax: () => settings.get(serverHttpAuthSessionMax),
    },
  });
  const authenticator = new Authenticator({
    users,
    tokens,
    apiTokens,
    attempts: new LoginAttempts(clock, { failuresMax: () => 5, windowMs: () => 30_000 }),
    derivation,
    random,
    audit,
    cacheSize: () => 64,
    iterations,
  });
  const authorizer = new GroupAuthorizer(users, groups, apiTokens);
  return { users, groups, tokens, apiTokens, authenticator, authorizer };
}

function ask(port: number, method: string, path: string, asked: Asked = {}): Promise<Answer> {
  const { body, headers = {}, user = 'root' } = asked;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const bytes =
    body === undefined ? undefined : Buffer.from(isRaw ? (body as string) : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path: path.startsWith('/') ? path : `/api/v1/${path}`,
        agent: false,
        headers: {
          ...(user === null ? undefined : { authorization: basic(user) }),
          ...(bytes === undefined ? undefined : { 'content-length': String(bytes.length) }),
          ...headers,
        },
      },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () => {
          const all = Buffer.concat(pieces);
          const received = answerOf(answer.statusCode ?? 0, answer.headers, all);
          const problems = undocumented(method, sent.path, received);
          if (problems.length === 0) resolve(received);
          else
            reject(
              new Error(
                `not as documented: ${problems.join('; ')} in ${received.text.slice(0, 300)}`,
              ),
            );
        });
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
  });
}

let checker: OpenApiChecker | undefined;

/** Of the routes that every door has; what a test puts upon one it looks at itself. */
function checkerOf({ routes }: HttpServer): OpenApiChecker {
  const own = routes.filter(({ path }) => !path.startsWith('/mcp'));
  return new OpenApiChecker(openApiDocument(own, '0.0.0'));
}

/** How an answer differs from what the OpenAPI document says of its operation. */
function undocumented(method: string, path: string, answer: Answer): readonly string[] {
  const operation = checker?.find(method, path);
  if (
    checker === undefined ||
    operation === undefined ||
    answer.headers['content-encoding'] !== undefined
  )
    return [];
  const { status, text } = answer;
  return checker.problems(operation, { status, contentType: answer.headers['content-type'], text });
}

function answerOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  const isJson = headers['content-type'] === 'application/json' && !headers['content-encoding'];
  const body = isJson && text !== '' ? JSON.parse(text) : undefined;
  return { status, headers, text, bytes, body };
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

async function raw(port: number, pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = await openSocket(port);
  let received = '';
  return await new Promise((resolve) => {
    socket.on('data', (piece) => {
      received += piece.toString('latin1');
    });
    socket.on('error', () => resolve(received));
    socket.on('close', () => resolve(received));
    for (const piece of pieces) socket.write(piece);
  });
}
