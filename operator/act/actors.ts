import type { Runtime } from '../api/runtime.ts';
import type { KubernetesApi } from '../kubernetes/port.ts';
import type { ClusterReader } from '../observe/cluster-reader.ts';
import type { DatabaseClient } from '../observe/database-client.ts';

/** What actions are carried out with. */
export interface Actors {
  readonly api: KubernetesApi;
  readonly reader: ClusterReader;
  readonly databases: DatabaseClient;
  readonly runtime: Runtime;
}
