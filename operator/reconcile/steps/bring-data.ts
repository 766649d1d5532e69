import { labelKeys } from '../../api/names.ts';
import {
  bootstrapName,
  bootstrapRestore,
  givenVolumes,
  isBringingData,
} from '../../resources/bootstrap.ts';
import { lookAgain, stall } from '../pass.ts';
import type { Step, StepEnd } from '../pass.ts';

const pollMs = 2000;

/** The data of a new Cluster are brought to its first member before others join (operator.md 8.9). */
export const bringData: Step = (pass, draft) => {
  const { seen, spec, record, group, cluster } = pass;
  if (!isBringingData(spec, record) || draft.record?.restored) return undefined;
  if (spec.hibernate || !record.initialised) return undefined;
  if (pass.isReplicated && group.kind !== 'known') return undefined;
  const name = bootstrapName(cluster.metadata.name);
  const { bootstrap } = seen;
  if (bootstrap?.phase === 'Failed') {
    const remedy = `what keeps it removed, delete the Restore ${name} and it is tried anew`;
    stall(draft, 'RestoreFailed', `Restore ${name}: ${bootstrap.message}: ${remedy}`);
    return {};
  }
  const progress: StepEnd =
    bootstrap === undefined
      ? { action: { kind: 'create', object: bootstrapRestore(cluster, spec) } }
      : {};
  draft.progress = {
    reason: 'Restoring',
    message: `Restore ${name}: ${bootstrap?.message ?? 'it is made now'}`,
  };
  lookAgain(draft, pollMs);
  return progress;
};

/** A volume that was named and is not there would come up empty: nothing is made before it is. */
export const awaitVolumes: Step = ({ seen, spec, names }, draft) => {
  const given = givenVolumes(spec);
  if (given === undefined || seen.statefulSet !== undefined || seen.membersRecord !== undefined)
    return undefined;
  const missing = (given === 'Retained' ? [names.dataClaim(0)] : given).find(
    (claim) => !seen.claims.some(({ metadata }) => metadata.name === claim),
  );
  if (missing === undefined) return undefined;
  const label = `with the label ${labelKeys.cluster}`;
  const what = `spec.bootstrap.fromVolumes: there is no claim ${String(missing)} ${label}`;
  stall(draft, 'VolumeLost', what);
  lookAgain(draft, 10_000);
  return {};
};
