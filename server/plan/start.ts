import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { AutoBackup } from '#backup/plugin.ts';
import {
  haEnabled,
  serverDefaultDatabases,
  serverHttpIncomingPort,
  serverName,
  serverReloadEvery,
  serverRootPassword,
} from '#config/server-settings.ts';
import { createDefaultDatabases } from '#control/default-databases.ts';
import { Meters } from '#control/meters.ts';
import { Metrics } from '#control/metrics.ts';
import { ProfilerFiles } from '#control/profiler-files.ts';
import { Profiler } from '#control/profiler.ts';
import { ServerControl, type StopStep } from '#control/server-control.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { DatabasesPort } from '#database/session.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import { requestMemory } from '#http/connection/request-memory.ts';
import { HttpServer } from '#http/connection/server.ts';
import { giveStartupMemoryBack } from '#platform/startup-memory.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { RedisServer } from '#resp/server.ts';
import { SocketServer } from '#websocket/socket-server.ts';
import type { ClusterPlan } from './cluster.ts';
import { databasesOn, processMemory } from './databases.ts';
import { version } from './version.ts';
import { endNow, stopOnSignals } from './ending.ts';
import { type Ground, endOnBrokenState, prepareGround, readSettings } from './ground.ts';
import {
  addDoorGauges,
  listenToRedis,
  makeRedis,
  reportPlugins,
  startTelemetry,
} from './plugins.ts';
import { type Security, closeSecurity, openSecurity, requireRootPassword } from './security.ts';
import { listenIfFree, openTools, serveStandardInput } from './tools.ts';
import { printWelcome } from './welcome.ts';

/** How long WebSocket clients may take to answer that the server stops. */
/*
 * The floor plan: settings, storage directories, security, databases, control, doors.
 */

const closeTimeoutMs = 2000;

/**
 * Starts the server and resolves when it is online.
 * @throws DatabaseError `InvalidSetting` for everything that a person must set right before it can start
 */
export async function startServer(
  commandLine: readonly string[],
  protocolOutput: Writable | undefined,
): Promise<void> {
  const { settings, switches, warnings } = readSettings(commandLine);
  refuseUnknown(switches);
  if (protocolOutput !== undefined && settings.get(serverRootPassword) === '')
    throw new DatabaseError(
      'InvalidSetting',
      `${serverRootPassword.key} must be set: over standard input the tool server works as root`,
    );
  const ground = await prepareGround(settings);
  for (const warning of warnings) ground.events.report('WARNING', 'Server', warning);
  const security = await openSecurity(ground, switches.includes('--prompt-password'));
  await serve(ground, security, protocolOutput);
}

const usage = {
  heapUsed: () => process.memoryUsage().heapUsed,
  residentBytes: () => process.memoryUsage.rss(),
  processorMicroseconds: () => process.cpuUsage().user + process.cpuUsage().system,
};

/** Databases, control and doors; the server is online when this resolves. */
async function serve(
  ground: Ground,
  security: Security,
  protocolOutput: Writable | undefined,
): Promise<void> {
  const { settings, log, events, paths } = ground;
  const { clock, timers } = systemRuntime;
  const plan = await planCluster(ground, security);
  const made = databasesOn(ground, security, plan?.hooks);
  const { databases, meter, operations, store } = made;
  const backups = new AutoBackup({
    configDirectory: paths.config,
    rootPath: paths.root,
    settingDirectory: paths.backups,
    serverName: settings.get(serverName),
    leads: () => plan?.leads ?? true,
    operations,
    databases,
    events,
    runtime: systemRuntime,
    log,
  });
  const { users } = security;
  endSessionsWithTheirUsers(security, databases);
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
  const ports = { http: settings.get(serverHttpIncomingPort).first, https: undefined };
  const listening: { http?: number; https?: number } = {};
  const cluster = await plan?.open(made, () => ({ ...ports, ...listening }));
  const { container } = processMemory();
  const memory = requestMemory(settings, container);
  const parts = { ...security, ...shared, settings, databases, log, cluster, memory };
  const sockets = new SocketServer(parts);
  const redis = await makeRedis(ground, { ...parts, store });
  const tools = await openTools(ground, protocolOutput !== undefined);
  const onInternalError = (error: unknown) => endOnBrokenState(error, log);
  const toolSurroundings = { ...parts, events, profiler, version, onInternalError };
  const inside = { control, meters, metrics, telemetry };
  const http = new HttpServer({ ...toolSurroundings, ...inside }, tools?.routes);
  addDoorGauges(telemetry, { sockets, store, redis });
  http.mountUpgrade('/ws', (upgrade) => sockets.accept(upgrade));
  const stopping = { sockets, redis, http, backups, databases, security, log };
  control.stopsBy(stopSteps(stopping, cluster && plan?.steps(cluster)));
  stopOnSignals(control);
  if (protocolOutput !== undefined) await requireRootPassword(ground, security);
  const port = await listenIfFree(http, protocolOutput !== undefined);
  Object.assign(listening, portsOf(port, http.securePort));
  await databases.start();
  await backups.start(settings.get(serverReloadEvery));
  const targets = { databases, users, events, operations };
  const createDefaults = (text: string) => createDefaultDatabases(text, targets);
  if (plan === undefined) await createDefaults(settings.get(serverDefaultDatabases));
  else await plan.begin(createDefaults);
  meters.start(() => metrics.refresh());
  // Stops everything for some 50 ms, which nobody should meet after `/ready` has answered.
  giveStartupMemoryBack();
  const redisPort = await listenToRedis(redis, events);
  control.started(() => databases.isRecovered());
  if (port !== undefined) printWelcome(ground, port, http.securePort);
  if (redisPort !== undefined) console.log(`Plugin redis listens on port ${redisPort}`);
  if (protocolOutput === undefined) return;
  await serveStandardInput(toolSurroundings, tools, protocolOutput);
  await control.stop('end of standard input');
}

function endSessionsWithTheirUsers({ users, apiTokens }: Security, databases: Databases): void {
  users.onRevoked((name) => databases.endSessionsOfUser(name));
  apiTokens.onRevoked((name) => databases.endSessionsOfUser(name));
}

/** What a stop does, in order (limits.md 19, ha.md 12.4). */
function stopSteps(
  parts: {
    readonly sockets: SocketServer;
    readonly redis: RedisServer | undefined;
    readonly http: HttpServer;
    readonly backups: AutoBackup;
    readonly databases: DatabasesPort;
    readonly security: Security;
    readonly log: Log;
  },
  ofCluster: { readonly first: StopStep; readonly last: StopStep } | undefined,
): readonly StopStep[] {
  const { sockets, redis, http, backups, databases, security, log } = parts;
  return [
    ...(ofCluster ? [ofCluster.first] : []),
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
    ...(ofCluster ? [ofCluster.last] : []),
    { name: 'databases', run: () => databases.shutdown() },
    { name: 'doors', run: () => http.close() },
    { name: 'security', run: () => closeSecurity(security) },
    { name: 'process', run: async () => endNow(log) },
  ];
}

function refuseUnknown(switches: readonly string[]): void {
  const known = ['--prompt-password', '--mcp-stdio'];
  for (const given of switches)
    if (!known.includes(given))
      throw new DatabaseError(
        'InvalidSetting',
        `unknown argument '${given}'; known are --version [--json], --prompt-password and settings such as --service.server.httpIncomingPort=2480`,
      );
}

/** Undefined without `service.ha.enabled=true`: nothing of a cluster is loaded then. */
async function planCluster(ground: Ground, security: Security): Promise<ClusterPlan | undefined> {
  if (!ground.settings.get(haEnabled)) return undefined;
  const { ClusterPlan: Plan } = await import('./cluster.ts');
  return Plan.prepare(ground, security);
}

function portsOf(http: number | undefined, https: number | undefined) {
  return { ...(http && { http }), ...(https && { https }) };
}
