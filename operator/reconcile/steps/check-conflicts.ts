import { ownershipOf } from '../ownership.ts';
import { lookAgain, stall } from '../pass.ts';
import type { Step } from '../pass.ts';

/** An object of a stranger under one of our names stops everything: it is never overwritten. */
export const checkConflicts: Step = ({ seen, cluster }, draft) => {
  for (const [key, object] of seen.objects) {
    const ownership = ownershipOf(object, cluster);
    if (ownership === 'leaving') {
      draft.progress = {
        reason: 'Creating',
        message: `waiting until ${key} of the deleted Cluster of the same name is gone`,
      };
      lookAgain(draft, 1000);
      return {};
    }
    if (ownership === 'foreign') {
      const message = `${key} exists and belongs to somebody else: remove it, or label it polyad.io/cluster=${cluster.metadata.name} to hand it over`;
      stall(draft, 'NameConflict', message);
      lookAgain(draft, 10_000);
      return {};
    }
  }
  return undefined;
};
