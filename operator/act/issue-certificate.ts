import type { Action } from '../api/decision.ts';
import type { KubernetesObject, Secret } from '../api/kubernetes-object.ts';
import { annotationKeys, fieldManagers, objectNames, ownedLabels } from '../api/names.ts';
import type { Observation } from '../api/observation.ts';
import { codeOf } from '../kubernetes/kubernetes-error.ts';
import { MemberError } from '../observe/database-client.ts';
import { secretText } from '../observe/observe-cluster.ts';
import { certificateKeys, certificatesIn } from '../resources/certificates.ts';
import { ownerReference } from '../resources/owner.ts';
import type { Actors } from './actors.ts';
import { makeAuthority, makeLeaf } from './x509.ts';
import type { IssuedCertificate } from './x509.ts';

const dayMs = 86_400_000;

/** Makes the authority of a Cluster, once, or the certificate that its members serve, again and again. */
export async function issueCertificate(
  action: Extract<Action, { kind: 'issue-certificate' }>,
  { seen, actors }: { readonly seen: Observation; readonly actors: Actors },
): Promise<void> {
  const { cluster } = seen;
  const { name, namespace } = cluster.metadata;
  const names = objectNames(name);
  const nowMs = actors.runtime.clock.now();
  const commonName = names.ca;
  if (action.what === 'authority') {
    const made = await makeAuthority(commonName, action.days, nowMs);
    const secret = secretOf(seen, names.ca, { ...made, authority: made.certificate });
    try {
      actors.reader.noteWritten(await actors.api.create(secret));
    } catch (error) {
      // Somebody was faster; theirs counts.
      if (codeOf(error) !== 409) throw error;
    }
    return;
  }
  const read = async (secret: string) =>
    (await actors.reader.getLive('Secret', namespace, secret)) as Secret | undefined;
  const held = await read(names.ca);
  const key = secretText(held, certificateKeys.key);
  const authority = secretText(held, certificateKeys.certificate);
  if (key === undefined || authority === undefined)
    throw new MemberError(0, `Secret ${names.ca} is gone`);
  const present = await read(names.tls);
  const isAlone = action.what === 'trust' && action.isAlone;
  const trusted = isAlone
    ? []
    : certificatesIn(secretText(present, certificateKeys.authority) ?? '');
  const made =
    action.what === 'trust'
      ? presentLeaf(present, names.tls)
      : await newLeaf(action, { seen, key, commonName, nowMs });
  const secret = secretOf(
    seen,
    names.tls,
    { ...made, authority: `${[...new Set([authority.trim(), ...trusted])].join('\n')}\n` },
    { [annotationKeys.trustedSince]: new Date(nowMs).toISOString() },
  );
  const answer = await actors.api.apply(secret, { manager: fieldManagers.objects });
  actors.reader.noteWritten(answer);
}

function presentLeaf(secret: Secret | undefined, name: string): IssuedCertificate {
  const certificate = secretText(secret, certificateKeys.certificate);
  const key = secretText(secret, certificateKeys.key);
  if (certificate === undefined || key === undefined)
    throw new MemberError(0, `Secret ${name} is gone`);
  return { certificate: `${certificate}\n`, key: `${key}\n` };
}

function newLeaf(
  { days, dnsNames }: { readonly days: number; readonly dnsNames: readonly string[] },
  {
    seen,
    key,
    commonName,
    nowMs,
  }: {
    readonly seen: Observation;
    readonly key: string;
    readonly commonName: string;
    readonly nowMs: number;
  },
): Promise<IssuedCertificate> {
  const authorityEndMs = seen.certificates?.authority?.notAfterMs ?? Number.POSITIVE_INFINITY;
  return makeLeaf(
    {
      commonName: `${seen.cluster.metadata.name}-peers`,
      dnsNames,
      notAfterMs: Math.min(nowMs + days * dayMs, authorityEndMs),
    },
    { commonName, key },
    nowMs,
  );
}

/** Goes with its Cluster: it can be made again at any time. */
function secretOf(
  { cluster }: Observation,
  name: string,
  parts: Readonly<Record<keyof typeof certificateKeys, string>>,
  annotations: Readonly<Record<string, string>> = {},
): KubernetesObject {
  const { namespace } = cluster.metadata;
  const data = Object.fromEntries(
    Object.entries(certificateKeys).map(([part, key]) => [
      key,
      Buffer.from(parts[part as keyof typeof certificateKeys]).toString('base64'),
    ]),
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: {
      name,
      ...(namespace === undefined ? undefined : { namespace }),
      labels: ownedLabels(cluster.metadata.name),
      annotations,
      ownerReferences: [ownerReference(cluster)],
    },
    data,
  } as KubernetesObject;
}
