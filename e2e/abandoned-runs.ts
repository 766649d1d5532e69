import { setTimeout as pause } from 'node:timers/promises';
import type { ApiServer } from './steps/api-server.ts';
import { isOnPath, must, run } from './steps/programs.ts';

/*
 * A run that was killed leaves its operator and its namespaces. Every run shows that it lives by a number in the namespace of its
 * operator that changes; one that stands still for longer than that is taken away by the next run, one that moves is let be.
 */

export const runLabel = 'polyad.io/e2e';
const beatAnnotation = 'polyad.io/e2e-beat';
const beatMs = 10_000;
const silenceMs = 35_000;

/** Shows that the run lives. @returns ends it */
export function startBeating(api: Pick<ApiServer, 'patch'>, home: string): () => void {
  let count = 0;
  const beat = (): void => {
    count += 1;
    const annotations = { [beatAnnotation]: String(count) };
    // One that was missed is followed by another one.
    api.patch(`/api/v1/namespaces/${home}`, { metadata: { annotations } }).catch(() => {});
  };
  beat();
  const timer = setInterval(beat, beatMs);
  return () => clearInterval(timer);
}

/** A namespace of some run, as far as it matters here. */
export interface RunNamespace {
  readonly name: string;
  readonly run: string;
  readonly beat: string | undefined;
  readonly hasOperator: boolean;
}

export interface Runs {
  list(): Promise<readonly RunNamespace[]>;
  wait(ms: number): Promise<void>;
  remove(namespaces: readonly RunNamespace[]): Promise<void>;
}

/**
 * Takes away what runs left that were killed: those with an operator and without a sign of life. Namespaces that were kept on
 * purpose have no operator, and stay.
 * @returns the runs that were taken away, and those that live
 */
export async function clearAbandonedRuns(
  runs: Runs = cluster,
): Promise<{ readonly cleared: readonly string[]; readonly living: readonly string[] }> {
  const before = await runs.list();
  const suspects = before.filter(({ hasOperator }) => hasOperator);
  if (suspects.length === 0) return { cleared: [], living: [] };
  await runs.wait(silenceMs);
  const after = await runs.list();
  const isLiving = ({ name, beat }: RunNamespace): boolean => {
    const now = after.find((one) => one.name === name);
    return now !== undefined && now.beat !== beat;
  };
  const living = suspects.filter(isLiving).map(({ run }) => run);
  const cleared = [...new Set(suspects.map(({ run }) => run))].filter(
    (one) => !living.includes(one),
  );
  await runs.remove(after.filter(({ run }) => cleared.includes(run)));
  return { cleared, living };
}

/** Lets go of what waits for an operator that is not there any more. */
export async function releaseFinalizers(namespace: string): Promise<void> {
  const kinds = 'clusters.polyad.io,backups.polyad.io,restores.polyad.io';
  const listed = await run('kubectl', ['-n', namespace, 'get', kinds, '-o=name']);
  const nothing = '{"metadata":{"finalizers":null}}';
  for (const name of listed.output.split('\n').filter((line) => line !== ''))
    await run('kubectl', ['-n', namespace, 'patch', name, '--type=merge', '-p', nothing]);
}

/** With the operator first, so that it makes nothing anew. */
export async function removeNamespaces(
  namespaces: readonly Pick<RunNamespace, 'name' | 'hasOperator'>[],
): Promise<void> {
  for (const { name, hasOperator } of namespaces) if (hasOperator) await uninstallOperators(name);
  for (const { name } of namespaces) {
    await run('kubectl', ['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
    await releaseFinalizers(name);
  }
}

/** Through Helm, which knows what of the release belongs to the whole cluster. */
async function uninstallOperators(namespace: string): Promise<void> {
  const helm = ['helm3', 'helm', 'helm4'].find(isOnPath) ?? 'helm';
  const { output } = await run(helm, ['list', '-n', namespace, '--all', '--short']);
  for (const release of output.split('\n').filter((name) => name !== ''))
    await run(helm, ['uninstall', release, '-n', namespace]);
}

const cluster: Runs = {
  async list() {
    interface Listed {
      readonly items: readonly {
        readonly metadata: {
          readonly name: string;
          readonly namespace?: string;
          readonly labels?: Readonly<Record<string, string>>;
          readonly annotations?: Readonly<Record<string, string>>;
        };
      }[];
    }
    const get = async (...words: readonly string[]): Promise<Listed['items']> =>
      (JSON.parse(await must('kubectl', ['get', ...words, '-o', 'json'])) as Listed).items;
    const select = ['-l', 'app.kubernetes.io/name=polyad-operator'];
    const operators = await get('deployments', '-A', ...select);
    const homes = new Set(operators.map(({ metadata }) => metadata.namespace));
    return (await get('namespaces', '-l', runLabel)).map(({ metadata }) => ({
      name: metadata.name,
      run: metadata.labels?.[runLabel] ?? '',
      beat: metadata.annotations?.[beatAnnotation],
      hasOperator: homes.has(metadata.name),
    }));
  },
  wait: (ms) => pause(ms),
  remove: removeNamespaces,
};
