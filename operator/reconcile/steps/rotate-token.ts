import { isReady } from '../../resources/pod-state.ts';
import { lookAgain, note } from '../pass.ts';
import type { Pass, Step } from '../pass.ts';
import { nextLines } from '../token-lines.ts';

/** Longer than a kubelet needs to bring a changed file; what a member reads cannot be asked for, so time counts. */
const spreadMs = 180_000;
const pollMs = 10_000;
/** The volume of a pod in which its token lies. */
const volumeName = 'token';

/**
 * Members read their token from a Secret of the operator, which follows the wanted one step by step: whatever moment a kubelet
 * brings a step, each member accepts what any other one sends.
 */
export const rotateToken: Step = (pass, draft) => {
  const { seen, names, isReplicated, nowMs } = pass;
  const { wantedToken, appliedToken } = seen.secrets;
  if (!isReplicated || wantedToken === undefined) return undefined;
  const present = appliedToken?.hashes ?? [];
  const isOld = nowMs - (appliedToken?.sinceMs ?? 0) >= spreadMs;
  const next = nextLines(present, wantedToken.hash, isOld && allRead(pass));
  if (next === undefined) return undefined;
  const outside = present.length === 0 ? [] : readersOfOthers(pass);
  if (outside.length > 0)
    draft.warnings.push({
      reason: 'TokenRotation',
      message: `${outside.join(', ')} read the cluster token from its Secret itself: spec.update.rollTemplate restarts them, and the next change reaches all step by step`,
    });
  lookAgain(draft, pollMs);
  if (next === 'wait') return undefined;
  if (present.length > 0)
    note(draft, 'TokenRotationStep', describe(next, wantedToken.hash, wantedToken.secretName));
  return { action: { kind: 'set-token', name: names.tokenApplied, lines: next } };
};

function describe([first, second]: readonly string[], wanted: string, secret: string): string {
  if (second === undefined) return 'one token alone is accepted';
  return `members accept two tokens and send ${first === wanted ? `that of Secret ${secret}` : 'the one before'}`;
}

/** One that is not ready may have been started with the files of before. */
function allRead({ seen }: Pass): boolean {
  return seen.members.every(({ pod }) => pod === undefined || isReady(pod));
}

/** Pods of an earlier version mount the wanted Secret. */
function readersOfOthers({ seen, names }: Pass): readonly string[] {
  return seen.members.flatMap(({ name, pod }) => {
    const volume = pod?.spec?.volumes?.find((one) => one.name === volumeName);
    const secret = volume?.secret?.secretName;
    return secret === undefined || secret === names.tokenApplied ? [] : [name];
  });
}
