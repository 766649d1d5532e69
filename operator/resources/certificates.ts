import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import { objectNames } from '../api/names.ts';

/** Keys of the Secrets of certificates. */
export const certificateKeys = {
  certificate: 'tls.crt',
  key: 'tls.key',
  authority: 'ca.crt',
} as const;

/** The certificates of a PEM text, one by one. */
export function certificatesIn(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

/** Ordinals whose names stand in a certificate, beside the wildcard: some programs compare names letter by letter. */
const ordinalCount = 25;

/** Whether members show certificates, to clients or to each other. */
export function hasCertificates({ tls }: ClusterSpec): boolean {
  return tls.http.enabled || tls.raft.enabled;
}

/** The Secret of what members show each other and serve HTTPS with; undefined when they do neither. */
export function servedSecret(
  cluster: string,
  spec: ClusterSpec,
): { readonly name: string; readonly isGiven: boolean } | undefined {
  if (!hasCertificates(spec)) return undefined;
  if (spec.tls.issuer.certManager !== undefined)
    return { name: objectNames(cluster).tls, isGiven: true };
  const given = spec.tls.issuer.secretRef?.name;
  return given === undefined
    ? { name: objectNames(cluster).tls, isGiven: false }
    : { name: given, isGiven: true };
}

/** Whether cert-manager fills the Secret. */
export function wantsCertManager(spec: ClusterSpec): boolean {
  return hasCertificates(spec) && spec.tls.issuer.certManager !== undefined;
}

/** Every name under which members and services of the Cluster are reached (operator.md 6). */
export function dnsNames({ metadata }: ClusterObject, spec: ClusterSpec): readonly string[] {
  const { name, namespace = 'default' } = metadata;
  const { headless, http, readWrite, readOnly, pod } = objectNames(name);
  const inside = `${namespace}.svc`;
  const members = `${headless}.${inside}`;
  const found = [`*.${members}.${spec.clusterDomain}`, `*.${members}`];
  for (const service of [http, readWrite, readOnly])
    found.push(
      service,
      `${service}.${namespace}`,
      `${service}.${inside}`,
      `${service}.${inside}.${spec.clusterDomain}`,
    );
  for (let ordinal = 0; ordinal < ordinalCount; ordinal++)
    found.push(`${pod(ordinal)}.${members}.${spec.clusterDomain}`);
  return [...new Set([...found, 'localhost', ...(spec.tls.extraDnsNames ?? [])])];
}
