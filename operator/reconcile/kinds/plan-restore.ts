import type { EventNote } from '../../api/decision.ts';
import type { BackupObject, BackupSpec } from '../../api/kinds/backup.ts';
import type {
  RestoreCall,
  RestoreDecision,
  RestoredDatabase,
  RestoreSpec,
  RestoreStatus,
  RestoreView,
} from '../../api/kinds/restore.ts';
import { archiveFileName } from '../../resources/stream-tasks.ts';
import { archiveOf } from './plan-backup.ts';
import { isFinished, iso, statusWith } from './progress.ts';
import type { Progress } from './progress.ts';

/*
 * One Restore: databases one after the other, on the leader, to which archives from outside are brought first. Names are looked at before anything is begun. A database appears
 * when it is whole, so one that was not there and is there now came about, whatever became of the answer.
 */

const againMs = { wait: 5000, busy: 10_000 } as const;

interface Draft {
  readonly status: RestoreStatus;
  readonly progress: Progress;
  readonly call?: RestoreCall;
  readonly againAfterMs?: number;
}

type Begun = NonNullable<RestoreStatus['begun']>;

export function planRestore(seen: RestoreView, now: number): RestoreDecision {
  const { restore } = seen;
  const before = restore.status ?? {};
  if (isFinished(before.phase)) return { status: before, events: [], againAfterMs: undefined };
  const { status, progress, call, againAfterMs } = draftOf(seen, before, now);
  const generation = restore.metadata.generation ?? 0;
  return {
    status: statusWith(status, progress, before.conditions, { now, generation }),
    ...(call === undefined ? undefined : { call }),
    events: eventsOf(before, progress),
    againAfterMs,
  };
}

function eventsOf(before: RestoreStatus, progress: Progress): readonly EventNote[] {
  const { phase, message, reason } = progress;
  if (phase === 'Succeeded') return [{ type: 'Normal', reason: 'RestoreFinished', note: message }];
  if (phase === 'Running' && before.phase !== 'Running')
    return [{ type: 'Normal', reason: 'RestoreStarted', note: message }];
  if (phase !== 'Failed') return [];
  const isInvalid = reason === 'InvalidSpec';
  return [{ type: 'Warning', reason: isInvalid ? reason : 'RestoreFailed', note: message }];
}

function failed(status: RestoreStatus, reason: string, message: string): Draft {
  return { status, progress: { phase: 'Failed', reason, message } };
}

/** Goes on as it is: nothing is begun yet, or what is begun waits. */
function waits(status: RestoreStatus, reason: string, message: string): Draft {
  const phase = status.phase === 'Running' ? 'Running' : 'Pending';
  return { status, progress: { phase, reason, message }, againAfterMs: againMs.wait };
}

function running(status: RestoreStatus, message: string, againAfterMs: number): Draft {
  return { status, progress: { phase: 'Running', reason: 'Running', message }, againAfterMs };
}

function draftOf(seen: RestoreView, before: RestoreStatus, now: number): Draft {
  const { spec, cluster, existing } = seen;
  const problem = spec === undefined ? (seen.problem ?? 'spec is not valid') : problemOf(spec);
  if (spec === undefined || problem !== undefined)
    return failed(before, 'InvalidSpec', problem ?? '');
  const { name } = spec.clusterRef;
  if (cluster === undefined && before.phase === 'Running')
    return failed(before, 'ClusterGone', `Cluster ${name} was deleted`);
  if (cluster === undefined) return waits(before, 'ClusterNotFound', `there is no Cluster ${name}`);
  const withoutSource = sourceProblem(seen, spec, before);
  if (withoutSource !== undefined) return withoutSource;
  if (!cluster.isAvailable || cluster.leader === undefined || existing === undefined)
    return waits(before, 'WaitingForCluster', 'waits for a leader that answers');
  const elsewhere = archivesElsewhere(seen, cluster.leader);
  if (elsewhere !== undefined) return waits(before, 'ArchiveElsewhere', elsewhere);
  if (seen.obstacle !== undefined) return waits(before, 'ArchiveUnreachable', seen.obstacle);
  if (before.phase !== 'Running') return start(seen, spec, { before, existing }, now);
  return goOn(seen, spec, { before, existing, leader: cluster.leader }, now);
}

function problemOf({ source, databases, ifExists }: RestoreSpec): string | undefined {
  if ((source.backupRef === undefined) === (source.url === undefined))
    return 'spec.source needs exactly one of backupRef and url';
  if (source.url !== undefined && databases?.length !== 1)
    return 'spec.databases needs exactly one database with spec.source.url: an archive holds one';
  if (source.credentialsSecret !== undefined && source.url === undefined)
    return 'spec.source.credentialsSecret needs spec.source.url: a Backup names its own Secret';
  const isPlain = source.url !== undefined && source.credentialsSecret === undefined;
  if (isPlain && ifExists === 'Replace')
    return 'not supported: spec.ifExists Replace with spec.source.url; drop the database first, or restore it under another name';
  const names = (databases ?? []).map((one) => one.as ?? one.name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  return twice === undefined ? undefined : `spec.databases names ${twice} twice`;
}

/** @returns what to say while, or because, the Backup gives no archives */
function sourceProblem(
  seen: RestoreView,
  spec: RestoreSpec,
  before: RestoreStatus,
): Draft | undefined {
  const name = spec.source.backupRef?.name;
  if (name === undefined) return undefined;
  const { backup } = seen;
  if (backup === undefined) return waits(before, 'BackupNotFound', `there is no Backup ${name}`);
  const of = (backup.spec as { readonly clusterRef?: { readonly name?: string } } | undefined)
    ?.clusterRef?.name;
  if (of !== spec.clusterRef.name && !isStreamed(backup))
    return failed(
      before,
      'InvalidSpec',
      `not supported: Backup ${name} is of Cluster ${of ?? ''}; archives of the method Server lie on a volume of that one`,
    );
  const phase = backup.status?.phase;
  if (phase === 'Failed') return failed(before, 'BackupFailed', `Backup ${name} failed`);
  if (phase !== 'Succeeded')
    return waits(before, 'WaitingForBackup', `waits for Backup ${name} to end`);
  return undefined;
}

function isStreamed(backup: BackupObject | undefined): boolean {
  return (backup?.spec as Partial<BackupSpec> | undefined)?.method === 'Stream';
}

/** A Job brings the archives to the leader. */
function isFetched({ backup, spec }: RestoreView): boolean {
  return isStreamed(backup) || spec?.source.credentialsSecret !== undefined;
}

/** Archives lie on the volume of one member, and the leader restores. */
function archivesElsewhere({ backup }: RestoreView, leader: string): string | undefined {
  if (isStreamed(backup)) return undefined;
  const holder = backup?.status?.member;
  if (holder === undefined || holder === leader) return undefined;
  return `the archives are on ${holder} and ${leader} leads: make ${holder} lead (POST /api/v1/cluster/leader)`;
}

function start(
  { backup }: RestoreView,
  spec: RestoreSpec,
  { before, existing }: { readonly before: RestoreStatus; readonly existing: readonly string[] },
  now: number,
): Draft {
  const inBackup = (backup?.status?.files ?? []).map(({ database }) => database);
  const wanted = spec.databases ?? inBackup.map((name) => ({ name, as: undefined }));
  const absent = wanted.filter(({ name }) => backup !== undefined && !inBackup.includes(name));
  if (absent.length > 0)
    return failed(
      before,
      'DatabaseNotFound',
      `the Backup has no archive of ${absent.map(({ name }) => name).join(', ')}`,
    );
  const there = wanted.map(({ name, as }) => as ?? name).filter((name) => existing.includes(name));
  if (spec.ifExists === 'Fail' && there.length > 0)
    return failed(before, 'DatabaseExists', `there is a database ${there.join(', ')} already`);
  const databases = wanted.map(
    ({ name, as }): RestoredDatabase => ({ name, as: as ?? name, phase: 'Pending' }),
  );
  return running(
    { ...before, startedAt: iso(now), databases },
    `begins with ${databases.length} databases`,
    0,
  );
}

interface Present {
  readonly before: RestoreStatus;
  readonly existing: readonly string[];
  readonly leader: string;
}

function goOn(seen: RestoreView, spec: RestoreSpec, present: Present, now: number): Draft {
  const { before, existing } = present;
  const { databases = [], begun } = before;
  const next = databases.find(({ phase }) => phase === 'Pending');
  if (next === undefined) return end(before);
  const { call } = seen;
  if (begun?.name !== next.name) {
    const isThere = existing.includes(next.as);
    if (isThere && spec.ifExists === 'Fail')
      return advance(before, { ...next, phase: 'Failed', message: 'it came about meanwhile' });
    return begin(seen, present, { next, step: isThere ? 'Backup' : firstStep(seen) }, now);
  }
  if (begun.step === 'Fetch') return fetch(seen, present, next, now);
  if (call?.state === 'running') return running(before, wordsOf(begun, next), againMs.wait);
  const ended =
    begun.step === 'Backup'
      ? endBackup(seen, present, next, now)
      : endRestore(seen, spec, present, next);
  if (ended !== undefined) return ended;
  if (call !== undefined && 'atMs' in call && now < call.atMs + againMs.busy)
    return running(
      before,
      `${wordsOf(begun, next)} waits: ${call.message}`,
      call.atMs + againMs.busy - now,
    );
  const isStranded = isFetched(seen) && begun.member !== present.leader;
  const step = begun.step === 'Restore' && isStranded ? 'Fetch' : begun.step;
  return begin(seen, present, { next, step }, now);
}

function firstStep(seen: RestoreView): Begun['step'] {
  return isFetched(seen) ? 'Fetch' : 'Restore';
}

/** The archive is on its way to the leader. */
function fetch(seen: RestoreView, present: Present, next: RestoredDatabase, now: number): Draft {
  const { before, leader } = present;
  const { begun } = before;
  const { job } = seen;
  // It was brought to a member that leads no more.
  if (begun === undefined || begun.member !== leader)
    return begin(seen, present, { next, step: 'Fetch' }, now);
  if (job?.state === 'absent')
    return { ...running(before, wordsOf(begun, next), againMs.wait), call: { kind: 'fetch' } };
  if (job?.state === 'failed')
    return advance(before, { ...next, phase: 'Failed', message: job.message.slice(0, 512) });
  if (job?.state === 'succeeded') return begin(seen, present, { next, step: 'Restore' }, now);
  const why = job?.state === 'running' ? job.problem : 'the operator may not read Jobs';
  const words = wordsOf(begun, next);
  return running(before, why === undefined ? words : `${words}, which waits: ${why}`, againMs.wait);
}

function wordsOf({ step, member }: Begun, { name, as }: RestoredDatabase): string {
  if (step === 'Fetch') return `brings the archive of ${name} to ${member}`;
  return step === 'Backup'
    ? `backs up ${as} on ${member}`
    : `restores ${name} as ${as} on ${member}`;
}

/** The database that is about to be replaced has its archive. @returns undefined: it is not known */
function endBackup(
  seen: RestoreView,
  present: Present,
  next: RestoredDatabase,
  now: number,
): Draft | undefined {
  const { call, archives } = seen;
  const { before } = present;
  if (call?.state === 'refused')
    return advance(before, { ...next, phase: 'Failed', message: call.message });
  const named = call?.state === 'done' ? call.result : undefined;
  const archive = archiveOf(archives ?? [], before.begun?.at ?? '', named);
  if (archive === undefined) return undefined;
  const kept = { ...next, before: archive.fileName };
  const status = { ...before, databases: replaced(before, kept) };
  return begin(seen, { ...present, before: status }, { next: kept, step: firstStep(seen) }, now);
}

/** @returns undefined: it is not known whether it came about */
function endRestore(
  { call }: RestoreView,
  spec: RestoreSpec,
  { before, existing }: Present,
  next: RestoredDatabase,
): Draft | undefined {
  const isNew = spec.ifExists === 'Fail' || next.before === undefined;
  const mayBeLost = call?.state !== 'refused' || (before.begun?.attempts ?? 0) > 1;
  if (call?.state === 'done' || (isNew && mayBeLost && existing.includes(next.as)))
    return advance(before, { ...next, phase: 'Succeeded' });
  if (call?.state !== 'refused') return undefined;
  return advance(before, { ...next, phase: 'Failed', message: call.message.slice(0, 512) });
}

function begin(
  seen: RestoreView,
  { before, leader }: Pick<Present, 'before' | 'leader'>,
  { next, step }: { readonly next: RestoredDatabase; readonly step: Begun['step'] },
  now: number,
): Draft {
  const last = before.begun;
  const isAgain = last?.name === next.name && last.step === step;
  // The file that was brought is named by the moment when that was begun.
  const isBrought = isFetched(seen) && step !== 'Backup';
  const goesOn = isAgain || (isBrought && last?.name === next.name && last.step !== 'Backup');
  const begun: Begun = {
    name: next.name,
    step,
    member: leader,
    at: goesOn ? last.at : iso(now),
    attempts: isAgain || step === 'Fetch' ? (last?.attempts ?? 0) + 1 : 1,
  };
  const again = running({ ...before, begun }, wordsOf(begun, next), againMs.wait);
  return { ...again, call: callOf(seen, begun, next) };
}

function callOf({ backup, spec, ...seen }: RestoreView, begun: Begun, next: RestoredDatabase) {
  const { step, name: database, at } = begun;
  if (step === 'Backup') return { kind: 'backup', database: next.as } as const;
  if (step === 'Fetch') return { kind: 'fetch' } as const;
  const isBrought = isFetched({ backup, spec, ...seen });
  const url = spec?.source.url;
  if (url !== undefined && !isBrought) return { kind: 'url', url, as: next.as } as const;
  const kept = backup?.status?.files?.find((file) => file.database === database)?.name ?? '';
  const fileName = isBrought ? archiveFileName(database, at) : kept;
  const overwrites = next.before !== undefined;
  return { kind: 'archive', database, fileName, as: next.as, overwrites, isBrought } as const;
}

function replaced({ databases = [] }: RestoreStatus, next: RestoredDatabase) {
  return databases.map((one) => (one.name === next.name ? next : one));
}

function advance({ begun: _, ...before }: RestoreStatus, ended: RestoredDatabase): Draft {
  return running(
    { ...before, databases: replaced(before, ended) },
    `after ${ended.as} the next one`,
    0,
  );
}

function end(status: RestoreStatus): Draft {
  const { databases = [] } = status;
  const bad = databases.filter(({ phase }) => phase === 'Failed');
  const [first] = bad;
  if (first !== undefined)
    return failed(
      status,
      'RestoreFailed',
      `${bad.length} of ${databases.length} databases failed; ${first.as}: ${first.message ?? ''}`,
    );
  const message = `${databases.length} databases restored`;
  return { status, progress: { phase: 'Succeeded', reason: 'Succeeded', message } };
}
