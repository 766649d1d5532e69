import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { Secret } from '../api/kubernetes-object.ts';
import { annotationKeys, objectNames } from '../api/names.ts';
import type { ObservedCertificate, ObservedCertificates } from '../api/observation.ts';
import { certificateKeys, certificatesIn, servedSecret } from '../resources/certificates.ts';
import { hostOf } from '../resources/server-list.ts';
import type { ClusterReader } from './cluster-reader.ts';

/** The certificates that the spec asks for, as they are; undefined when it asks for none. Keys are not kept. */
export async function readCertificates(
  cluster: ClusterObject,
  spec: ClusterSpec | undefined,
  reader: ClusterReader,
): Promise<ObservedCertificates | undefined> {
  const { name, namespace } = cluster.metadata;
  const served = spec && servedSecret(name, spec);
  if (spec === undefined || served === undefined) return undefined;
  const secretOf = async (secret: string) =>
    (await (served.isGiven
      ? reader.getGiven(namespace, secret)
      : reader.get('Secret', namespace, secret))) as Secret | undefined;
  const leaf = await secretOf(served.name);
  const authority = served.isGiven ? undefined : await secretOf(objectNames(name).ca);
  return {
    leaf: leaf && observe(leaf, authority, served.isGiven ? needsOf(cluster, spec) : undefined),
    authority: authority && observe(authority, authority),
  };
}

function textOf(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
}

const keyOf = (secret: Secret): string => textOf(secret, certificateKeys.key);

const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';

/** Hosts that a certificate must speak for, when members show it to each other. */
function needsOf(cluster: ClusterObject, spec: ClusterSpec): readonly string[] | undefined {
  if (!spec.tls.raft.enabled) return undefined;
  const count = spec.replicas + spec.readReplicas;
  return Array.from({ length: count }, (_, ordinal) => hostOf(cluster, spec, ordinal));
}

/** What a member would refuse to start with (ha.md 4.5). */
function unfitness(
  secret: Secret,
  certificate: X509Certificate,
  hosts: readonly string[],
): string | undefined {
  if (textOf(secret, certificateKeys.authority) === '')
    return `TLS between members needs the key ${certificateKeys.authority}`;
  const [, label] = /-----BEGIN ([A-Z0-9 ]+ PRIVATE KEY)-----/.exec(keyOf(secret)) ?? [];
  if (label !== undefined)
    return `${certificateKeys.key} holds '${label}'; TLS between members needs PKCS#8, label 'PRIVATE KEY' (openssl pkcs8 -topk8 -nocrypt)`;
  const usages: readonly string[] = certificate.keyUsage ?? [];
  if (!usages.includes(serverAuth) || !usages.includes(clientAuth))
    return `TLS between members needs the extended key usages serverAuth and clientAuth in ${certificateKeys.certificate}`;
  const missing = hosts.find((host) => certificate.checkHost(host) === undefined);
  return missing && `${certificateKeys.certificate} does not speak for the member ${missing}`;
}

interface Known {
  readonly authority: Secret | undefined;
  readonly hosts: string;
  readonly observed: ObservedCertificate;
}

/** By the cached object, which is another one when the Secret changes: most looks find the same certificates. */
const known = new WeakMap<Secret, Known>();

function observe(
  secret: Secret,
  authority: Secret | undefined,
  hosts?: readonly string[],
): ObservedCertificate {
  const before = known.get(secret);
  const asked = hosts?.join(' ') ?? '';
  if (before?.authority === authority && before?.hosts === asked) return before.observed;
  const observed = read(secret, authority, hosts);
  known.set(secret, { authority, hosts: asked, observed });
  return observed;
}

function read(
  secret: Secret,
  authority: Secret | undefined,
  hosts: readonly string[] | undefined,
): ObservedCertificate {
  const pem = textOf(secret, certificateKeys.certificate);
  const key = keyOf(secret);
  if (pem === '' || key === '')
    return {
      problem: `it needs the keys ${certificateKeys.certificate} and ${certificateKeys.key}`,
    };
  const since = secret.metadata.annotations?.[annotationKeys.trustedSince];
  try {
    const certificate = new X509Certificate(pem);
    const problem = hosts && unfitness(secret, certificate, hosts);
    if (problem !== undefined) return { problem };
    if (!certificate.checkPrivateKey(createPrivateKey(key)))
      return {
        problem: `${certificateKeys.key} does not belong to ${certificateKeys.certificate}`,
      };
    const issuer = textOf(authority, certificateKeys.certificate);
    return {
      problem: undefined,
      notAfterMs: certificate.validToDate.getTime(),
      serial: certificate.serialNumber,
      dnsNames: [...(certificate.subjectAltName ?? '').matchAll(/DNS:([^,\s]+)/g)].map(
        ([, name = '']) => name,
      ),
      isIssuedByAuthority:
        issuer !== '' && certificate.verify(new X509Certificate(issuer).publicKey),
      trusted: certificatesIn(textOf(secret, certificateKeys.authority)).map(
        (pem) => new X509Certificate(pem).serialNumber,
      ),
      authorities: textOf(secret, certificateKeys.authority),
      trustedSinceMs: since === undefined ? undefined : Date.parse(since),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `it cannot be read: ${why}` };
  }
}
