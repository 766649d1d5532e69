import { lookup } from 'node:dns/promises';
import type { Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { ConfState, PeerId } from '#raft/vocabulary.ts';
import { PeerAllowlist } from '../transport/peer-allowlist.ts';
import type { ConsensusOptions } from './worker-messages.ts';

/** Who may connect: hosts of the server list and of the members (ha.md 4.4); undefined: everybody. */
export function allowlistOf(
  { allowlist, declared }: ConsensusOptions,
  {
    runtime,
    conf,
    warn,
  }: {
    readonly runtime: Runtime;
    readonly conf: () => ConfState | undefined;
    readonly warn: (text: string) => void;
  },
): PeerAllowlist | undefined {
  if (allowlist === undefined) return undefined;
  const hostOf = (id: PeerId) => id.replace(/_\d+$/, '');
  return new PeerAllowlist({
    ...allowlist,
    runtime,
    hosts: () => {
      const now = conf();
      const members = now === undefined ? [] : [...membersOf(now).keys()];
      const removed = new Set(now?.removed?.map(({ id }) => id));
      const listed = declared.map(({ id }) => id).filter((id) => !removed.has(id));
      return [...new Set([...listed, ...members].map(hostOf))];
    },
    resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    warn,
  });
}
