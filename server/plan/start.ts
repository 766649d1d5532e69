import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { AutoBackup } from '#backup/plugin.ts';
import type { Settings } from '#config/effective-settings.ts';
import {
  haEnabled,
  serverDefaultDatabases,
  serverName,
  serverReloadEvery,
  serverRootPassword,
} from '#config/server-settings.ts';
import { createDefaultDatabases } from '#control/default-databases.ts';
import { Meters } from '#control/meters.ts';
import { Metrics } from '#control/metrics.ts';
import { ProfilerFiles } from '#control/profiler-files.ts';
import { Profiler } from '#control/profiler.ts';
import { ServerControl } from '#control/server-control.ts';
import { DatabaseError } from '#core/errors.ts';
import { HttpServer } from '#http/connection/server.ts';
import { giveStartupMemoryBack } from '#platform/startup-memory.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { SocketServer } from '#websocket/socket-server.ts';
import { databasesOn, processMemory, version } from './databases.ts';
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
  refuseUnavailable(settings);
  if (protocolOutput !== undefined && settings.get(serverRootPassword) === '')
    throw new DatabaseError(
      'InvalidSetting',
      `${serverRootPassword.key} must be set: over standard input the tool server works as root`,
    );
  const ground = prepareGround(settings);
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
  const tools = await openTools(ground, protocolOutput !== undefined);
  const onInternalError = (error: unknown) => endOnBrokenState(error, log);
  const toolSurroundings = { ...parts, events, profiler, version, onInternalError };
  const http = new HttpServer({
    ...toolSurroundings,
    mounted: tools?.routes,
    container: processMemory().container,
    control,
    meters,
    metrics,
    telemetry,
  });
  addDoorGauges(telemetry, { sockets, store, redis });
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
  if (protocolOutput !== undefined) await requireRootPassword(ground, security);
  const port = await listenIfFree(http, protocolOutput !== undefined);
  await databases.start();
  await backups.start(settings.get(serverReloadEvery));
  const targets = { databases, users, events, operations };
  await createDefaultDatabases(settings.get(serverDefaultDatabases), targets);
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

function refuseUnknown(switches: readonly string[]): void {
  const known = ['--prompt-password', '--mcp-stdio'];
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
