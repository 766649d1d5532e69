import type { Condition } from '../../api/cluster-status.ts';
import { conditionOf } from '../../api/conditions.ts';
import type { KubernetesObject } from '../../api/kubernetes-object.ts';
import type { ObservedCertificate } from '../../api/observation.ts';
import { isReady } from '../../resources/pod-state.ts';
import { certificateRequests } from '../../resources/cert-manager.ts';
import { dnsNames, servedSecret, wantsCertManager } from '../../resources/certificates.ts';
import { hasPods, lookAgain, note, stall } from '../pass.ts';
import type { Draft, Pass, Step, StepEnd } from '../pass.ts';

/*
 * Certificates of `spec.tls` (operator.md 6). With `selfManaged` the operator makes an authority and a leaf, and renews the
 * leaf in time; members take a new one over by themselves. A Secret of the user is only looked at.
 */

const dayMs = 86_400_000;
/** A kubelet brings changed files after a minute and a half at the latest, a member looks once in some seconds. */
const spreadMs = 180_000;
const pollMs = 10_000;

export const ensureCertificates: Step = (pass, draft) => {
  const served = servedSecret(pass.cluster.metadata.name, pass.spec);
  if (served === undefined) return undefined;
  if (wantsCertManager(pass.spec)) return awaitCertManager(pass, draft, served.name);
  const field = `spec.tls.issuer.secretRef: Secret ${served.name}`;
  return served.isGiven ? checkGiven(pass, draft, field) : ensureOwn(pass, draft);
};

interface CertificateObject extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** cert-manager makes it, and renews it; until it is there a new Cluster waits, and says for what. */
function awaitCertManager(pass: Pass, draft: Draft, name: string): StepEnd | undefined {
  const { seen, cluster, spec } = pass;
  const field = 'spec.tls.issuer.certManager';
  if (!seen.hasCertManager) {
    const what =
      'this Kubernetes has no Certificate of cert-manager.io, or the operator may not read it';
    stall(draft, 'CertManagerMissing', `${field}: ${what}: install cert-manager`);
    draft.certificateProblem = draft.stalled?.message;
    lookAgain(draft, pollMs);
    return hasPods(pass) ? undefined : {};
  }
  if (seen.certificates?.leaf !== undefined)
    return checkGiven(pass, draft, `${field}: Secret ${name}`);
  if (hasPods(pass)) {
    stall(draft, 'SecretMissing', `${field}: Secret ${name} is gone`);
    draft.certificateProblem = draft.stalled?.message;
    draft.isCertificateUnfit = true;
    return undefined;
  }
  const present = seen.objects.get(`Certificate/${name}`) as CertificateObject | undefined;
  const ready = conditionOf(present?.status?.conditions, 'Ready');
  const why = ready === undefined ? '' : `: ${ready.message}`;
  draft.progress = {
    reason: 'Creating',
    message: `waits for cert-manager to fill Secret ${name}${why}`,
  };
  lookAgain(draft, pollMs);
  if (present !== undefined) return {};
  return { action: { kind: 'apply', objects: certificateRequests(cluster, spec) } };
}

/** One that cannot serve keeps a new member from starting, and leaves one that runs as it is. */
function checkGiven(pass: Pass, draft: Draft, field: string): StepEnd | undefined {
  const leaf = pass.seen.certificates?.leaf;
  if (leaf === undefined) {
    stall(draft, 'SecretMissing', `${field} is not in this namespace`);
    lookAgain(draft, 10_000);
  } else if (leaf.problem !== undefined) stall(draft, 'InvalidSpec', `${field}: ${leaf.problem}`);
  else {
    draft.certificates = [statusOf('served', leaf)];
    if (leaf.notAfterMs > pass.nowMs) return undefined;
    draft.certificateProblem = `${field} has expired`;
    stall(draft, 'CertificateExpired', draft.certificateProblem);
  }
  draft.certificateProblem ??= draft.stalled?.message;
  // Clients of HTTPS may bear with one that has expired, members do not.
  const hasExpired = leaf !== undefined && leaf.problem === undefined;
  draft.isCertificateUnfit = !hasExpired || pass.spec.tls.raft.enabled;
  return hasPods(pass) ? undefined : {};
}

type Known = Extract<ObservedCertificate, { readonly problem: undefined }>;

function statusOf(name: string, { notAfterMs, serial }: Known) {
  return { name, notAfter: new Date(notAfterMs).toISOString(), serial };
}

function ensureOwn(pass: Pass, draft: Draft): StepEnd | undefined {
  const { seen, spec, names, cluster, nowMs } = pass;
  const { authority, leaf } = seen.certificates ?? {};
  if (authority === undefined)
    return { action: { kind: 'issue-certificate', what: 'authority', days: spec.tls.caDays } };
  if (authority.problem !== undefined) {
    // Made anew only when a person has taken it away: clients trust the one that is there.
    stall(draft, 'InvalidSpec', `Secret ${names.ca}: ${authority.problem}`);
    draft.certificateProblem = draft.stalled?.message;
    return hasPods(pass) ? undefined : {};
  }
  const wanted = dnsNames(cluster, spec);
  const { certDays, renewBeforeDays } = spec.tls;
  // A short one is renewed after two thirds of its life at the latest.
  const early = Math.min(renewBeforeDays, certDays / 3) * dayMs;
  const isValid = leaf !== undefined && leaf.problem === undefined && leaf.notAfterMs > nowMs;
  if (isValid) draft.certificates = [statusOf('authority', authority), statusOf('served', leaf)];
  const turn = isValid ? turnOf(pass, authority, leaf) : 'none';
  if (turn === 'trust' || turn === 'forget') return changeTrust(draft, turn, names.tls);
  if (turn === 'wait') lookAgain(draft, pollMs);
  const restMs = isGood(leaf, wanted) ? leaf.notAfterMs - early - nowMs : 0;
  if (turn !== 'wait' && restMs <= 0 && !isAtEnd(authority, leaf)) {
    if (leaf !== undefined) note(draft, 'CertificateRenewed', `Secret ${names.tls} has a new one`);
    lookAgain(draft, 0);
    return {
      action: { kind: 'issue-certificate', what: 'leaf', days: certDays, dnsNames: wanted },
    };
  }
  if (authority.notAfterMs - early <= nowMs)
    draft.certificateProblem = `the authority in Secret ${names.ca} ends on ${new Date(authority.notAfterMs).toISOString()}: delete the Secret to have another one made, which clients then have to trust`;
  return undefined;
}

/**
 * Another authority takes over in three steps, none of which a member misses: all trust both, then all show a certificate of the
 * new one, then all trust the new one only.
 */
function turnOf(pass: Pass, authority: Known, leaf: Known): 'trust' | 'wait' | 'forget' | 'none' {
  if (!leaf.trusted.includes(authority.serial)) return 'trust';
  const isSpread = hasSpread(pass, leaf);
  if (!leaf.isIssuedByAuthority) return isSpread ? 'none' : 'wait';
  if (leaf.trusted.length === 1) return 'none';
  return isSpread ? 'forget' : 'wait';
}

/** Files of a Secret reach running pods late; one that starts anew has the present ones. */
function hasSpread({ seen, nowMs }: Pass, { trustedSinceMs = 0 }: Known): boolean {
  return (
    nowMs - trustedSinceMs >= spreadMs &&
    seen.members.every(({ pod }) => pod === undefined || isReady(pod))
  );
}

function changeTrust(draft: Draft, turn: 'trust' | 'forget', secret: string): StepEnd {
  const what =
    turn === 'trust' ? 'the new authority is trusted, too' : 'the old authority is forgotten';
  note(draft, 'CARotationStep', `Secret ${secret}: ${what}`);
  lookAgain(draft, pollMs);
  return { action: { kind: 'issue-certificate', what: 'trust', isAlone: turn === 'forget' } };
}

/** Issued by the present authority, for all names. */
function isGood(leaf: ObservedCertificate | undefined, wanted: readonly string[]): leaf is Known {
  if (leaf === undefined || leaf.problem !== undefined || !leaf.isIssuedByAuthority) return false;
  const held = new Set(leaf.dnsNames);
  return wanted.every((name) => held.has(name));
}

/** A leaf never outlives its authority: one that ends with it cannot be renewed. */
function isAtEnd(authority: Known, leaf: ObservedCertificate | undefined): boolean {
  if (leaf === undefined || leaf.problem !== undefined) return false;
  return leaf.isIssuedByAuthority && leaf.notAfterMs >= authority.notAfterMs - 1000;
}
