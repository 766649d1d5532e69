import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { EnvironmentParts } from './environment-parts.ts';
import type { PartManifest } from './part-format.ts';

// node send-process.ts DIRECTORY ABOUT: pins the newest state of an environment that a server has open, says so by an empty line, and
// answers each number on a line of its input with that part. Ends with its input.

/** Imported, by whoever fills the cache of compiled code, it does nothing. */
if (import.meta.main) {
  const [directory = '', about = ''] = process.argv.slice(2);
  const parts = new EnvironmentParts(directory, JSON.parse(about) as PartManifest);
  process.stdout.write('\n');
  for await (const line of createInterface({ input: process.stdin })) {
    const part = parts.part(Number(line));
    if (part !== undefined && !process.stdout.write(part)) await once(process.stdout, 'drain');
  }
  await parts.close();
}
