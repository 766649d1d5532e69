import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject } from '../api/kubernetes-object.ts';
import { objectNames } from '../api/names.ts';
import { backupJson, serviceJson } from './managed-files.ts';
import { mcpJson } from './mcp-config.ts';
import type { MembersRecord } from './members-record.ts';
import { membersFile, printMembersRecord } from './members-record.ts';
import { ownedObject } from './owner.ts';

/**
 * The files that the guard installs in the members' config directory.
 * @param list the members of the group; undefined without replication
 */
export function configMap(
  cluster: ClusterObject,
  spec: ClusterSpec,
  list: string | undefined,
): DesiredObject {
  const backup = backupJson(spec.backup);
  const mcp = mcpJson(spec);
  return ownedObject(cluster, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: objectNames(cluster.metadata.name).config,
    inherited: spec.inheritedMetadata,
    data: {
      'service.json': serviceJson(spec, list),
      ...(backup === undefined ? undefined : { 'backup.json': backup }),
      ...(mcp === undefined ? undefined : { 'mcp-config.json': mcp }),
    },
  });
}

/** What the volume guard compares its volume with (operator.md 5.2). */
export function membersConfigMap(cluster: ClusterObject, record: MembersRecord): DesiredObject {
  return ownedObject(cluster, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: objectNames(cluster.metadata.name).members,
    data: { [membersFile]: printMembersRecord(record) },
  });
}
