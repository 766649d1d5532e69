import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Expressions by the type that holds their arguments, from `calls.txt`. */
export function readCalls(
  path = join(import.meta.dirname, 'calls.txt'),
): ReadonlyMap<string, readonly string[]> {
  const calls = new Map<string, string[]>();
  let texts: string[] = [];
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const type = /^\[(\w+)\]$/.exec(line)?.[1];
    if (type === undefined) texts.push(line);
    else {
      texts = [];
      calls.set(type, texts);
    }
  }
  return calls;
}
