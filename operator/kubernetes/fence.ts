import { KubernetesError } from './kubernetes-error.ts';
import type { CallRecord } from './port.ts';

const reads = new Set(['get', 'list', 'watch']);

/**
 * Holds back every write of a process that may not act any more (operator.md 9.7): one that slept past its lease wakes up to
 * find that it can only read.
 */
export function fence(mayWrite: () => boolean): (call: CallRecord) => void {
  return ({ verb, resource }) => {
    if (reads.has(verb) || mayWrite()) return;
    throw new KubernetesError({
      code: 0,
      reason: 'NotLeader',
      message: `${verb} ${resource} held back: this process does not hold the lease`,
    });
  };
}
