import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Namespace } from './objects.ts';

const kinds =
  'clusters.polyad.io,statefulsets,services,configmaps,secrets,serviceaccounts,poddisruptionbudgets,persistentvolumeclaims,pods';

/** For a while no object of the namespace may change, which is what no write means, and no container may restart. */
export async function mustStayQuiet(
  namespace: Namespace,
  seconds: number,
  except: readonly string[] = [],
): Promise<void> {
  const before = await versions(namespace, except);
  await pause(seconds * 1000);
  const after = await versions(namespace, except);
  assert.deepEqual(after, before, `writes within ${seconds} s at rest`);
}

async function versions(
  namespace: Namespace,
  except: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const objects = await namespace.list(kinds);
  const watched = objects.filter(({ metadata }) => !except.includes(metadata.name));
  return Object.fromEntries(
    watched.map(({ kind, metadata }) => [
      `${String(kind)}/${metadata.name}`,
      metadata.resourceVersion,
    ]),
  );
}
