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
}

export interface GuardVerdict {
  readonly mayStart: boolean;
  /** For the termination message, by which the operator learns it. */
  readonly message: string;
}

interface Marker {
  readonly clusterId: string;
  readonly ordinal: number;
  readonly incarnation: number;
}

interface MembersFile {
  readonly clusterId: string;
  readonly initialised: boolean;
  readonly members: Readonly<
    Record<string, { readonly state: string; readonly incarnation: number }>
  >;
}

const markerName = '.polyad-volume.json';
const directories = ['databases', 'config', 'backups'] as const;

/** @throws Error when the volume or the record cannot be read; the pod then tries again */
export async function guardVolume(inputs: GuardInputs): Promise<GuardVerdict> {
  const ordinal = Number(/-(\d+)$/.exec(inputs.podName)?.[1]);
  if (!Number.isInteger(ordinal))
    return { mayStart: false, message: `the pod name '${inputs.podName}' ends with no ordinal` };
  const record = JSON.parse(
    await readFile(join(inputs.members, 'members.json'), 'utf8'),
  ) as MembersFile;
  const marker = await readMarker(inputs.volume);
  const verdict = await judge({ inputs, ordinal, record, marker });
  if (verdict.mayStart) await installFiles({ ...inputs, directories });
  return verdict;
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
  if (marker === undefined) {
    if (state === 'member')
      return {
        mayStart: false,
        message: `VolumeLost: the volume of ${inputs.podName} is empty, but the record says that it holds data`,
      };
    await writeMarker(inputs.volume, next);
    return { mayStart: true, message: `new volume, incarnation ${incarnation}` };
  }
  const isOwn = marker.clusterId === record.clusterId && marker.ordinal === ordinal;
  if (!isOwn && state !== 'adopt')
    return {
      mayStart: false,
      message: `ForeignVolume: the volume of ${inputs.podName} belongs to ordinal ${marker.ordinal} of the cluster ${marker.clusterId}`,
    };
  if (isOwn && marker.incarnation < incarnation && state === 'replace')
    await setAside(inputs.volume, marker.incarnation);
  if (!isOwn || marker.incarnation < incarnation) await writeMarker(inputs.volume, next);
  return { mayStart: true, message: `known volume, incarnation ${next.incarnation}` };
}

/** The data of an earlier life, whose loss was approved, is kept beside the new one. */
async function setAside(volume: string, incarnation: number): Promise<void> {
  const target = join(volume, `retired-${incarnation}`);
  await mkdir(target, { recursive: true, mode: directoryMode });
  for (const directory of ['databases', 'config'] as const) {
    const present = join(volume, directory);
    if (existsSync(present)) await rename(present, join(target, directory));
  }
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
  const verdict = await guardVolume({
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
