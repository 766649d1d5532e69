import { serverName, serverPlugins } from '#config/server-settings.ts';
import { isPluginOn, parsePlugins, unavailability } from '#control/plugins.ts';
import { processFamilies } from '#control/process-families.ts';
import { serverTelemetry } from '#control/server-telemetry.ts';
import { gauge, Telemetry } from '#control/telemetry.ts';
import { DatabaseError } from '#core/errors.ts';
import type { KeyValueStore } from '#database/key-value/key-value-store.ts';
import type { SocketServer } from '#websocket/socket-server.ts';
import type { ServerDatabases } from '#database/catalogue/make-databases.ts';
import { ProcessTelemetry } from '#platform/process-telemetry.ts';
import type { RedisServer, RedisServerOptions } from '#resp/server.ts';
import { version } from './version.ts';
import { type Ground, endOnBrokenState } from './ground.ts';

/** A plugin that cannot be started is reported, and the start goes on (http-api.md 21.4). */
export function reportPlugins({ settings, events }: Ground): void {
  for (const { name } of parsePlugins(settings.get(serverPlugins))) {
    const reason = unavailability(name);
    if (reason !== undefined)
      events.report('CRITICAL', 'Server', `Plugin '${name}' is ${reason}; it was not started`);
  }
}

/** What scrapes see; undefined without plugin `prometheus`. */
export function startTelemetry(
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

/** The wire of the key-value protocol; undefined without plugin `redis`, whose code is then not loaded. */
export async function makeRedis(
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

/** A port that is taken is a plugin that cannot be started, and no reason to keep the databases from who needs them. */
export async function listenToRedis(
  redis: RedisServer | undefined,
  events: Ground['events'],
): Promise<number | undefined> {
  try {
    return await redis?.listen();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    events.report('CRITICAL', 'Server', `Plugin 'redis' was not started: ${error.message}`);
    return undefined;
  }
}

/** What the doors beside HTTP hold. */
export function addDoorGauges(
  telemetry: Telemetry | undefined,
  doors: {
    readonly sockets: Pick<SocketServer, 'connectionCount'>;
    readonly store: Pick<KeyValueStore, 'keyCount' | 'usedBytes'>;
    readonly redis: Pick<RedisServer, 'connectionCount'> | undefined;
  },
): void {
  const { sockets, store, redis } = doors;
  telemetry?.add(() => [
    gauge('websocket_clients', 'Open WebSocket connections', sockets.connectionCount),
    gauge('transient_keys', 'Transient keys of the key-value protocol', store.keyCount),
    gauge('transient_key_bytes', 'Memory of the transient keys', store.usedBytes),
    ...(redis ? [gauge('redis_clients', 'Connections to redis', redis.connectionCount)] : []),
  ]);
}
