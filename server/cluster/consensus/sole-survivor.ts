import type { Runtime } from '#core/runtime.ts';
import {
  changed,
  type ConfChange,
  decodeConfChange,
  encodeConfChange,
  isJoint,
  membersOf,
} from '#raft/membership.ts';
import type { ConfState, Entry } from '#raft/vocabulary.ts';
import type { LogStore } from '../log-store/log-store.ts';
import { ownMember } from './formation.ts';
import type { ConsensusOptions } from './worker-messages.ts';

/**
 * The way on when a majority is lost for good (ha.md 8.2 rule 7): this member is the whole group from now on, with all that its
 * log holds, committed or not: what was acknowledged is on a majority, and this may be the last of it. The group gets another id,
 * so that nobody of the old one is heard again; they come back with empty disks.
 *
 * Each word of approval counts once. A crash between the entries and the identity repeats them, which changes nothing.
 * @returns what to tell people; undefined when nothing was approved, or that was done
 */
export async function surviveAlone(
  store: LogStore,
  options: ConsensusOptions,
  runtime: Runtime,
): Promise<string | undefined> {
  const { identity } = store;
  const { quorumRecovery: token } = options;
  if (token === '' || token === identity.recovered) return undefined;
  // A member without a group has nothing that could go on.
  if (identity.clusterId === undefined || identity.firstConf === undefined) return undefined;
  const before = lastConf(store, identity.firstConf);
  const entries = entriesOf(store, before, options);
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  await store.append({
    entries,
    hardState: { term: last.term, vote: null, commit: last.index },
    snapshot: undefined,
    mustSync: true,
    afterwards: [],
  });
  await store.reopen();
  await store.setIdentity({
    ...store.identity,
    clusterId: runtime.random.uuid(),
    earlierClusterIds: [...(identity.earlierClusterIds ?? []), identity.clusterId],
    admitted: true,
    recovered: token,
  });
  const others = [...membersOf(before).keys()].filter((id) => id !== options.self);
  return `The loss of the quorum was approved (${token}): this server goes on alone, without ${others.join(', ')}; what only they held is lost`;
}

function lastConf(store: LogStore, first: ConfState): ConfState {
  return store.confEntries.reduce(
    (conf, { data }) => changed(conf, decodeConfChange(data)),
    store.tail.snapshotMeta()?.conf ?? first,
  );
}

/** A joint change is left first: two sets would have to agree on anything else. */
function entriesOf(
  store: LogStore,
  before: ConfState,
  options: ConsensusOptions,
): readonly Entry[] {
  const { self } = options;
  const { storageId } = store.identity;
  const known = membersOf(before).get(self) ?? ownMember(options, { storageId, voter: true });
  const others = [...membersOf(before).keys()].filter((id) => id !== self);
  const alone: ConfChange = {
    kind: 'simple',
    steps: [
      { op: 'voter', member: { ...known, storageId, canLead: options.canLead, voter: true } },
      ...others.map((id) => ({ op: 'remove', id }) as const),
    ],
  };
  const changes: readonly ConfChange[] = isJoint(before) ? [{ kind: 'leave' }, alone] : [alone];
  const last = store.tail.lastIndex();
  const lastTerm = store.tail.term(last);
  const term = Math.max(store.hardState.term, typeof lastTerm === 'number' ? lastTerm : 0) + 1;
  return changes.map((change, at) => ({
    index: last + 1 + at,
    term,
    kind: 'conf' as const,
    data: encodeConfChange(change),
  }));
}
