import { finalizerName } from '../../api/names.ts';
import type { Step } from '../pass.ts';

/** The finalizer is there exactly while deleting the Cluster has to do more than the garbage collector does. */
export const ensureFinalizer: Step = ({ cluster, spec }) => {
  const isPresent = cluster.metadata.finalizers?.includes(finalizerName) ?? false;
  const isNeeded = spec.deletionPolicy !== 'Retain';
  return isPresent === isNeeded
    ? undefined
    : { action: { kind: 'set-finalizer', isPresent: isNeeded } };
};
