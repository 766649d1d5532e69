import type { ScenarioContext } from '../scenario.ts';
import { type Namespace, valueAt } from './objects.ts';

type Signal = 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

/** The container of a server, which may outlive its pod for a while. */
export interface ServerContainer {
  readonly id: string;
  readonly node: string;
}

export async function serverContainerOf(
  namespace: Namespace,
  name: string,
): Promise<ServerContainer> {
  const pod = await namespace.require('pod', name);
  const statuses = valueAt(pod, 'status.containerStatuses') as { containerID: string }[];
  const id = (statuses[0]?.containerID ?? '').replace('containerd://', '');
  return { id, node: String(valueAt(pod, 'spec.nodeName')) };
}

/** By the container runtime of its node. */
export async function signalContainer(
  { node }: Pick<ScenarioContext, 'node'>,
  { id, node: host }: ServerContainer,
  signal: Signal,
): Promise<void> {
  await node(host, 'exec', ...['ctr', '-n', 'k8s.io', 'tasks', 'kill', '-s', signal, id]);
}

/** A signal for the server process of a pod. */
export async function signalServer(
  context: Pick<ScenarioContext, 'namespace' | 'node'>,
  name: string,
  signal: Signal,
): Promise<void> {
  await signalContainer(context, await serverContainerOf(context.namespace, name), signal);
}
