import type { KubernetesObject } from '../api/kubernetes-object.ts';
import { fieldManagers } from '../api/names.ts';
import type { Actors } from './actors.ts';

/** Writes the whole status of an object, if nobody changed the object since it was seen. @throws KubernetesError */
export async function writeStatus(
  { apiVersion, kind, metadata }: KubernetesObject,
  status: object,
  { api, reader }: Pick<Actors, 'api' | 'reader'>,
): Promise<void> {
  const { name, namespace, uid, resourceVersion } = metadata;
  const answer = await api.apply(
    {
      apiVersion,
      kind,
      metadata: {
        name,
        ...(namespace === undefined ? undefined : { namespace }),
        ...(uid === undefined ? undefined : { uid }),
        ...(resourceVersion === undefined ? undefined : { resourceVersion }),
      },
      status,
    } as KubernetesObject,
    { manager: fieldManagers.status, subresource: 'status' },
  );
  reader.noteWritten(answer);
}
