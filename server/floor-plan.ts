import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { AutoBackup } from '#backup/plugin.ts';
import type { OperationPaths } from '#database/operations/server-operations.ts';
import type { Settings } from '#config/effective-settings.ts';
import { serverPaths } from '#config/server-paths.ts';
import type { ServerPaths } from '#config/server-paths.ts';
import {
  haEnabled,
  serverApiTokenMax,
  serverDefaultDatabases,
  serverHttpAuthSessionAbsoluteTimeout,
  serverHttpAuthSessionExpireTimeout,
  serverHttpAuthSessionMax,
  serverHttpAuthSessionMaxPerUser,
  serverHttpIncomingHost,
  serverHttpIncomingPort,
  serverHttpsIncomingPort,
  serverLogFormat,
  serverLogLevel,
  serverName,
  serverPlugins,
  serverReloadEvery,
  serverRootPasswordPath,
  serverSaltIterations,
  serverSecurityHashQueueSize,
  serverSecurityLockoutAttempts,
  serverSecurityLockoutTime,
  serverSecuritySaltCacheSize,
  sslEnabled,
  sslKeyStore,
  sslKeyStorePassword,
  sslTrustStore,
  sslTrustStorePassword,
} from '#config/server-settings.ts';
import { maxNameLength } from '#config/settings.ts';
import { loadSettings } from '#config/sources.ts';
import { createDefaultDatabases } from '#control/default-databases.ts';
import { ServerEvents } from '#control/event-log.ts';
import { Meters } from '#control/meters.ts';
import { Metrics } from '#control/metrics.ts';
import { isPluginOn, parsePlugins, unavailability } from '#control/plugins.ts';
import { processFamilies } from '#control/process-families.ts';
import { Profiler } from '#control/profiler.ts';
import { ProfilerFiles } from '#control/profiler-files.ts';
import { ServerControl } from '#control/server-control.ts';
import { serverTelemetry } from '#control/server-telemetry.ts';
import { gauge, Telemetry } from '#control/telemetry.ts';
import { AssertionFailure } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { makeDatabases, type ServerDatabases } from '#database/catalogue/make-databases.ts';
import type { ContainerMemory } from '#database/bounds/memory-accounts.ts';
import { HttpServer } from '#http/connection/server.ts';
import type { MountedRoutes } from '#http/routes/route.ts';
import { languageFrontends } from '#language/front-ends.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { containerLimitBytes, ownMemoryBytes } from '#platform/container-memory.ts';
import { WorkerKeyDerivation } from '#platform/key-derivation.ts';
import { LogSink } from '#platform/log-sink.ts';
import { createLog } from '#platform/pino-log.ts';
import { giveStartupMemoryBack } from '#platform/startup-memory.ts';
import { ProcessTelemetry } from '#platform/process-telemetry.ts';
import { ProcessLock } from '#platform/process-lock.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { Audit } from '#security/audit.ts';
import { ApiTokens } from '#security/api-tokens.ts';
import { Authenticator } from '#security/authenticator.ts';
import { GroupAuthorizer } from '#security/authorizer.ts';
import { ensureRoot } from '#security/first-start.ts';
import { Groups } from '#security/groups.ts';
import { LoginAttempts } from '#security/login-attempts.ts';
import { TokenSessions } from '#security/token-sessions.ts';
import type { TlsCredentials } from '#security/tls-credentials.ts';
import { Users } from '#security/users.ts';
import type { RedisServer, RedisServerOptions } from '#resp/server.ts';
import { SocketServer } from '#websocket/socket-server.ts';

/*
 * The floor plan: settings, storage directories, security, databases, control, doors. The only place where implementations
 * are chosen and handed to those who need them.
 */

const internalErrorCode = 70;
/** How long WebSocket clients may take to answer that the server stops. */
const closeTimeoutMs = 2000;

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** What every part of the server stands on. */
interface Ground {
  readonly settings: Settings;
  readonly paths: ServerPaths;
  readonly log: Log;
  readonly events: ServerEvents;
}

interface Security {
  readonly users: Users;
  readonly groups: Groups;
  readonly authorizer: GroupAuthorizer;
  readonly authenticator: Authenticator;
  readonly tokens: TokenSessions;
  readonly apiTokens: ApiTokens;
  readonly derivation: WorkerKeyDerivation;
  readonly tls: TlsCredentials | undefined;
}

/**
 * Starts the server and resolves when it is online.
 * @throws DatabaseError `InvalidSetting` for everything that a person must set right before it can start
 */
export async function startServer(commandLine: readonly string[]): Promise<void> {
  const { settings, switches, warnings } = readSettings(commandLine);
  refuseUnknown(switches);
  refuseUnavailable(settings);
  const ground = prepareGround(settings);
  for (const warning of warnings) ground.events.report('WARNING', 'Server', warning);
  const security = await openSecurity(ground, switches.includes('--prompt-password'));
  await serve(ground, security);
}

function readSettings(commandLine: readonly string[]) {
  const readFile = (rootPath: string) => {
    const path = join(resolve(rootPath), 'config', 'service.json');
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  };
  return loadSettings({
    commandLine,
    environment: process.env,
    readFile,
  });
}

/** Directories, the lock on them, the log and the event log. */
function prepareGround(settings: Settings): Ground {
  const paths = serverPaths(settings);
  for (const path of [paths.config, paths.databases, paths.backups]) makeDirectory(path);
  const lock = ProcessLock.acquire(join(paths.databases, '.server.lock'));
  process.on('exit', () => lock.release());
  const sink = new LogSink(paths.logs, (line) => process.stdout.write(line));
  const { clock } = systemRuntime;
  const log = createLog({
    format: settings.get(serverLogFormat),
    level: settings.get(serverLogLevel),
    sink,
    clock,
  });
  settings.onChange(() => log.setLevel(settings.get(serverLogLevel)));
  const events = new ServerEvents({ directory: paths.logs, settings, clock, log });
  process.stdout.on('error', () => {});
  endOnUncaught(log);
  return { settings, paths, log, events };
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o750 });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError('InvalidSetting', `directory '${path}' cannot be made: ${reason}`);
  }
}

async function openSecurity(ground: Ground, mayPrompt: boolean): Promise<Security> {
  const { settings, paths, events } = ground;
  const { random, timers, clock } = systemRuntime;
  const audit: Audit = {
    report: (type, message, requestId) => events.report(type, 'Security', message, null, requestId),
  };
  const derivation = new WorkerKeyDerivation({
    queueLengthMax: () => settings.get(serverSecurityHashQueueSize),
    timers,
  });
  const iterations = () => settings.get(serverSaltIterations);
  const configDirectory = paths.config;
  const nameLengthMax = () => settings.get(maxNameLength);
  const common = { configDirectory, timers, audit, nameLengthMax };
  const users = new Users({ ...common, derivation, random, iterations });
  const groups = new Groups({ configDirectory, timers, audit });
  const apiTokens = new ApiTokens({
    ...common,
    clock,
    random,
    countMax: () => settings.get(serverApiTokenMax),
  });
  await users.load();
  await groups.load();
  await apiTokens.load();
  await makeRoot(ground, users, mayPrompt);
  users.watch(settings.get(serverReloadEvery));
  groups.watch(settings.get(serverReloadEvery));
  apiTokens.watch(settings.get(serverReloadEvery));
  const tokens = openTokens(settings, users, audit);
  const attempts = new LoginAttempts(clock, {
    failuresMax: () => settings.get(serverSecurityLockoutAttempts),
    windowMs: () => settings.get(serverSecurityLockoutTime) * 1000,
  });
  const authenticator = new Authenticator({
    users,
    tokens,
    apiTokens,
    attempts,
    derivation,
    random,
    audit,
    cacheSize: () => settings.get(serverSecuritySaltCacheSize),
    iterations,
  });
  const authorizer = new GroupAuthorizer(users, groups, apiTokens);
  const tls = await openTls(settings, audit);
  return { users, groups, authorizer, authenticator, tokens, apiTokens, derivation, tls };
}

/** The certificate of the HTTPS door (contract 3, TLS). @throws DatabaseError `InvalidSetting` */
async function openTls(settings: Settings, audit: Audit): Promise<TlsCredentials | undefined> {
  if (!settings.get(sslEnabled)) return undefined;
  requireTlsSettings(settings);
  // Only here, because a server without TLS need not hold the code.
  const { TlsCredentials: Credentials } = await import('#security/tls-credentials.ts');
  const { readTrustedCertificates } = await import('#platform/tls-store.ts');
  const { clock, timers } = systemRuntime;
  const path = settings.get(sslKeyStore);
  const password = settings.get(sslKeyStorePassword);
  const store = { path, password, setting: sslKeyStore.key };
  const tls = new Credentials({ store, audit, clock, timers });
  await tls.load();
  if (settings.get(sslTrustStore) !== '')
    await readTrustedCertificates({
      path: settings.get(sslTrustStore),
      password: settings.get(sslTrustStorePassword),
      setting: sslTrustStore.key,
    });
  tls.watch(settings.get(serverReloadEvery));
  return tls;
}

function requireTlsSettings(settings: Settings): void {
  if (settings.get(sslKeyStore) === '')
    throw new DatabaseError(
      'InvalidSetting',
      `${sslEnabled.key}=true needs ${sslKeyStore.key}, the file with the private key and its certificates`,
    );
  const plain = settings.get(serverHttpIncomingPort);
  const secure = settings.get(serverHttpsIncomingPort);
  const isSamePort = plain.first === plain.last && plain.first === secure.first;
  if (isSamePort && plain.first !== 0 && secure.first === secure.last)
    throw new DatabaseError(
      'InvalidSetting',
      `${serverHttpsIncomingPort.key} and ${serverHttpIncomingPort.key} are both ${plain.first}; HTTPS needs a port of its own`,
    );
}

function openTokens(settings: Settings, users: Users, audit: Audit): TokenSessions {
  const { clock, random } = systemRuntime;
  return new TokenSessions({
    serverName: settings.get(serverName),
    users,
    clock,
    random,
    audit,
    limits: {
      idleMs: () => settings.get(serverHttpAuthSessionExpireTimeout) * 1000,
      absoluteMs: () => settings.get(serverHttpAuthSessionAbsoluteTimeout) * 1000,
      perUserMax: () => settings.get(serverHttpAuthSessionMaxPerUser),
      countMax: () => settings.get(serverHttpAuthSessionMax),
    },
  });
}

async function makeRoot(ground: Ground, users: Users, mayPrompt: boolean): Promise<void> {
  const { settings, paths } = ground;
  const prompt = async () => {
    const { promptPassword } = await import('#platform/prompt.ts');
    console.log('First start: user root has no password yet. Press Enter to have one made.');
    return promptPassword('Password of root: ');
  };
  const generated = await ensureRoot({
    users,
    settings,
    configDirectory: paths.config,
    random: systemRuntime.random,
    ...(mayPrompt ? { prompt } : undefined),
  });
  if (generated !== undefined) madeUpPassword = generated;
}

/** Shown once, when the port is known. */
let madeUpPassword: string | undefined;

/** What bounds the memory of statements (limits.md 33). */
function processMemory(): { heapBytesMax: number; container: ContainerMemory | undefined } {
  const limitBytes = containerLimitBytes();
  const container =
    limitBytes === undefined ? limitBytes : { limitBytes, usedBytes: ownMemoryBytes };
  return { heapBytesMax: getHeapStatistics().heap_size_limit, container };
}

function databasesOn({ settings, log, events, paths }: Ground, security: Security) {
  return makeDatabases({
    paths: operationPaths(paths, settings),
    audit: (message, database) => events.report('INFO', 'Security', message, database),
    unopenable: (reason, database) => events.report('CRITICAL', 'Database', reason, database),
    directory: paths.databases,
    settings,
    runtime: systemRuntime,
    log,
    authorizer: security.authorizer,
    languages: new LanguageRegistry(languageFrontends),
    serverVersion: version,
    ...processMemory(),
  });
}

const usage = {
  heapUsed: () => process.memoryUsage().heapUsed,
  residentBytes: () => process.memoryUsage.rss(),
  processorMicroseconds: () => process.cpuUsage().user + process.cpuUsage().system,
};

/** Databases, control and doors; the server is online when this resolves. */
async function serve(ground: Ground, security: Security): Promise<void> {
  const { settings, log, events, paths } = ground;
  const { users, apiTokens } = security;
  const { clock, timers } = systemRuntime;
  const { databases, meter, operations, store } = databasesOn(ground, security);
  const backups = new AutoBackup({
    configDirectory: paths.config,
    rootPath: paths.root,
    settingDirectory: paths.backups,
    serverName: settings.get(serverName),
    operations,
    databases,
    events,
    runtime: systemRuntime,
    log,
  });
  users.onRevoked((name) => databases.endSessionsOfUser(name));
  apiTokens.onRevoked((name) => databases.endSessionsOfUser(name));
  const meters = new Meters(timers);
  const metrics = new Metrics({ meters, databases, events, clock, usage });
  const control = new ServerControl({ settings, events, timers, log });
  const profiler = new Profiler({
    meter,
    files: new ProfilerFiles(join(paths.root, 'profiler'), clock),
    runtime: systemRuntime,
    snapshot: () => metrics.snapshot(),
    report: (message) => events.report('ERROR', 'Server', message),
  });
  reportPlugins(ground);
  const telemetry = startTelemetry(ground, { databases, meter });
  const shared = { operations, backups, runtime: systemRuntime };
  const parts = { ...security, ...shared, settings, databases, log };
  const sockets = new SocketServer(parts);
  const redis = await makeRedis(ground, { ...parts, store });
  const http = new HttpServer({
    ...parts,
    mounted: await openTools(ground),
    control,
    events,
    meters,
    metrics,
    profiler,
    telemetry,
    version,
    onInternalError: (error) => endOnBrokenState(error, log),
  });
  telemetry?.add(() => [
    gauge('websocket_clients', 'Open WebSocket connections', sockets.connectionCount),
    gauge('transient_keys', 'Transient keys of the key-value protocol', store.keyCount),
    gauge('transient_key_bytes', 'Memory of the transient keys', store.usedBytes),
    ...(redis ? [gauge('redis_clients', 'Connections to redis', redis.connectionCount)] : []),
  ]);
  http.mountUpgrade('/ws', (upgrade) => sockets.accept(upgrade));
  control.stopsBy([
    {
      name: 'requests',
      run: (timeoutMs) =>
        Promise.all([
          sockets.close(closeTimeoutMs),
          redis?.close(timeoutMs),
          http.drain(timeoutMs),
        ]),
    },
    { name: 'backups', run: () => backups.close() },
    { name: 'databases', run: () => databases.shutdown() },
    { name: 'doors', run: () => http.close() },
    { name: 'security', run: () => closeSecurity(security) },
    { name: 'process', run: async () => endNow(log) },
  ]);
  stopOnSignals(control);
  const port = await http.listen();
  await databases.start();
  await backups.start(settings.get(serverReloadEvery));
  const targets = { databases, users, events, operations };
  await createDefaultDatabases(settings.get(serverDefaultDatabases), targets);
  meters.start(() => metrics.refresh());
  // Stops everything for some 50 ms, which nobody should meet after `/ready` has answered.
  giveStartupMemoryBack();
  const redisPort = await redis?.listen();
  control.started(() => databases.isRecovered());
  printWelcome(ground, port, http.securePort);
  if (redisPort !== undefined) console.log(`Plugin redis listens on port ${redisPort}`);
}

/** The wire of the key-value protocol; undefined without plugin `redis`, whose code is then not loaded. */
async function makeRedis(
  { settings, log }: Ground,
  parts: Omit<RedisServerOptions, 'onInternalError'>,
): Promise<RedisServer | undefined> {
  if (!isPluginOn(settings, 'redis')) return undefined;
  const { RedisServer: Server } = await import('#resp/server.ts');
  const onInternalError = (error: unknown) => {
    log.error(`redis: ${error instanceof Error ? error.stack : String(error)}`);
    endOnBrokenState(error, log);
  };
  return new Server({ ...parts, onInternalError });
}

/**
 * The tool server, when it is a part of this distribution (contract 2): a server without the folder answers 404 on its paths.
 * A broken configuration disables it.
 */
async function openTools({ paths, events }: Ground): Promise<MountedRoutes | undefined> {
  if (!existsSync(join(import.meta.dirname, 'mcp', 'http-routes.ts'))) return undefined;
  const { mcpDoor } = await import('#mcp/http-routes.ts');
  const { ConfigurationFile } = await import('#mcp/policy/configuration-file.ts');
  const configuration = new ConfigurationFile(paths.config, { isAlwaysEnabled: false });
  const problem = await configuration.load();
  if (problem !== undefined) events.report('CRITICAL', 'Server', problem);
  return mcpDoor(configuration);
}

/** A plugin that cannot be started is reported, and the start goes on (http-api.md 21.4). */
function reportPlugins({ settings, events }: Ground): void {
  for (const { name } of parsePlugins(settings.get(serverPlugins))) {
    const reason = unavailability(name);
    if (reason !== undefined)
      events.report('CRITICAL', 'Server', `Plugin '${name}' is ${reason}; it was not started`);
  }
}

/** What scrapes see; undefined without plugin `prometheus`. */
function startTelemetry(
  { settings, events }: Ground,
  { databases, meter }: Pick<ServerDatabases, 'databases' | 'meter'>,
): Telemetry | undefined {
  if (!isPluginOn(settings, 'prometheus')) return undefined;
  const telemetry = new Telemetry();
  const ofProcess = new ProcessTelemetry();
  telemetry.add(
    serverTelemetry({
      version,
      serverName: settings.get(serverName),
      databases,
      meter,
      events: events.counts,
    }),
  );
  telemetry.add(() => processFamilies(ofProcess.read()));
  return telemetry;
}

async function closeSecurity(security: Security): Promise<void> {
  const { users, groups, apiTokens, tls, derivation } = security;
  users.close();
  groups.close();
  apiTokens.close();
  tls?.close();
  await derivation.close();
}

/** Nothing is imported from where the server keeps users, settings and data, nor from the files of its secrets. */
function operationPaths(paths: ServerPaths, settings: Settings): OperationPaths {
  const { root, databases, backups, config } = paths;
  return {
    root,
    databases,
    backups,
    exports: join(root, 'exports'),
    closed: [config, databases, ...secretFiles(settings)],
  };
}

function secretFiles(settings: Settings): readonly string[] {
  return [serverRootPasswordPath, sslKeyStore, sslTrustStore]
    .map((setting) => settings.get(setting))
    .filter((path) => path !== '')
    .map((path) => resolve(path));
}

/** The last line of the log says that the stop was complete. */
function endNow(log: Log): never {
  log.info('Server stopped', { uptimeSeconds: Math.floor(process.uptime()) });
  process.exit(0);
}

function printWelcome(
  { settings, paths, log }: Ground,
  port: number,
  securePort: number | undefined,
): void {
  const host = settings.get(serverHttpIncomingHost);
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `http://${reached}:${port}`;
  const secureUrl = securePort === undefined ? '' : ` and https://${reached}:${securePort}`;
  const kept = join(paths.config, 'root-password');
  if (settings.get(serverLogFormat) === 'json') {
    // Nothing but lines of JSON; the password would stay in whatever gathers them.
    log.info(`Polyad ${version} is ready on ${url}${secureUrl}`);
    if (madeUpPassword !== undefined)
      log.warn('First start: a password was made for user root', { keptIn: kept });
    madeUpPassword = undefined;
    return;
  }
  console.log(`Polyad ${version} is ready on ${url}${secureUrl}`);
  if (madeUpPassword === undefined) {
    if (existsSync(kept)) console.log(`Log in as root with the password in ${kept}`);
    return;
  }
  const rule = '='.repeat(78);
  const lines = [
    rule,
    '  First start: a password was made for user root. It is shown this once.',
    '',
    '    user      root',
    `    password  ${madeUpPassword}`,
    '',
    `  It is kept in ${kept}`,
    '  until it is changed. Try:',
    '',
    `curl -u root:${madeUpPassword} ${url}/api/v1/server -d '{"command":"create database school"}'`,
    rule,
  ];
  console.log(lines.join('\n'));
  madeUpPassword = undefined;
}

function stopOnSignals(control: ServerControl): void {
  let interrupts = 0;
  process.removeAllListeners('SIGTERM');
  process.on('SIGTERM', () => void control.stop('signal SIGTERM'));
  process.on('SIGINT', () => {
    interrupts += 1;
    // Whoever presses Ctrl-C twice does not want to wait for running requests.
    if (interrupts > 1) process.exit(130);
    void control.stop('signal SIGINT');
  });
}

/** Errors that nobody caught leave state in doubt (security.md 9.9). */
function endOnUncaught(log: Log): void {
  const end = (error: unknown) => {
    log.error(`uncaught: ${error instanceof Error ? error.stack : String(error)}`);
    process.exit(internalErrorCode);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

/** A failed claim of storage or transaction ends the process: what it holds in memory may be wrong. */
function endOnBrokenState(error: unknown, log: Log): void {
  if (!(error instanceof AssertionFailure)) return;
  const frames = (error.stack ?? '').split('\n').slice(1);
  const origin = frames.find((frame) => !frame.includes('/core/assert.ts')) ?? '';
  if (!/\/server\/(storage|transaction)\//.test(origin)) return;
  log.error('the process ends, its state is in doubt');
  process.exit(internalErrorCode);
}

function refuseUnknown(switches: readonly string[]): void {
  const known = ['--prompt-password'];
  for (const given of switches)
    if (!known.includes(given))
      throw new DatabaseError(
        'InvalidSetting',
        `unknown argument '${given}'; known are --version [--json], --prompt-password and settings such as --service.server.httpIncomingPort=2480`,
      );
}

/** Settings that ask for what this version does not have must not be ignored. */
function refuseUnavailable(settings: Settings): void {
  if (settings.get(haEnabled))
    throw new DatabaseError(
      'InvalidSetting',
      `${haEnabled.key}=true is not available in this version`,
    );
}
