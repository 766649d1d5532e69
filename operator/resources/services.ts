import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec, ServiceTemplate } from '../api/cluster-spec.ts';
import type { DesiredObject, JsonObject } from '../api/kubernetes-object.ts';
import { labelKeys, objectNames, selectorLabels } from '../api/names.ts';
import { ownedObject } from './owner.ts';
import { pluginPorts } from './plugins.ts';

/** The headless service of the members, the one of all ready members, and those of the leader and of the followers. */
export function services(cluster: ClusterObject, spec: ClusterSpec): readonly DesiredObject[] {
  const names = objectNames(cluster.metadata.name);
  const { http, readWrite, readOnly } = spec.services;
  const found = [headless(cluster, spec), routed(cluster, spec, names.http, http, 'all')];
  if (readWrite.enabled) found.push(routed(cluster, spec, names.readWrite, readWrite, 'leader'));
  if (readOnly.enabled) found.push(routed(cluster, spec, names.readOnly, readOnly, 'follower'));
  return found;
}

function headless(cluster: ClusterObject, spec: ClusterSpec): DesiredObject {
  return ownedObject(cluster, {
    apiVersion: 'v1',
    kind: 'Service',
    name: objectNames(cluster.metadata.name).headless,
    inherited: spec.inheritedMetadata,
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      // A member must be found before it is ready: the others decide whether it may become so.
      publishNotReadyAddresses: true,
      selector: selectorLabels(cluster.metadata.name),
      ports: [
        port('http', spec.ports.http, 'http'),
        ...httpsPort(spec),
        port('raft', spec.ports.raft, 'raft'),
        ...portsOfPlugins(spec),
      ],
    },
  });
}

function routed(
  cluster: ClusterObject,
  spec: ClusterSpec,
  name: string,
  template: ServiceTemplate,
  role: 'leader' | 'follower' | 'all',
): DesiredObject {
  const selector: JsonObject = {
    ...selectorLabels(cluster.metadata.name),
    ...(role === 'all' ? undefined : { [labelKeys.role]: role }),
  };
  return ownedObject(cluster, {
    apiVersion: 'v1',
    kind: 'Service',
    name,
    inherited: spec.inheritedMetadata,
    labels: {
      ...template.labels,
      ...(role === 'all' ? { [labelKeys.service]: 'http' } : undefined),
    },
    ...(template.annotations === undefined ? undefined : { annotations: template.annotations }),
    spec: {
      type: template.type,
      selector,
      ports: [
        port('http', template.port ?? spec.ports.http, 'http'),
        ...httpsPort(spec),
        ...portsOfPlugins(spec),
      ],
      ...(template.loadBalancerClass === undefined
        ? undefined
        : { loadBalancerClass: template.loadBalancerClass }),
      ...(template.loadBalancerSourceRanges === undefined
        ? undefined
        : { loadBalancerSourceRanges: template.loadBalancerSourceRanges }),
      ...(template.externalTrafficPolicy === undefined
        ? undefined
        : { externalTrafficPolicy: template.externalTrafficPolicy }),
    },
  });
}

function httpsPort(spec: ClusterSpec): readonly JsonObject[] {
  return spec.tls.http.enabled ? [port('https', spec.ports.https, 'https')] : [];
}

function portsOfPlugins(spec: ClusterSpec): readonly JsonObject[] {
  return pluginPorts(spec).map(({ name, port: number }) => port(name, number, name));
}

function port(name: string, number: number, targetPort: string): JsonObject {
  return { name, port: number, targetPort, protocol: 'TCP' };
}
