import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import {
  haClientElectionRetryCount,
  haClientElectionRetryDelayMs,
} from '#config/cluster-resync-settings.ts';
import { variableOf } from '#config/registry.ts';
import type { SettingSpec } from '#config/setting.ts';
import { ApiClient } from './api-client.ts';
import type { Options } from './arguments.ts';
import { CommandFailure, exitCodes, type Terminal, wrongUse } from './terminal.ts';

const defaultUrl = 'http://127.0.0.1:2480';

/**
 * The server that the options name, as the user they name. The password comes from a file, from `POLYAD_PASSWORD`, or from
 * the prompt, in this order.
 */
export async function connect(options: Options, terminal: Terminal): Promise<ApiClient> {
  const { environment } = terminal;
  const url = parseUrl(options.url ?? environment['POLYAD_URL'] ?? defaultUrl);
  const user = options.user ?? environment['POLYAD_USER'] ?? 'root';
  const password = await passwordOf(user, options, terminal);
  const authority = await readOptional(options['ca-file']);
  const repeats = {
    count: numberOf(haClientElectionRetryCount, environment),
    delayMs: numberOf(haClientElectionRetryDelayMs, environment),
  };
  return new ApiClient({ url, credentials: { user, password }, authority, repeats });
}

/** As servers take it. */
function numberOf(
  spec: SettingSpec<number>,
  environment: Readonly<Record<string, string | undefined>>,
): number {
  const text = environment[variableOf(spec.key)];
  if (text === undefined) return spec.default;
  try {
    return spec.parse(text);
  } catch (error) {
    throw wrongUse((error as Error).message);
  }
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text.includes('://') ? text : `http://${text}`);
  } catch {
    throw wrongUse(`'${text}' is no URL`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw wrongUse(`the URL must start with http:// or https://, not ${url.protocol}//`);
  if (url.password !== '' || url.username !== '')
    throw wrongUse('the URL holds a user: use --user, and a password that others cannot see');
  return url;
}

async function passwordOf(user: string, options: Options, terminal: Terminal): Promise<string> {
  const file = options['password-file'] ?? terminal.environment['POLYAD_PASSWORD_FILE'];
  if (file !== undefined) return ((await readOptional(file)) ?? '').trim();
  const given = terminal.environment['POLYAD_PASSWORD'];
  if (given !== undefined) return given;
  if (terminal.input.isTTY !== true)
    throw new CommandFailure(
      exitCodes.refused,
      'no password: set POLYAD_PASSWORD, or name a file with --password-file',
    );
  return askPassword(`Password of ${user}: `, terminal);
}

async function readOptional(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, (error as Error).message);
  }
}

/** Reads a line without showing it. */
function askPassword(question: string, { input, messages }: Terminal): Promise<string> {
  messages.write(question);
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  const reader = createInterface({ input, output: silent, terminal: true });
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    reader.on('line', (line) => {
      isAnswered = true;
      reader.close();
      messages.write('\n');
      resolve(line);
    });
    reader.on('SIGINT', () => reader.close());
    reader.on('close', () => {
      if (!isAnswered) reject(new CommandFailure(exitCodes.refused, 'no password was given'));
    });
  });
}
