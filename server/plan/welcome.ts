import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serverHttpIncomingHost, serverLogFormat } from '#config/server-settings.ts';
import { version } from './version.ts';
import type { Ground } from './ground.ts';
import { takeMadeUpPassword } from './security.ts';

export function printWelcome(
  { settings, paths, log }: Ground,
  port: number,
  securePort: number | undefined,
): void {
  const host = settings.get(serverHttpIncomingHost);
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `http://${reached}:${port}`;
  const secureUrl = securePort === undefined ? '' : ` and https://${reached}:${securePort}`;
  const password = takeMadeUpPassword();
  const kept = join(paths.config, 'root-password');
  if (settings.get(serverLogFormat) === 'json') {
    // Nothing but lines of JSON; the password would stay in whatever gathers them.
    log.info(`Polyad ${version} is ready on ${url}${secureUrl}`);
    if (password !== undefined)
      log.warn('First start: a password was made for user root', { keptIn: kept });
    return;
  }
  console.log(`Polyad ${version} is ready on ${url}${secureUrl}`);
  if (password === undefined) {
    if (existsSync(kept)) console.log(`Log in as root with the password in ${kept}`);
    return;
  }
  const rule = '='.repeat(78);
  const lines = [
    rule,
    '  First start: a password was made for user root. It is shown this once.',
    '',
    '    user      root',
    `    password  ${password}`,
    '',
    `  It is kept in ${kept}`,
    '  until it is changed. Try:',
    '',
    `curl -u root:${password} ${url}/api/v1/server -d '{"command":"create database school"}'`,
    rule,
  ];
  console.log(lines.join('\n'));
}
