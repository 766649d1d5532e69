import type { Settings } from '#config/effective-settings.ts';
import {
  serverReloadEvery,
  sslEnabled,
  sslTrustStore,
  sslTrustStorePassword,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Timers } from '#core/runtime.ts';
import { readTrustedCertificates } from '#platform/tls-store.ts';

/**
 * By which certificates other servers are told over HTTPS, in PEM; undefined: those of the system, when none are set.
 * @throws DatabaseError `InvalidSetting` when the store cannot be used
 */
export async function trustedAuthorities(
  settings: Settings,
): Promise<readonly string[] | undefined> {
  const path = settings.get(sslTrustStore);
  if (!settings.get(sslEnabled) || path === '') return undefined;
  const password = settings.get(sslTrustStorePassword);
  return readTrustedCertificates({ path, password, setting: sslTrustStore.key });
}

/**
 * Follows the trust store (`service.server.reloadEvery`), as an authority is replaced in three steps while servers run. A store that
 * cannot be used changes nothing and is told once. @returns the way to stop
 */
export function followTrustedAuthorities(
  settings: Settings,
  { timers, log }: { readonly timers: Timers; readonly log: Log },
  trust: (authorities: readonly string[]) => void,
): () => void {
  let known = '';
  let told = '';
  let stop = () => {};
  let isOver = false;
  const look = async () => {
    try {
      const found = await trustedAuthorities(settings);
      const text = found?.join('\n') ?? '';
      if (found !== undefined && text !== known && !isOver) trust(found);
      known = text;
      told = '';
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.message !== told) log.warn(`${error.message}; servers are trusted as before`);
      told = error.message;
    }
    if (!isOver) stop = timers.after(settings.get(serverReloadEvery), () => void look());
  };
  if (!settings.get(sslEnabled) || settings.get(sslTrustStore) === '') return () => {};
  stop = timers.after(settings.get(serverReloadEvery), () => void look());
  return () => {
    isOver = true;
    stop();
  };
}
