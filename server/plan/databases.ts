import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import type { Settings } from '#config/effective-settings.ts';
import type { ServerPaths } from '#config/server-paths.ts';
import { serverRootPasswordPath, sslKeyStore, sslTrustStore } from '#config/server-settings.ts';
import type { ContainerMemory } from '#database/bounds/memory-accounts.ts';
import { makeDatabases } from '#database/catalogue/make-databases.ts';
import type { UserChanges } from '#database/operations/change-user.ts';
import type { OperationPaths } from '#database/operations/server-operations.ts';
import { languageFrontends } from '#language/front-ends.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { containerLimitBytes, ownMemoryBytes } from '#platform/container-memory.ts';
import { giveMemoryBack } from '#platform/memory-return.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { ClusterHooks } from './cluster.ts';
import type { Ground } from './ground.ts';
import type { Security } from './security.ts';
import { version } from './version.ts';

/** What bounds the memory of statements (limits.md 33). */
export function processMemory(): { heapBytesMax: number; container: ContainerMemory | undefined } {
  const limitBytes = containerLimitBytes();
  const container =
    limitBytes === undefined
      ? limitBytes
      : { limitBytes, usedBytes: ownMemoryBytes, giveBack: giveMemoryBack };
  return { heapBytesMax: getHeapStatistics().heap_size_limit, container };
}

export function databasesOn(
  { settings, log, events, paths }: Ground,
  security: Security,
  hooks: ClusterHooks | undefined,
) {
  return makeDatabases({
    paths: operationPaths(paths, settings),
    audit: (message, database) => events.report('INFO', 'Security', message, database),
    unopenable: (reason, database) => events.report('CRITICAL', 'Database', reason, database),
    directory: paths.databases,
    settings,
    processorCount: availableParallelism(),
    runtime: systemRuntime,
    log,
    authorizer: security.authorizer,
    users: usersOfStatements(security.users, events),
    languages: new LanguageRegistry(languageFrontends),
    serverVersion: version,
    readerScript: new URL('./reader-thread.ts', import.meta.url),
    ...hooks,
    ...processMemory(),
  });
}

/** The users as statements change them: each change is an event, as by the other doors. */
function usersOfStatements(users: Security['users'], events: Ground['events']): UserChanges {
  return {
    get: (name) => users.get(name),
    list: () => users.list(),
    create: (name, given) => users.create(name, given),
    update: (name, change) => users.update(name, change),
    drop: (name) => users.drop(name),
    told: (message) => events.report('INFO', 'Security', message),
  };
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
