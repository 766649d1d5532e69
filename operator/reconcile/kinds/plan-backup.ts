import type { BackupSpec, BackupStatus } from '../../api/kinds/backup.ts';
import { databasesMax } from '../../api/kinds/backup.ts';
import type {
  Archive,
  BackupAction,
  BackupDecision,
  BackupView,
  StreamResult,
} from '../../api/kinds/backup-view.ts';
import type { EventNote } from '../../api/decision.ts';
import { finalizerName } from '../../api/names.ts';
import { archivePath } from '../../resources/stream-tasks.ts';
import { isFinished, iso, statusWith } from './progress.ts';
import type { Progress } from './progress.ts';

/*
 * One Backup: databases one after the other. What is begun is written down first. By the method Server whether it came about is read
 * from the archives of the member, so an answer that is lost costs nothing; by Stream a Job does it, and says what it kept.
 */

const againMs = { wait: 5000, running: 5000, busy: 10_000 } as const;
/** How far the clocks of the operator and of a member may be apart. */
const skewMs = 5000;

interface Draft {
  readonly status: BackupStatus;
  readonly progress: Progress;
  readonly action?: BackupAction;
  readonly againAfterMs?: number;
}

export function planBackup(seen: BackupView, now: number): BackupDecision {
  const { backup } = seen;
  const before = backup.status ?? {};
  if (backup.metadata.deletionTimestamp !== undefined) return planDeletion(seen, before);
  if (isFinished(before.phase)) return settled(before);
  const draft = draftOf(seen, before, now);
  const { progress, action, againAfterMs } = draft;
  const generation = backup.metadata.generation ?? 0;
  return {
    status: statusWith(draft.status, progress, before.conditions, { now, generation }),
    ...(action === undefined ? undefined : { action }),
    events: eventsOf(progress),
    againAfterMs,
  };
}

function settled(status: BackupStatus): BackupDecision {
  return { status, events: [], againAfterMs: undefined };
}

function eventsOf({ phase, message, reason }: Progress): readonly EventNote[] {
  if (phase === 'Succeeded') return [{ type: 'Normal', reason: 'BackupSucceeded', note: message }];
  if (phase !== 'Failed') return [];
  const isInvalid = reason === 'InvalidSpec';
  return [{ type: 'Warning', reason: isInvalid ? reason : 'BackupFailed', note: message }];
}

function draftOf(seen: BackupView, before: BackupStatus, now: number): Draft {
  const { spec, cluster } = seen;
  if (spec === undefined) return failed(before, 'InvalidSpec', seen.problem ?? 'spec is not valid');
  const refusal = unsupported(spec);
  if (refusal !== undefined) return failed(before, 'InvalidSpec', refusal);
  if (cluster === undefined && before.phase === 'Running')
    return failed(before, 'ClusterGone', `Cluster ${spec.clusterRef.name} was deleted`);
  if (cluster === undefined)
    return pending(before, 'ClusterNotFound', `there is no Cluster ${spec.clusterRef.name}`);
  const isHeld = seen.backup.metadata.finalizers?.includes(finalizerName) ?? false;
  if (spec.deletionPolicy === 'Delete' && !isHeld)
    return {
      ...pending(before, 'Pending', 'about to begin'),
      action: { kind: 'set-finalizer', isPresent: true },
      againAfterMs: 0,
    };
  return before.phase === 'Running' ? goOn(seen, before, now) : start(seen, spec, before, now);
}

/**
 * @param at where the spec of the Backup stands
 * @returns a sentence that names the field whose effect there is not yet
 */
export function unsupported(spec: BackupSpec, at = 'spec'): string | undefined {
  const { method, destination } = spec;
  if (method === 'VolumeSnapshot')
    return `not supported: ${at}.method VolumeSnapshot; Server makes archives on the volume of the leader, Stream outside of it`;
  if (method === 'Server')
    return (
      destination &&
      `not supported: ${at}.destination with the method Server, which writes to the backup directory of the member`
    );
  const { persistentVolumeClaim: claim, s3 } = destination ?? {};
  if ((claim === undefined) === (s3 === undefined))
    return `${at}.destination needs exactly one of persistentVolumeClaim and s3 with the method Stream`;
  if (s3 !== undefined && !/^https?:\/\/[^/?#]+\/*$/.test(s3.endpoint))
    return `${at}.destination.s3.endpoint: '${s3.endpoint}' is no address such as https://storage.example:9000`;
  if (claim?.path !== undefined && /^\/|(^|\/)\.\.(\/|$)/.test(claim.path))
    return `${at}.destination.persistentVolumeClaim.path must be relative and without '..'`;
  return undefined;
}

function failed(status: BackupStatus, reason: string, message: string): Draft {
  return { status, progress: { phase: 'Failed', reason, message } };
}

function pending(status: BackupStatus, reason: string, message: string): Draft {
  return {
    status,
    progress: { phase: 'Pending', reason, message },
    againAfterMs: againMs.wait,
  };
}

function start(seen: BackupView, spec: BackupSpec, before: BackupStatus, now: number): Draft {
  const { cluster, member, databases, obstacle } = seen;
  if (obstacle !== undefined) return pending(before, 'WaitingForDestination', obstacle);
  if (member === undefined || !cluster?.isAvailable || databases === undefined)
    return pending(before, 'WaitingForCluster', 'waits for a leader that answers');
  const wanted = spec.databases ?? databases;
  const missing = wanted.filter((name) => !databases.includes(name));
  if (missing.length > 0)
    return failed(before, 'DatabaseNotFound', `there is no database ${missing.join(', ')}`);
  if (wanted.length > databasesMax)
    return failed(
      before,
      'InvalidSpec',
      `the Cluster has ${wanted.length} databases, a Backup takes ${databasesMax}: name them in spec.databases of several`,
    );
  return {
    status: { ...before, startedAt: iso(now), member, databases: [...wanted], files: [] },
    progress: { phase: 'Running', reason: 'Running', message: `begins on ${member}` },
    againAfterMs: 0,
  };
}

function goOn(seen: BackupView, before: BackupStatus, now: number): Draft {
  const { cluster, member, isAnswering } = seen;
  const { databases = [], files = [], failures = [] } = before;
  const next = databases.find((name) => !isDone(before, name));
  if (next === undefined) return end(before, seen.spec);
  const counted = `${files.length + failures.length} of ${databases.length} databases`;
  if (seen.spec?.method === 'Stream') return goOnStreaming(seen, before, { next, counted }, now);
  if (member === undefined || !(cluster?.members.includes(member) ?? false))
    return failed(
      before,
      'MemberGone',
      `${before.member ?? 'the member'} is no member any more, after ${counted}`,
    );
  if (before.begun?.database !== next) return begin(before, { member, next, counted }, now);
  const { call } = seen;
  const running = (message: string, againAfterMs: number): Draft => ({
    status: before,
    progress: { phase: 'Running', reason: 'Running', message },
    againAfterMs,
  });
  if (call?.state === 'running')
    return running(`${counted}, now ${next} on ${member}`, againMs.running);
  if (call?.state === 'refused') return advance(withFailure(before, next, call.message), counted);
  if (!isAnswering || seen.archives === undefined)
    return running(`${counted}, waits for ${member} to answer`, againMs.wait);
  const archive = archiveOf(
    seen.archives,
    before.begun.at,
    call?.state === 'done' ? call.result : undefined,
  );
  if (archive !== undefined) return advance(withFile(before, next, archive), counted);
  if (call !== undefined && 'atMs' in call && now < call.atMs + againMs.busy)
    return running(`${counted}, ${next} waits: ${call.message}`, call.atMs + againMs.busy - now);
  return begin(before, { member, next, counted }, now);
}

function goOnStreaming(
  seen: BackupView,
  before: BackupStatus,
  { next, counted }: { readonly next: string; readonly counted: string },
  now: number,
): Draft {
  const { job, obstacle } = seen;
  const running = (message: string, status = before): Draft => ({
    status,
    progress: { phase: 'Running', reason: 'Running', message: `${counted}, ${message}` },
    againAfterMs: againMs.running,
  });
  const action = { kind: 'stream', database: next } as const;
  if (before.begun?.database !== next) {
    const begun = { database: next, at: iso(now) };
    return { ...running(`now ${next}`, { ...before, begun }), action };
  }
  if (job === undefined) return running('waits for the right to read Jobs');
  switch (job.state) {
    case 'absent':
      return obstacle === undefined
        ? { ...running(`now ${next}`), action }
        : running(`${next} waits: ${obstacle}`);
    case 'running':
      return running(
        `now ${next}${job.problem === undefined ? '' : `, which waits: ${job.problem}`}`,
      );
    case 'failed':
      return advance(withFailure(before, next, job.message), counted);
    case 'succeeded':
      // What was kept is not known: it is kept once more, under the same name.
      if (job.result === undefined)
        return {
          ...running(`${next} once more: its result is lost`),
          action: { kind: 'drop-job' },
        };
      return advance(withStreamed(seen, before, job.result), counted);
  }
}

function withStreamed(
  { backup, spec }: BackupView,
  before: BackupStatus,
  { bytes, sha256, commitIndex }: StreamResult,
): BackupStatus {
  if (spec === undefined || before.begun === undefined) return before;
  const file = {
    database: before.begun.database,
    name: archivePath(backup, spec, before.begun),
    ...(bytes === undefined ? undefined : { bytes }),
    takenAt: before.begun.at,
    ...(sha256 === undefined ? undefined : { sha256 }),
    ...(commitIndex === undefined ? undefined : { commitIndex }),
  };
  return { ...before, files: [...(before.files ?? []), file] };
}

function isDone({ files = [], failures = [] }: BackupStatus, name: string): boolean {
  return [...files, ...failures].some(({ database }) => database === name);
}

/** The record of what is begun keeps its time while it is tried again. */
function begin(
  before: BackupStatus,
  {
    member,
    next,
    counted,
  }: { readonly member: string; readonly next: string; readonly counted: string },
  now: number,
): Draft {
  const begun = before.begun?.database === next ? before.begun : { database: next, at: iso(now) };
  return {
    status: { ...before, begun },
    progress: {
      phase: 'Running',
      reason: 'Running',
      message: `${counted}, now ${next} on ${member}`,
    },
    action: { kind: 'begin', member, database: next },
    againAfterMs: againMs.running,
  };
}

/** The one that the member named, or one that was taken since it was begun. */
export function archiveOf(
  archives: readonly Archive[],
  begunAt: string,
  named: string | undefined,
): Archive | undefined {
  if (named !== undefined) return archives.find(({ fileName }) => fileName === named);
  return archives.find(({ takenAtMs }) => takenAtMs >= Date.parse(begunAt) - skewMs);
}

function withFile(before: BackupStatus, database: string, archive: Archive): BackupStatus {
  const { fileName, bytes, takenAtMs } = archive;
  const file = {
    database,
    name: fileName,
    ...(bytes === undefined ? undefined : { bytes }),
    takenAt: iso(takenAtMs),
  };
  return { ...before, files: [...(before.files ?? []), file] };
}

function withFailure(before: BackupStatus, database: string, message: string): BackupStatus {
  const failure = { database, message: message.slice(0, 512) };
  return { ...before, failures: [...(before.failures ?? []), failure] };
}

function advance({ begun: _, ...status }: BackupStatus, counted: string): Draft {
  return {
    status,
    progress: { phase: 'Running', reason: 'Running', message: `after ${counted} the next one` },
    againAfterMs: 0,
  };
}

function end(status: BackupStatus, spec: BackupSpec | undefined): Draft {
  const { databases = [], failures = [], files = [] } = status;
  const [first] = failures;
  if (first !== undefined)
    return failed(
      status,
      'BackupFailed',
      `${failures.length} of ${databases.length} databases failed; ${first.database}: ${first.message}`,
    );
  const where = spec?.method === 'Stream' ? wordsOfDestination(spec) : `on ${status.member ?? ''}`;
  const message = `${files.length} archives ${where}`;
  return { status, progress: { phase: 'Succeeded', reason: 'Succeeded', message } };
}

function wordsOfDestination({ destination }: BackupSpec): string {
  const { persistentVolumeClaim: claim, s3 } = destination ?? {};
  return claim === undefined ? `in bucket ${s3?.bucket ?? ''}` : `on claim ${claim.name}`;
}

/** The archives go with the object when its policy says so and the member still has them. */
function planDeletion(seen: BackupView, before: BackupStatus): BackupDecision {
  const { backup, cluster, isAnswering } = seen;
  if (!(backup.metadata.finalizers?.includes(finalizerName) ?? false)) return settled(before);
  const letGo = { kind: 'set-finalizer', isPresent: false } as const;
  if (seen.spec?.method === 'Stream') {
    const { job, spec } = seen;
    const hasKept = (before.files ?? []).length > 0 || before.begun !== undefined;
    const isOver = !hasKept || spec.deletionPolicy !== 'Delete' || job?.state === 'succeeded';
    if (isOver) return { ...settled(before), action: letGo };
    // A Job that failed goes after a while, and then another one tries.
    const again = { ...settled(before), againAfterMs: againMs.running };
    return job?.state === 'absent' ? { ...again, action: { kind: 'delete-streamed' } } : again;
  }
  const { member = '' } = before;
  const isOver =
    (before.files ?? []).length === 0 ||
    cluster === undefined ||
    cluster.isDeleted ||
    !cluster.members.includes(member) ||
    seen.spec?.deletionPolicy !== 'Delete';
  if (isOver) return { ...settled(before), action: letGo };
  if (!isAnswering) return { ...settled(before), againAfterMs: againMs.wait };
  return { ...settled(before), action: { kind: 'delete-archives', member }, againAfterMs: 0 };
}
