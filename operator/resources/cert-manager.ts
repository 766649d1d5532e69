import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { DesiredObject } from '../api/kubernetes-object.ts';
import { objectNames, ownedLabels } from '../api/names.ts';
import { dnsNames, wantsCertManager } from './certificates.ts';
import { ownedObject } from './owner.ts';
import { compact } from './pod-security.ts';

const hoursOfDay = 24;

/** What cert-manager is asked for (operator.md 6): the same profile as that of our own certificates. */
export function certificateRequests(
  cluster: ClusterObject,
  spec: ClusterSpec,
): readonly DesiredObject[] {
  const issuer = spec.tls.issuer.certManager?.issuerRef;
  if (!wantsCertManager(spec) || issuer === undefined) return [];
  const { name } = cluster.metadata;
  return [
    ownedObject(cluster, {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      name: objectNames(name).tls,
      inherited: spec.inheritedMetadata,
      spec: {
        secretName: objectNames(name).tls,
        // The Secret is known by its label, as all others are.
        secretTemplate: { labels: ownedLabels(name) },
        commonName: `${name}-peers`,
        dnsNames: dnsNames(cluster, spec),
        duration: `${spec.tls.certDays * hoursOfDay}h0m0s`,
        renewBefore: `${spec.tls.renewBeforeDays * hoursOfDay}h0m0s`,
        privateKey: { algorithm: 'ECDSA', size: 256, encoding: 'PKCS8', rotationPolicy: 'Always' },
        usages: ['digital signature', 'server auth', 'client auth'],
        issuerRef: compact({ ...issuer }),
      },
    }),
  ];
}
