import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalServer } from '#cluster/dev/local-server.ts';

/** All lines that a server has logged, in all its lives. */
export function logLines({ options: { rootPath } }: LocalServer): readonly string[] {
  const logs = join(rootPath, 'log');
  return readdirSync(logs)
    .filter((file) => file.includes('.log'))
    .flatMap((file) => readFileSync(join(logs, file), 'utf8').split('\n'));
}
