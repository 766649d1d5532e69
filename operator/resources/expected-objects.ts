import type { ClusterSpec } from '../api/cluster-spec.ts';
import { monitorKinds, objectNames } from '../api/names.ts';
import type { MonitorKind } from '../api/names.ts';
import { servedSecret, wantsCertManager } from './certificates.ts';
import { wantsBudget, wantsReadersBudget } from './disruption-budget.ts';
import { wantedMonitors } from './monitors.ts';
import { networkPolicyNames } from './network-policy.ts';
import { serviceAccountName } from './service-account.ts';

export interface ExpectedObject {
  readonly kind:
    | 'StatefulSet'
    | 'Service'
    | 'ConfigMap'
    | 'Secret'
    | 'ServiceAccount'
    | 'NetworkPolicy'
    | 'PodDisruptionBudget'
    | 'Certificate'
    | MonitorKind;
  readonly name: string;
  /** False: only looked at when it is there, since this spec does not ask for it. */
  readonly isWanted: boolean;
}

/** Every name that the operator may have given for a Cluster; strangers under wanted ones are conflicts. */
export function expectedObjects(cluster: string, spec: ClusterSpec): readonly ExpectedObject[] {
  const names = objectNames(cluster);
  const { readWrite, readOnly } = spec.services;
  return [
    ...serviceAccounts(cluster, spec),
    { kind: 'ConfigMap', name: names.config, isWanted: true },
    { kind: 'ConfigMap', name: names.members, isWanted: true },
    { kind: 'Service', name: names.headless, isWanted: true },
    { kind: 'Service', name: names.http, isWanted: true },
    { kind: 'Service', name: names.readWrite, isWanted: readWrite.enabled },
    { kind: 'Service', name: names.readOnly, isWanted: readOnly.enabled },
    ...networkPolicyNames(cluster).map((name) => ({
      kind: 'NetworkPolicy' as const,
      name,
      isWanted: spec.networkPolicy.enabled,
    })),
    { kind: 'PodDisruptionBudget', name: names.budget, isWanted: wantsBudget(spec) },
    { kind: 'PodDisruptionBudget', name: names.readersBudget, isWanted: wantsReadersBudget(spec) },
    ...monitorKinds.map((kind) => ({
      kind,
      name: names.monitor,
      isWanted: wantedMonitors(spec).includes(kind),
    })),
    // Not even looked for without it: many have no such kind.
    ...(wantsCertManager(spec)
      ? [{ kind: 'Certificate' as const, name: names.tls, isWanted: true }]
      : []),
    { kind: 'Secret', name: names.root, isWanted: spec.auth.rootPassword === undefined },
    { kind: 'Secret', name: names.rootApplied, isWanted: true },
    { kind: 'Secret', name: names.token, isWanted: true },
    { kind: 'Secret', name: names.tokenApplied, isWanted: true },
    ...[names.ca, names.tls].map((name) => ({
      kind: 'Secret' as const,
      name,
      isWanted: servedSecret(cluster, spec)?.isGiven === false,
    })),
    { kind: 'StatefulSet', name: names.statefulSet, isWanted: true },
  ];
}

/** The one that the spec names, and the one of the standard name, which goes when another is named. */
function serviceAccounts(cluster: string, spec: ClusterSpec): readonly ExpectedObject[] {
  const wanted = serviceAccountName(cluster, spec);
  const standard = objectNames(cluster).serviceAccount;
  const account = (name: string, isWanted: boolean) =>
    ({ kind: 'ServiceAccount', name, isWanted }) as const;
  const found = [account(wanted, spec.serviceAccount.create)];
  if (standard !== wanted) found.push(account(standard, false));
  return found;
}
