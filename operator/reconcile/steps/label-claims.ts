import { ownedLabels } from '../../api/names.ts';
import type { Step } from '../pass.ts';

/** Claims say whose they are, also those that an earlier version, or the chart, has made. */
export const labelClaims: Step = ({ seen, cluster }) => {
  const wanted = ownedLabels(cluster.metadata.name);
  const claim = seen.claims.find(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined &&
      Object.entries(wanted).some(([key, value]) => metadata.labels?.[key] !== value),
  );
  if (claim === undefined) return undefined;
  const { name, uid } = claim.metadata;
  return {
    action: {
      kind: 'label',
      target: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        name,
        ...(uid === undefined ? undefined : { uid }),
      },
      labels: wanted,
    },
  };
};
