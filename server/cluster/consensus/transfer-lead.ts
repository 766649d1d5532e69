import type { Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { NodeStatus } from '#raft/node.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { Transferred } from '../consensus-port.ts';

export interface LeadPort {
  readonly self: PeerId;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  status(): NodeStatus | undefined;
  /** The core gives a transfer up by itself after a while. */
  begin(target: PeerId): void;
  bestTarget(): PeerId | undefined;
}

const pollMs = 20;

/** Asks again until another one leads, or the time is over. @param to undefined: whoever is best */
export async function transferLead(
  to: PeerId | undefined,
  timeoutMs: number,
  { self, runtime, status, begin, bestTarget }: LeadPort,
): Promise<Transferred> {
  const deadline = runtime.clock.monotonicMs() + timeoutMs;
  const found = status();
  if (found?.role !== 'leader') return { kind: 'refused', reason: 'not-leader' };
  if (to === self) return { kind: 'transferred', leader: self };
  const target = to ?? bestTarget();
  if (target === undefined) return { kind: 'refused', reason: 'no-eligible-peer' };
  const member = membersOf(found.conf).get(target);
  if (member === undefined) return { kind: 'refused', reason: 'unknown-peer' };
  if (!member.voter || !member.canLead) return { kind: 'refused', reason: 'not-eligible' };
  begin(target);
  while (runtime.clock.monotonicMs() < deadline) {
    const { leader, role, transferTo } = status() ?? found;
    if (role !== 'leader' && leader !== undefined && leader !== self)
      return { kind: 'transferred', leader };
    if (role === 'leader' && transferTo === undefined) begin(target);
    await runtime.timers.sleep(pollMs);
  }
  return { kind: 'timeout' };
}
