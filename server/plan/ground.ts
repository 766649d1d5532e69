import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Settings } from '#config/effective-settings.ts';
import { type ServerPaths, serverPaths } from '#config/server-paths.ts';
import { serverLogFormat, serverLogLevel } from '#config/server-settings.ts';
import { loadSettings } from '#config/sources.ts';
import { ServerEvents } from '#control/event-log.ts';
import { AssertionFailure } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { makeDirectories } from '#platform/files.ts';
import { LogSink } from '#platform/log-sink.ts';
import { createLog } from '#platform/pino-log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { lockDirectory } from './directory-lock.ts';

const internalErrorCode = 70;

/** What every part of the server stands on. */
export interface Ground {
  readonly settings: Settings;
  readonly paths: ServerPaths;
  readonly log: Log;
  readonly events: ServerEvents;
}

export function readSettings(commandLine: readonly string[]) {
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
export async function prepareGround(settings: Settings): Promise<Ground> {
  const paths = serverPaths(settings);
  for (const path of [paths.config, paths.databases, paths.backups]) makeDirectory(path);
  // Before there is a log: its file may be the other process's still.
  const tell = (text: string) => console.error(`polyad: ${text}`);
  await lockDirectory(paths.databases, settings, { ...systemRuntime, tell });
  const sink = new LogSink(paths.logs, (lines) => process.stdout.write(lines));
  process.on('exit', () => sink.flush());
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
    makeDirectories(path, 0o750);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DatabaseError('InvalidSetting', `directory '${path}' cannot be made: ${reason}`);
  }
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
export function endOnBrokenState(error: unknown, log: Log): void {
  if (!(error instanceof AssertionFailure)) return;
  const frames = (error.stack ?? '').split('\n').slice(1);
  const origin = frames.find((frame) => !frame.includes('/core/assert.ts')) ?? '';
  if (!/\/server\/(storage|transaction)\//.test(origin)) return;
  log.error('the process ends, its state is in doubt');
  process.exit(internalErrorCode);
}
