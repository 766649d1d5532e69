import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ClusterObject } from '../api/cluster.ts';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { Secret } from '../api/kubernetes-object.ts';
import { objectNames } from '../api/names.ts';
import type { ObservedCertificate, ObservedCertificates } from '../api/observation.ts';
import { certificateKeys, servedSecret } from '../resources/certificates.ts';
import type { ClusterReader } from './cluster-reader.ts';

/** The certificates that the spec asks for, as they are; undefined when it asks for none. Keys are not kept. */
export async function readCertificates(
  { metadata: { name, namespace } }: ClusterObject,
  spec: ClusterSpec | undefined,
  reader: ClusterReader,
): Promise<ObservedCertificates | undefined> {
  const served = spec === undefined ? undefined : servedSecret(name, spec);
  if (served === undefined) return undefined;
  const read = async (secret: string) =>
    ((await reader.get('Secret', namespace, secret)) ??
      (served.isGiven ? await reader.getLive('Secret', namespace, secret) : undefined)) as
      | Secret
      | undefined;
  const leaf = await read(served.name);
  const authority = served.isGiven ? undefined : await read(objectNames(name).ca);
  return {
    leaf: leaf && observe(leaf, authority),
    authority: authority && observe(authority, authority),
  };
}

function textOf(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
}

function observe(secret: Secret, authority: Secret | undefined): ObservedCertificate {
  const pem = textOf(secret, certificateKeys.certificate);
  const key = textOf(secret, certificateKeys.key);
  if (pem === '' || key === '')
    return {
      problem: `it needs the keys ${certificateKeys.certificate} and ${certificateKeys.key}`,
    };
  try {
    const certificate = new X509Certificate(pem);
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
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `it cannot be read: ${why}` };
  }
}
