import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadSettings } from '#config/sources.ts';
import { serverHttpIncomingHost, serverHttpIncomingPort } from '#config/server-settings.ts';
import { heapOptions, isHeapPinned, parseHeapPercent } from '#platform/container-memory.ts';

/*
 * What the image runs: `container.ts [argument...]` becomes the server with a heap that fits into the container, and
 * `container.ts --health` asks the server of this container whether it is alive.
 */

const mainScript = fileURLToPath(new URL('main.ts', import.meta.url));
const healthTimeoutMs = 4000;

const commandLine = process.argv.slice(2);
if (commandLine[0] === '--health') checkHealth();
else becomeServer();

/** The server is this process: it has number 1 in the container and gets the signals. */
function becomeServer(): void {
  const percentText = process.env['POLYAD_HEAP_PERCENT'];
  const percent = parseHeapPercent(percentText);
  if (percent === undefined) {
    console.error(
      `polyad: POLYAD_HEAP_PERCENT '${percentText}' must be a whole number from 10 to 90`,
    );
    process.exit(1);
  }
  const options = [...process.execArgv, ...optionsFor(percent)];
  const line = [process.execPath, ...options, mainScript, ...commandLine];
  process.execve?.(process.execPath, line, process.env);
}

/** Without a limit nothing is set: a share of the whole machine would be wrong (house decision 4). */
function optionsFor(percent: number): readonly string[] {
  const limitBytes = process.constrainedMemory();
  const isLimited = limitBytes > 0 && limitBytes < totalmem();
  if (!isLimited || isHeapPinned(process.env['NODE_OPTIONS'] ?? '', process.execArgv)) return [];
  return heapOptions(limitBytes, percent);
}

/** Exit code 0 when `/api/v1/health` answers 2xx, else 1. */
function checkHealth(): void {
  const { host, port } = listeningAddress();
  const request = get({ host, port, path: '/api/v1/health', timeout: healthTimeoutMs });
  request.on('response', ({ statusCode = 0 }) => process.exit(statusCode < 300 ? 0 : 1));
  request.on('timeout', () => request.destroy(new Error('no answer in time')));
  request.on('error', (error) => {
    console.error(`polyad: ${host}:${port}: ${error.message}`);
    process.exit(1);
  });
}

/** Where the server of this container listens, by the same settings that it was started with. */
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
