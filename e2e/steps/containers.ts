import type { ScenarioContext } from '../scenario.ts';
import { valueAt } from './objects.ts';

type Signal = 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

/** A signal for the server process of a pod, by the container runtime of its node. */
export async function signalServer(
  { namespace, node }: Pick<ScenarioContext, 'namespace' | 'node'>,
  name: string,
  signal: Signal,
): Promise<void> {
  const pod = await namespace.require('pod', name);
  const statuses = valueAt(pod, 'status.containerStatuses') as { containerID: string }[];
  const id = (statuses[0]?.containerID ?? '').replace('containerd://', '');
  const words = ['ctr', '-n', 'k8s.io', 'tasks', 'kill', '-s', signal, id];
  await node(String(valueAt(pod, 'spec.nodeName')), 'exec', ...words);
}
