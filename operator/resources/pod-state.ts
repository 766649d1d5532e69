import type { ContainerStatus, Pod } from '../api/kubernetes-object.ts';
import { guardContainerName, serverContainerName } from '../api/names.ts';

/** What keeps a pod from being ready, in words for a condition. */
export interface PodProblem {
  readonly kind: 'image' | 'unschedulable' | 'guard' | 'crash' | 'config';
  readonly message: string;
}

export function isReady(pod: Pod | undefined): boolean {
  return pod?.metadata.deletionTimestamp === undefined && readyCondition(pod)?.status === 'True';
}

/** Its server process is there, ready or not. */
export function isRunning(pod: Pod | undefined): boolean {
  const server = pod?.status?.containerStatuses?.find(({ name }) => name === serverContainerName);
  return pod?.metadata.deletionTimestamp === undefined && server?.state?.running !== undefined;
}

/** Milliseconds since 1970 of the moment it became ready; undefined when it is not. */
export function readySinceMs(pod: Pod | undefined): number | undefined {
  if (!isReady(pod)) return undefined;
  const since = Date.parse(readyCondition(pod)?.lastTransitionTime ?? '');
  return Number.isNaN(since) ? 0 : since;
}

function readyCondition(pod: Pod | undefined) {
  return pod?.status?.conditions?.find((condition) => condition.type === 'Ready');
}

/** One life of the server process: changes when the pod or its container starts anew. */
export function incarnationOf(pod: Pod): string {
  const server = pod.status?.containerStatuses?.find(({ name }) => name === serverContainerName);
  return `${pod.metadata.uid ?? ''}/${server?.restartCount ?? 0}`;
}

/** Whether a guard looks at the volume before its server starts; pods of the chart have none. */
export function hasGuard(pod: Pod | undefined): boolean {
  return pod?.spec?.initContainers?.some(({ name }) => name === guardContainerName) ?? false;
}

/** What the volume guard said when it refused to let the server start. */
export function guardRefusal(pod: Pod | undefined): string | undefined {
  const guard = pod?.status?.initContainerStatuses?.find(({ name }) => name === guardContainerName);
  const ended = guard?.state?.terminated ?? guard?.lastState?.terminated;
  if (guard === undefined || ended === undefined || ended.exitCode === 0) return undefined;
  return ended.message ?? ended.reason ?? 'the volume guard failed';
}

type Ended = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

const imageReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
]);
const configReasons = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

export function podProblem(pod: Pod | undefined): PodProblem | undefined {
  if (pod === undefined || isReady(pod)) return undefined;
  const refusal = guardRefusal(pod);
  if (refusal !== undefined) return { kind: 'guard', message: refusal };
  const containers = [
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.containerStatuses ?? []),
  ];
  for (const container of containers) {
    const problem = containerProblem(container);
    if (problem) return problem;
  }
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable')
    return { kind: 'unschedulable', message: scheduled.message ?? 'no node takes the pod' };
  return undefined;
}

function containerProblem({ name, state, lastState }: ContainerStatus): PodProblem | undefined {
  const { waiting, terminated } = state ?? {};
  const reason = waiting?.reason ?? '';
  const said = waiting?.message ?? '';
  if (imageReasons.has(reason))
    return { kind: 'image', message: `${name}: ${reason}${said === '' ? '' : `: ${said}`}` };
  if (configReasons.has(reason)) return { kind: 'config', message: `${name}: ${reason}: ${said}` };
  const ended = terminated ?? (reason === 'CrashLoopBackOff' ? lastState?.terminated : undefined);
  if (ended === undefined || ended.exitCode === 0) return undefined;
  return { kind: 'crash', message: `${name} ${endOf(ended)}` };
}

/** How the server process ended the last time, of one that starts once more; undefined when it never failed. */
export function lastFailure(pod: Pod | undefined): string | undefined {
  const server = pod?.status?.containerStatuses?.find(({ name }) => name === serverContainerName);
  const ended = server?.lastState?.terminated;
  return ended === undefined || ended.exitCode === 0
    ? undefined
    : `${server?.name} ${endOf(ended)}`;
}

function endOf({ exitCode, message, reason }: Ended): string {
  return `ended with code ${exitCode ?? '?'}: ${causeOf(message ?? '') ?? reason ?? ''}`;
}

/** Lines that only say where in the program: frames of native code or of JavaScript. */
const isFrame = /^\s*(\d+: )?(0x[0-9a-f]+\b|at\s)/i;
const isOutOfHeap = /heap out of memory|Reached heap limit/i;

/** The line of a container's last words that says why it ended: of V8 without memory its complaint, else the last one. */
function causeOf(words: string): string | undefined {
  const lines = words.split('\n').map((line) => line.trim());
  const telling = lines.filter(
    (line) => line !== '' && !isFrame.test(line) && !/^-+.*-+$/.test(line),
  );
  if (telling.some((line) => isOutOfHeap.test(line)))
    return 'the heap is too small: raise spec.resources.limits.memory or spec.heapPercent (JavaScript heap out of memory)';
  return telling.at(-1);
}
