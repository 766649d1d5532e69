import { join } from 'node:path';
import type { SettingsReader } from '#config/effective-settings.ts';
import { serverDirectoryLockTimeout } from '#config/server-settings.ts';
import type { Runtime } from '#core/runtime.ts';
import { lockFileName, ProcessLock } from '#platform/process-lock.ts';

const pollMs = 100;

/**
 * Takes a directory for this process until it ends. Another process that has it may be about to end: the container of the pod
 * before, which a node ends while the next one starts already. It is waited for as long as `service.server.directoryLockTimeout`
 * says.
 * @param tell what is waited for, once
 * @throws DatabaseError `InvalidSetting` when another living process still has it then
 */
export async function lockDirectory(
  directory: string,
  settings: SettingsReader,
  { clock, timers, tell }: Pick<Runtime, 'clock' | 'timers'> & { tell(text: string): void },
): Promise<void> {
  const path = join(directory, lockFileName);
  const waitMs = settings.get(serverDirectoryLockTimeout);
  const deadline = clock.monotonicMs() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    const taken = ProcessLock.take(path);
    if (taken instanceof ProcessLock) {
      process.on('exit', () => taken.release());
      return;
    }
    if (clock.monotonicMs() >= deadline) throw taken;
    if (isFirst) tell(`${taken.message}; waits for it to end, for at most ${waitMs} ms`);
    await timers.sleep(pollMs);
  }
}
