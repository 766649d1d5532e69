import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Namespace } from './objects.ts';

const kinds =
  'clusters.polyad.io,statefulsets,services,configmaps,secrets,serviceaccounts,poddisruptionbudgets,persistentvolumeclaims,pods';

/** For a while no object of the namespace may change, which is what no write means, and no container may restart. */
export async function mustStayQuiet(namespace: Namespace, seconds: number): Promise<void> {
  const before = await versions(namespace);
  await pause(seconds * 1000);
  assert.deepEqual(await versions(namespace), before, `writes within ${seconds} s at rest`);
}

async function versions(namespace: Namespace): Promise<Readonly<Record<string, string>>> {
  const objects = await namespace.list(kinds);
  return Object.fromEntries(
    objects.map(({ kind, metadata }) => [
      `${String(kind)}/${metadata.name}`,
      metadata.resourceVersion,
    ]),
  );
}
