import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { directoryMode, installFiles, replaceFile } from '../pod/install-files.ts';

/*
 * The volume guard: runs before the server in each pod (operator.md 5.2). It compares the marker on its volume with the record
 * of the operator, refuses to let an empty or foreign volume take the place of one that held data, and installs the managed
 * files. It needs neither the API server nor the operator, so a normal restart works without both. Loads nothing but Node.
 */

export interface GuardInputs {
  /** The data volume as a whole. */
  readonly volume: string;
  /** Files of the operator, mounted read-only: `service.json`, `backup.json`. */
  readonly managedFiles: string;
  /** `members.json`. */
  readonly members: string;
  readonly podName: string;
  /** The volume of the Raft log, where it has one of its own. */
  readonly raftVolume?: string;
}

export interface GuardVerdict {
  readonly mayStart: boolean;
  /** For the termination message, by which the operator learns it. */
  readonly message: string;
  /** How the server finds its group (operator.md 5.2). */
  readonly startMode?: 'auto' | 'bootstrap' | 'join';
}

interface Marker {
  readonly clusterId: string;
  readonly ordinal: number;
  readonly incarnation: number;
}

interface MembersFile {
  readonly clusterId: string;
  readonly initialised: boolean;
  readonly replicated?: boolean;
  /** All form the group together, by the list of servers. */
  readonly formation?: 'static';
  /** Ordinals that never lead. */
  readonly followers?: readonly number[];
  /** A lost quorum is given up: one member goes on alone, the others wait for it. */
  readonly recovery?: {
    readonly token: string;
    readonly survivor: number;
    readonly step: 'stop' | 'survive';
  };
  readonly members: Readonly<
    Record<string, { readonly state: string; readonly incarnation: number }>
  >;
}

const markerName = '.polyad-volume.json';
const directories = ['databases', 'config', 'backups'] as const;
/** Names of the settings by which a member forms a group or joins one. */
const startModeKey = 'service.ha.startMode';
const roleKey = 'service.ha.serverRole';
const recoveryKey = 'service.ha.quorumRecovery';

/** @throws Error when the volume or the record cannot be read; the pod then tries again */
export async function guardVolume(inputs: GuardInputs): Promise<GuardVerdict> {
  const ordinal = Number(/-(\d+)$/.exec(inputs.podName)?.[1]);
  if (!Number.isInteger(ordinal))
    return { mayStart: false, message: `the pod name '${inputs.podName}' ends with no ordinal` };
  const record = JSON.parse(
    await readFile(join(inputs.members, 'members.json'), 'utf8'),
  ) as MembersFile;
  const marker = await readMarker(inputs.volume);
  const recovering = judgeRecovery(inputs.podName, ordinal, record, marker);
  if (recovering !== undefined) return recovering;
  const verdict = await judge({ inputs, ordinal, record, marker });
  if (!verdict.mayStart) return verdict;
  await mkdir(join(inputs.raftVolume ?? inputs.volume, 'raft'), {
    recursive: true,
    mode: directoryMode,
  });
  const settings = record.replicated
    ? {
        [startModeKey]: verdict.startMode ?? 'auto',
        ...(record.followers?.includes(ordinal) ? { [roleKey]: 'replica' } : undefined),
        ...(record.recovery === undefined ? undefined : { [recoveryKey]: record.recovery.token }),
      }
    : undefined;
  await installFiles({ ...inputs, directories, ...(settings && { settings }) });
  return verdict;
}

/** @returns undefined when it may be looked at as ever: there is no recovery, or this is who goes on alone */
function judgeRecovery(
  podName: string,
  ordinal: number,
  { clusterId, recovery }: MembersFile,
  marker: Marker | undefined,
): GuardVerdict | undefined {
  if (recovery === undefined) return undefined;
  const { survivor, step } = recovery;
  const refuse = (why: string) => ({
    mayStart: false,
    message: `QuorumRecovery: ${podName} ${why}`,
  });
  if (step === 'stop') return refuse('waits until all members have stopped');
  if (ordinal !== survivor)
    return refuse(`waits until ordinal ${survivor} leads; its volume is left as it is`);
  const isOwn = marker?.clusterId === clusterId && marker.ordinal === ordinal;
  return isOwn ? undefined : refuse('has no data of this cluster and cannot go on alone');
}

interface Case {
  readonly inputs: GuardInputs;
  readonly ordinal: number;
  readonly record: MembersFile;
  readonly marker: Marker | undefined;
}

async function judge({ inputs, ordinal, record, marker }: Case): Promise<GuardVerdict> {
  const { state, incarnation } = record.members[String(ordinal)] ?? {
    state: 'fresh',
    incarnation: 1,
  };
  const next: Marker = { clusterId: record.clusterId, ordinal, incarnation };
  if (marker === undefined && state === 'adopt' && holdsData(inputs)) {
    await writeMarker(inputs.volume, next);
    return { mayStart: true, message: `volume taken over, incarnation ${incarnation}` };
  }
  if (marker === undefined) {
    if (record.replicated) return beginReplica(inputs, record, next, state);
    // One that was to be taken over held data as well.
    if (state === 'member' || state === 'adopt')
      return { mayStart: false, message: volumeLost(inputs.podName) };
    await writeMarker(inputs.volume, next);
    return { mayStart: true, message: `new volume, incarnation ${incarnation}` };
  }
  const isOwn = marker.clusterId === record.clusterId && marker.ordinal === ordinal;
  if (!isOwn && state !== 'adopt')
    return {
      mayStart: false,
      message: `ForeignVolume: the volume of ${inputs.podName} belongs to ordinal ${marker.ordinal} of the cluster ${marker.clusterId}`,
    };
  const isEarlier = isOwn && marker.incarnation < incarnation;
  if (isEarlier && state === 'replace') await setAside(inputs, marker.incarnation);
  if (!isOwn || marker.incarnation < incarnation) await writeMarker(inputs.volume, next);
  if (record.replicated && isEarlier && state === 'replace')
    return {
      mayStart: true,
      message: `volume of an earlier life, incarnation ${next.incarnation}, joins`,
      startMode: 'join',
    };
  return { mayStart: true, message: `known volume, incarnation ${next.incarnation}` };
}

/** Somebody laid data on the volume that no guard has seen. */
function holdsData({ volume, raftVolume }: GuardInputs): boolean {
  return existsSync(join(volume, 'databases')) || existsSync(join(raftVolume ?? volume, 'raft'));
}

function volumeLost(podName: string): string {
  return `VolumeLost: the volume of ${podName} is empty, but the record says that it holds data`;
}

/** An empty volume joins the group that there is; one forms it, once, and it is ordinal 0. */
async function beginReplica(
  { volume, podName }: GuardInputs,
  { initialised, formation, members }: MembersFile,
  next: Marker,
  state: string,
): Promise<GuardVerdict> {
  const others = Object.entries(members).filter(
    ([ordinal, other]) => Number(ordinal) !== next.ordinal && other.state === 'member',
  );
  const isOnly = others.length === 0;
  if (state === 'member' && isOnly) return { mayStart: false, message: volumeLost(podName) };
  if (!initialised && formation === 'static') {
    await writeMarker(volume, next);
    return { mayStart: true, message: 'new volume, forms the group with the others' };
  }
  if (!initialised && next.ordinal !== 0)
    return { mayStart: false, message: `${podName} waits: the group is not formed yet` };
  await writeMarker(volume, next);
  if (!initialised || (isOnly && state === 'replace'))
    return { mayStart: true, message: 'new volume, forms the group', startMode: 'bootstrap' };
  const message =
    state === 'member'
      ? `VolumeLost: the volume of ${podName} is empty; it joins anew`
      : `new volume, incarnation ${next.incarnation}, joins`;
  return { mayStart: true, message, startMode: 'join' };
}

/** The data of an earlier life, whose loss was approved, is kept beside the new one. */
async function setAside({ volume, raftVolume }: GuardInputs, incarnation: number): Promise<void> {
  const target = join(volume, `retired-${incarnation}`);
  await mkdir(target, { recursive: true, mode: directoryMode });
  for (const directory of ['databases', 'config'] as const) {
    const present = join(volume, directory);
    if (existsSync(present)) await rename(present, join(target, directory));
  }
  const log = join(raftVolume ?? volume, 'raft');
  if (existsSync(log)) await rename(log, join(raftVolume ?? volume, `raft-retired-${incarnation}`));
}

async function readMarker(volume: string): Promise<Marker | undefined> {
  try {
    return JSON.parse(await readFile(join(volume, markerName), 'utf8')) as Marker;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all, also when the power fails. */
async function writeMarker(volume: string, marker: Marker): Promise<void> {
  await replaceFile(join(volume, markerName), `${JSON.stringify(marker)}\n`);
}

/** Runs in the init container. @returns the exit code */
export async function runGuard(
  environment: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  const raftVolume = environment['POLYAD_GUARD_RAFT_VOLUME'] ?? '/raft-volume';
  const verdict = await guardVolume({
    ...(existsSync(raftVolume) ? { raftVolume } : undefined),
    volume: environment['POLYAD_GUARD_VOLUME'] ?? '/volume',
    managedFiles: environment['POLYAD_GUARD_FILES'] ?? '/etc/polyad/config',
    members: environment['POLYAD_GUARD_MEMBERS'] ?? '/etc/polyad/members',
    podName: environment['POD_NAME'] ?? '',
  }).catch((error: unknown) => ({
    mayStart: false,
    message: `the volume guard failed: ${String(error)}`,
  }));
  write(`${verdict.message}\n`);
  const path = environment['POLYAD_GUARD_MESSAGE'] ?? '/dev/termination-log';
  // Without it the log still says why.
  await writeFile(path, verdict.message).catch(() => {});
  return verdict.mayStart ? 0 : 1;
}
