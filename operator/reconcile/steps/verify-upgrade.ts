import { isInconsistent } from '../../api/verification.ts';
import { parseQuantity } from '../../resources/quantity.ts';
import { lastRejection, lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, StepEnd } from '../pass.ts';

const pollMs = 2000;

/**
 * `spec.update.verify`: what the members hold is compared before a change of the image counts as done (operator.md 8.12). Copies
 * that differ keep it open, and are looked at again every minute.
 */
export function verifyUpgrade(pass: Pass, draft: Draft): StepEnd | undefined {
  const { seen, group } = pass;
  const { verify, verifyMaxBytes } = pass.spec.update;
  if (verify !== 'AfterUpgrade' || draft.operation?.type !== 'Upgrade') return undefined;
  if (group.kind !== 'known' || group.peers.size < 2) return undefined;
  const mark = `verify ${pass.restartHash}`;
  if (seen.done.has(mark)) return undefined;
  draft.upgradePhase = 'Verifying';
  draft.progress = { reason: 'Upgrading', message: 'comparing what the members hold' };
  const refusal = lastRejection(pass, 'verify');
  if (refusal !== undefined && !isInconsistent(refusal.code)) {
    note(draft, 'VerificationIncomplete', refusal.message, 'Warning');
    draft.progress = undefined;
    return undefined;
  }
  if (refusal !== undefined) stall(draft, 'UpgradeFailed', refusal.message);
  if (rejectionOf(pass, draft, 'verify') !== undefined) return {};
  lookAgain(draft, pollMs);
  if (seen.running.has(mark)) return {};
  const bytesMax = parseQuantity(String(verifyMaxBytes)) ?? Number.POSITIVE_INFINITY;
  return { action: { kind: 'verify', ordinal: group.leader?.ordinal ?? 0, mark, bytesMax } };
}
