import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/*
 * Managed files are copied into the config directory on the volume: mounted in place they would be read-only for the server,
 * and through `subPath` they would never change.
 */

/** Mounted read-only. A file that is not among them is removed, so that what was taken back has no effect. */
const replaced = ['service.json', 'backup.json'] as const;
/** Belong to the server once they are there. */
const first = ['mcp-config.json'] as const;
/** A mode that lets the group write: the kubelet gives volumes to a group. */
export const directoryMode = 0o770;
const fileMode = 0o660;

/**
 * What every server in a pod starts with unless it is told otherwise: a pod that is deleted without grace has a successor while its
 * container still ends, on the same volume. Set here, since this comes from the server's own image: one of an earlier version
 * would refuse a setting that it does not know.
 */
const podSettings = { 'service.server.directoryLockTimeout': '30000' } as const;

export interface ConfigInputs {
  /** The data volume as a whole. */
  readonly volume: string;
  /** Where the files are mounted. */
  readonly managedFiles: string;
  /** Directories of the volume that the server's mounts need. */
  readonly directories: readonly string[];
  /** Settings of this member alone, added to those of all. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Makes the directories and installs the files. @throws Error when the volume cannot be written */
export async function installFiles(inputs: ConfigInputs): Promise<void> {
  for (const directory of inputs.directories)
    await mkdir(join(inputs.volume, directory), { recursive: true, mode: directoryMode });
  const given = new Set(await readdir(inputs.managedFiles));
  const config = join(inputs.volume, 'config');
  for (const name of replaced) {
    if (given.has(name)) await replaceFile(join(config, name), await contentOf(inputs, name));
    else await rm(join(config, name), { force: true });
  }
  const present = new Set(await readdir(config));
  for (const name of first)
    if (given.has(name) && !present.has(name))
      await replaceFile(join(config, name), await read(inputs, name));
}

async function contentOf(inputs: ConfigInputs, name: string): Promise<string> {
  const text = await read(inputs, name);
  if (name !== 'service.json') return text;
  const settings = { ...podSettings, ...(JSON.parse(text) as object), ...inputs.settings };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}

function read({ managedFiles }: ConfigInputs, name: string): Promise<string> {
  return readFile(join(managedFiles, name), 'utf8');
}

/** Whole or not at all, also when the power fails. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, 'w', fileMode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** The command `install-config`, in the init container of a pod of the chart. */
export async function runInstallConfig(
  environment: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  await installFiles({
    volume: environment['POLYAD_GUARD_VOLUME'] ?? '/volume',
    managedFiles: environment['POLYAD_GUARD_FILES'] ?? '/etc/polyad/config',
    directories: ['databases', 'config', 'backups', 'raft'],
  });
  write('configuration installed\n');
  return 0;
}
