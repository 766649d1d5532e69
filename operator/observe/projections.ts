import type { ContainerStatus, KubernetesObject, Node, Pod } from '../api/kubernetes-object.ts';
import { serverContainerName } from '../api/names.ts';
import { withoutManagedFields } from '../kubernetes/object-cache.ts';
import { decidingVariables } from '../resources/replication.ts';

/*
 * What is kept of the kinds of which there are many, or which are large: the parts that decisions read (operator.md 10.4).
 */

/** A node lists all its images; the operator reads where it is and whether it works. */
export function projectNode(object: KubernetesObject): KubernetesObject {
  const node = withoutManagedFields(object) as Node;
  const { name, uid, resourceVersion, labels } = node.metadata;
  return {
    apiVersion: node.apiVersion,
    kind: node.kind,
    metadata: {
      name,
      ...(uid === undefined ? undefined : { uid }),
      ...(resourceVersion === undefined ? undefined : { resourceVersion }),
      ...(labels === undefined ? undefined : { labels }),
    },
    spec: { taints: node.spec?.taints ?? [] },
    status: { conditions: node.status?.conditions?.filter(({ type }) => type === 'Ready') ?? [] },
  } as Node;
}

/** Of a pod: where it is, how its server was started as far as that decides something, and how it is. */
export function projectPod(object: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata, spec, status } = withoutManagedFields(object) as Pod;
  const server = spec?.containers?.find(({ name }) => name === serverContainerName);
  const env = server?.env?.filter(({ name }) => decidingVariables.has(name));
  const kept: Pod = {
    apiVersion,
    kind,
    metadata,
    spec: {
      ...(spec?.nodeName === undefined ? undefined : { nodeName: spec.nodeName }),
      containers:
        server === undefined
          ? []
          : [
              {
                name: server.name,
                ...(server.args === undefined ? undefined : { args: server.args }),
                ...(env === undefined ? undefined : { env }),
              },
            ],
      initContainers: spec?.initContainers?.map(({ name }) => ({ name })) ?? [],
      volumes: spec?.volumes?.filter(({ secret }) => secret !== undefined) ?? [],
    },
    ...(status === undefined
      ? undefined
      : {
          status: {
            ...(status.phase === undefined ? undefined : { phase: status.phase }),
            ...(status.podIP === undefined ? undefined : { podIP: status.podIP }),
            ...(status.conditions === undefined ? undefined : { conditions: status.conditions }),
            containerStatuses: status.containerStatuses?.map(shortened) ?? [],
            initContainerStatuses: status.initContainerStatuses?.map(shortened) ?? [],
          },
        }),
  };
  return kept;
}

function shortened(status: ContainerStatus): ContainerStatus {
  const { name, ready, restartCount, image, state, lastState } = status;
  return {
    name,
    ...(ready === undefined ? undefined : { ready }),
    ...(restartCount === undefined ? undefined : { restartCount }),
    ...(image === undefined ? undefined : { image }),
    ...(state === undefined ? undefined : { state }),
    ...(lastState === undefined ? undefined : { lastState }),
  };
}
