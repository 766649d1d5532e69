import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { fieldManagers, finalizerName } from '../api/names.ts';
import type { KindName } from '../kubernetes/resource-kinds.ts';
import type { Actors } from './actors.ts';

/** Puts our finalizer on an object of ours, or takes it away. @throws KubernetesError */
export async function setFinalizer(
  isPresent: boolean,
  { apiVersion, kind, metadata }: KubernetesObject,
  { api, reader }: Pick<Actors, 'api' | 'reader'>,
): Promise<void> {
  const { name, namespace, uid } = metadata;
  if (isPresent) {
    const answer = await api.apply(
      {
        apiVersion,
        kind,
        metadata: {
          name,
          ...(namespace === undefined ? undefined : { namespace }),
          ...(uid && { uid }),
          finalizers: [finalizerName],
        },
      },
      { manager: fieldManagers.finalizer },
    );
    reader.noteWritten(answer);
    return;
  }
  // A plain patch with the version that was seen: it removes ours whoever put it there, and nobody else's.
  const answer = await api.mergePatch(
    { kind: kind as KindName, namespace, name },
    {
      metadata: {
        resourceVersion: metadata.resourceVersion,
        finalizers: (metadata.finalizers ?? []).filter((entry) => entry !== finalizerName),
      },
    },
    fieldManagers.finalizer,
  );
  reader.noteWritten(answer);
}
