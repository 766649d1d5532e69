import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { must, run } from './programs.ts';

const folder = resolve(import.meta.dirname, '../../crds');
const release = '{.metadata.annotations.meta\\.helm\\.sh/release-namespace}';

/** Names of the definitions that belong to the product. */
export function definitionNames(): readonly string[] {
  const suffix = '.yaml';
  return readdirSync(folder)
    .filter((file) => file.endsWith(suffix))
    .map((file) => file.slice(0, -suffix.length));
}

/**
 * Whether a release in `home` may bring the definitions: each is missing, or was brought from there before. Where it may not, they
 * stay whose they are and are brought up to date here, so that an older set of them is never what is tested.
 */
export async function mayBringDefinitions(home: string): Promise<boolean> {
  const owners = await Promise.all(
    definitionNames().map((name) => run('kubectl', ['get', 'crd', name, `-o=jsonpath=${release}`])),
  );
  if (owners.every(({ isGood, output }) => !isGood || output === home)) return true;
  await must('kubectl', ['apply', '--server-side', '--force-conflicts', '-f', folder]);
  return false;
}
