import { lookAgain } from '../pass.ts';
import type { Draft, Pass, StepEnd } from '../pass.ts';

const pollMs = 2000;

/**
 * Begins the backup of all databases, or waits for it: it is written down first, so that another instance leaves out what is
 * backed up already.
 */
export function backUpAll(pass: Pass, draft: Draft, mark: string): StepEnd {
  const { seen, previous, group, nowMs } = pass;
  const begun = previous.backups?.begun;
  const at = begun?.mark === mark ? begun.at : new Date(nowMs).toISOString();
  draft.backups = { ...draft.backups, begun: { mark, at } };
  lookAgain(draft, pollMs);
  if (seen.running.has(mark)) return {};
  const ordinal = group.leader?.ordinal ?? 0;
  return { action: { kind: 'back-up', ordinal, mark, since: at } };
}
