import type { KubernetesObject, ObjectMeta } from '../api/kubernetes-object.ts';
import { fieldManagers, labelKeys } from '../api/names.ts';
import type { ObjectName } from '../kubernetes/port.ts';
import type { Actors } from './actors.ts';

/*
 * An object that somebody else has written becomes ours with its fields (operator.md 10.6): what an apply of ours leaves out is
 * removed only when we own it, and tools that do not apply server-side would keep their fields on it for ever.
 */

interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: Fields;
}

type Fields = { readonly [path: string]: Fields };

/** They write what they decide on their own: a restart that a person asked for, what controllers find out. */
const others = new Set(['kubectl-rollout', 'kube-controller-manager']);

export async function takeOver(
  target: ObjectName,
  { uid, cluster }: { readonly uid: string | undefined; readonly cluster: string },
  { api, reader }: Actors,
): Promise<void> {
  const live = await api.get(target);
  if (live === undefined || (uid !== undefined && live.metadata.uid !== uid)) return;
  const { resourceVersion } = live.metadata;
  const metadata = {
    uid: live.metadata.uid,
    resourceVersion,
    labels: { [labelKeys.cluster]: cluster },
    managedFields: asOurs(live),
  };
  reader.noteWritten(await api.mergePatch(target, { metadata }, fieldManagers.objects));
}

/** One entry of ours holds what all those held whose writing we go on with. */
function asOurs(object: KubernetesObject): readonly ManagedFields[] {
  const { managedFields = [] } = object.metadata as ObjectMeta & {
    readonly managedFields?: readonly ManagedFields[];
  };
  const isTaken = ({ manager = '', subresource = '' }: ManagedFields) =>
    subresource === '' && !others.has(manager);
  const taken = managedFields.filter(isTaken);
  const [first] = taken;
  if (first === undefined) return managedFields;
  const fieldsV1 = taken.map((entry) => entry.fieldsV1 ?? {}).reduce(union, {});
  const own: ManagedFields = {
    ...first,
    manager: fieldManagers.objects,
    operation: 'Apply',
    fieldsV1,
  };
  return [own, ...managedFields.filter((entry) => !isTaken(entry))];
}

function union(a: Fields, b: Fields): Fields {
  const result: Record<string, Fields> = { ...a };
  for (const [path, inner] of Object.entries(b)) result[path] = union(result[path] ?? {}, inner);
  return result;
}
