import { annotationKeys } from '../../api/names.ts';
import { contentHash } from '../../resources/content-hash.ts';
import type { MembersRecord } from '../../resources/members-record.ts';
import { podProblem } from '../../resources/pod-state.ts';
import { lacksQuorum, survivorsOf } from '../group/lost-quorum.ts';
import { lookAgain, note, stall } from '../pass.ts';
import type { Draft, Pass, Step } from '../pass.ts';

/*
 * The unsafe way out of a lost quorum (operator.md 8.13): only by a person, by the token of this very incident, with a survivor
 * whose log ends as late as that of anybody who answers. All stop; the survivor goes on as a group of its own; when it leads, the
 * others come back as new members, and what is on their volumes is kept aside. Where it stands is in the guard's record, which
 * says to each member what it may do: so it goes on after any crash, and no volume is touched before the survivor leads.
 */

const pollMs = 1000;
/** So long nobody is asked for an approval: most losses end by themselves. */
const patienceMs = 600_000;

type Recovery = NonNullable<MembersRecord['recovery']>;

/** What the record says next of the recovery, and of who comes anew. */
export function decideRecovery(
  pass: Pass,
  draft: Draft,
): Pick<MembersRecord, 'recovery' | 'recovered' | 'members'> {
  const { record } = pass;
  const { recovery, recovered, members } = record;
  const kept = { ...(recovered === undefined ? undefined : { recovered }), members };
  if (recovery === undefined) {
    const begun = begin(pass, draft);
    return { ...kept, ...(begun === undefined ? undefined : { recovery: begun }) };
  }
  const named = namedSurvivor(pass, recovery);
  if (named !== undefined) return { ...kept, recovery: named };
  if (recovery.step === 'stop') {
    const isOver = pass.seen.members.every(({ pod }) => pod === undefined);
    return { ...kept, recovery: isOver ? { ...recovery, step: 'survive' } : recovery };
  }
  if (!leadsAlone(pass, recovery)) return { ...kept, recovery };
  note(
    draft,
    'UnsafeRecoveryFinished',
    `${nameOf(pass, recovery)} leads alone; the others come back as new members`,
    'Warning',
  );
  const others = Object.entries(members).map(([ordinal, member]) =>
    Number(ordinal) === recovery.survivor
      ? ([ordinal, member] as const)
      : ([ordinal, { state: 'replace' as const, incarnation: member.incarnation + 1 }] as const),
  );
  return { recovered: recovery.token, members: Object.fromEntries(others) };
}

function begin(pass: Pass, draft: Draft): Recovery | undefined {
  const { spec, previous, record, seen, annotations } = pass;
  if (annotations[annotationKeys.reconcile] === 'paused') return undefined;
  const asked = spec.recovery.quorum;
  const token = previous.recovery?.incidentToken;
  if (asked === undefined || asked.acknowledge !== token || !isOfQuorum(token)) return undefined;
  if (record.recovered === token || !lacksQuorum(factsOf(pass))) return undefined;
  const survivor = seen.members.find(({ name }) => name === asked.survivor);
  if (survivor === undefined || !survivorsOf(seen.members).includes(survivor.name))
    return undefined;
  note(
    draft,
    'UnsafeRecoveryStarted',
    `approved by ${token}: all members stop, ${survivor.name} goes on alone with what it has`,
    'Warning',
  );
  return { token, survivor: survivor.ordinal, step: 'stop' };
}

/** Another survivor, by the same word, while the one before does not come up. */
function namedSurvivor({ spec, seen }: Pass, { token, survivor }: Recovery): Recovery | undefined {
  const { acknowledge, survivor: name } = spec.recovery.quorum ?? {};
  const other = seen.members.find((member) => member.name === name);
  if (acknowledge !== token || other === undefined || other.ordinal === survivor) return undefined;
  return { token, survivor: other.ordinal, step: 'stop' };
}

function leadsAlone({ group, seen }: Pass, { survivor }: Recovery): boolean {
  const peerId = seen.members[survivor]?.peerId;
  return group.kind === 'known' && group.leader?.peerId === peerId && group.voters.length === 1;
}

function nameOf({ names }: Pass, { survivor }: Recovery): string {
  return names.pod(survivor);
}

function isOfQuorum(token: string | undefined): token is string {
  return token?.startsWith('quorum-') ?? false;
}

export function factsOf({ seen, group, previous, record, isReplicated }: Pass) {
  return { members: seen.members, group, previous, record, isReplicated };
}

/** What the status keeps of the incident, whatever else this look does: its token counts as long as it lasts. */
export function noteQuorum(pass: Pass, draft: Draft): void {
  const { previous, nowMs, seen, cluster, record } = pass;
  const now = new Date(nowMs).toISOString();
  const { recovery: known } = previous;
  if (record.recovery !== undefined) {
    const { token } = record.recovery;
    draft.quorum = { since: known?.since ?? now, token, candidates: known?.candidates ?? [] };
    return;
  }
  if (!lacksQuorum(factsOf(pass))) return;
  const since = (known?.candidates === undefined ? undefined : known.since) ?? now;
  const token = `quorum-${contentHash([cluster.metadata.uid, since, previous.term]).slice(0, 10)}`;
  const isOld = nowMs - Date.parse(since) >= patienceMs;
  draft.quorum = {
    since,
    candidates: survivorsOf(seen.members),
    ...(isOld ? { token } : undefined),
  };
}

/** Tells of the incident, or holds everything else back while it is being ended. */
export const recoverQuorum: Step = (pass, draft) => {
  const recovery = draft.record?.recovery;
  if (recovery !== undefined) return goOn(pass, draft, recovery);
  if (draft.quorum !== undefined) tell(pass, draft, draft.quorum);
  return undefined;
};

function tell(
  { cluster, spec }: Pass,
  draft: Draft,
  { since, candidates, token }: NonNullable<Draft['quorum']>,
): void {
  lookAgain(draft, pollMs);
  if (token === undefined) return;
  const { name, namespace = 'default' } = cluster.metadata;
  const asked = spec.recovery.quorum;
  const refusal =
    asked?.acknowledge === token
      ? `; spec.recovery.quorum.survivor '${asked.survivor}' is none of them`
      : '';
  const able = candidates.length === 0 ? 'nobody answers' : candidates.join(', ');
  const [survivor = 'NAME'] = candidates;
  const patch = JSON.stringify({
    spec: { recovery: { quorum: { acknowledge: token, survivor } } },
  });
  stall(
    draft,
    'QuorumLost',
    `a majority has been missing since ${since}, and comes back by itself when its members do. Who could go on alone, without what only the others hold: ${able}${refusal}. To give the others up: kubectl -n ${namespace} patch clusters.polyad.io ${name} --type merge -p '${patch}'`,
  );
}

function goOn(pass: Pass, draft: Draft, recovery: Recovery) {
  const { previous, nowMs, seen } = pass;
  const { token, step } = recovery;
  const name = nameOf(pass, recovery);
  draft.operation = {
    id: contentHash([token, name]),
    type: 'Repair',
    target: name,
    step: step === 'stop' ? 'Stop' : 'Survive',
    generation: pass.generation,
    startedAt:
      previous.operation?.target === name
        ? previous.operation.startedAt
        : new Date(nowMs).toISOString(),
  };
  lookAgain(draft, pollMs);
  const ending = seen.members.filter(({ pod }) => pod !== undefined).map((member) => member.name);
  const pod = seen.members[recovery.survivor]?.pod;
  const problem = podProblem(pod)?.message;
  const message =
    step === 'stop'
      ? `waiting for the end of ${ending.join(', ')}: one on a node that is away ends when the node is deleted or has the taint node.kubernetes.io/out-of-service`
      : `${name} goes on alone${problem === undefined ? '' : `: ${problem}`}`;
  draft.progress = { reason: 'Recovering', message };
  const elapsedMs = nowMs - Date.parse(draft.operation.startedAt);
  if (step === 'survive' && elapsedMs >= pass.spec.update.progressDeadlineSeconds * 1000)
    stall(
      draft,
      'QuorumLost',
      `${message}: it does not lead in time; spec.recovery.quorum.survivor may name another one`,
    );
  return {};
}
