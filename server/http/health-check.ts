import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join, resolve } from 'node:path';
import { serverHttpIncomingHost, serverHttpIncomingPort } from '#config/server-settings.ts';
import { loadSettings } from '#config/sources.ts';

const timeoutMs = 4000;

/**
 * Asks the server of this container, process 1, whether it is alive.
 * @returns undefined when `/api/v1/health` answers 2xx in time, else what is wrong
 */
export function checkHealth(): Promise<string | undefined> {
  const { host, port } = listeningAddress();
  return new Promise((settle) => {
    const request = get({ host, port, path: '/api/v1/health', timeout: timeoutMs });
    request.on('response', ({ statusCode = 0 }) =>
      settle(statusCode < 300 ? undefined : `${host}:${port} answered ${statusCode}`),
    );
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', (error) => settle(`${host}:${port}: ${error.message}`));
  });
}

/** Where that server listens, by the same settings that it was started with. */
function listeningAddress(): { readonly host: string; readonly port: number } {
  const { settings } = loadSettings({
    commandLine: serverArguments(),
    environment: process.env,
    readFile: (rootPath) => readIfThere(join(resolve(rootPath), 'config', 'service.json')),
  });
  const host = settings.get(serverHttpIncomingHost);
  const isWildcard = host === '0.0.0.0' || host === '::';
  return {
    host: isWildcard ? '127.0.0.1' : host,
    port: settings.get(serverHttpIncomingPort).first,
  };
}

function serverArguments(): readonly string[] {
  const words = (readIfThere('/proc/1/cmdline') ?? '').split('\0').filter((word) => word !== '');
  const script = words.findIndex((word) => word.endsWith('main.ts'));
  return script < 0 ? [] : words.slice(script + 1);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
