import { lookAgain } from '../pass.ts';
import type { Draft, Pass, StepEnd } from '../pass.ts';

const pollMs = 2000;

/**
 * Begins the backup of all databases on whoever leads, or waits for it: it is written down first, so that another instance leaves
 * out what is backed up already, and so that the member is known when another one leads at the end.
 */
export function backUpAll(pass: Pass, draft: Draft, mark: string): StepEnd {
  const { seen, previous, group, nowMs } = pass;
  const present = previous.backups?.begun;
  const begun = present?.mark === mark ? present : undefined;
  lookAgain(draft, pollMs);
  if (seen.running.has(mark)) return {};
  const { leader } = group;
  if (leader === undefined) return {};
  const at = begun?.at ?? new Date(nowMs).toISOString();
  draft.backups = { ...draft.backups, begun: { mark, at, member: leader.name } };
  return { action: { kind: 'back-up', ordinal: leader.ordinal, mark, since: at } };
}
