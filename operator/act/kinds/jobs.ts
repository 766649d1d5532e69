import type { DesiredObject, KubernetesObject } from '../../api/kubernetes-object.ts';
import { codeOf, KubernetesError } from '../../kubernetes/kubernetes-error.ts';
import type { Actors } from '../actors.ts';

/** Named by what it does: it was made already, by us or by another instance. */
export async function makeJob(job: DesiredObject, { api, reader }: Actors): Promise<void> {
  try {
    reader.noteWritten(await api.create(job));
  } catch (error) {
    if (codeOf(error) !== 409) throw error;
  }
}

/** With its pods, so that one of the same name can be made. */
export async function dropJob(job: KubernetesObject, { api, reader }: Actors): Promise<void> {
  const { name, namespace } = job.metadata;
  const present = await reader.get('Job', namespace, name);
  const uid = present?.metadata.uid;
  if (uid === undefined) return;
  await api.delete({ kind: 'Job', namespace, name }, { uid, propagation: 'background' });
}

export function isOfEndingNamespace(error: unknown): boolean {
  return (
    error instanceof KubernetesError &&
    error.code === 403 &&
    error.message.includes('is being terminated')
  );
}
