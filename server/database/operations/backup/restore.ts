import { open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { SettingSpec } from '#config/setting.ts';
import { DatabaseError } from '#core/errors.ts';
import { readArchive } from '#platform/archive/reader.ts';
import { decryptFile } from '#platform/archive/file-cipher.ts';
import { directorySynced } from '#platform/files.ts';
import type { ProgressReporter } from '../../progress/progress-registry.ts';
import { archiveLimits, dataFileName, manifestName } from './archive.ts';
import { checkEnvironmentApart } from '../check/environment-check.ts';

export interface RestoreJob {
  /** The archive. */
  readonly path: string;
  /** Empty; holds the files of the database when this resolves. */
  readonly directory: string;
  /** Of an encrypted archive. */
  readonly passphrase: string | undefined;
  /** Whose archive it must be; absent: anybody's. */
  readonly database?: string;
  readonly settings: SettingsReader;
  /** How large a file of it may be; default: `service.server.restoreMaxEntrySize` */
  readonly entryLimit?: SettingSpec<number>;
  readonly reporter: ProgressReporter;
}

export const restoreStepCount = 3;
const zipMagic = 'PK';

/**
 * Unpacks an archive into the directory of a database to be: only what belongs there, within the bounds of the settings,
 * compared with its manifest, and read from end to end.
 * @throws DatabaseError `Validation` for what is no archive of this server, damaged, or beyond a bound
 */
export async function unpackBackup(job: RestoreJob): Promise<void> {
  const { directory, reporter } = job;
  const archive = await plainArchive(job);
  const { size } = await stat(archive);
  reporter.step('unpacking', undefined);
  reporter.count('archiveBytes', size);
  let unpackedBytes = 0;
  const files = await readArchive({
    path: archive,
    directory,
    accepts: (name) => name === dataFileName || name === manifestName,
    limits: archiveLimits(job.settings, job.entryLimit),
    signal: reporter.signal,
    onRead: (bytes) => {
      reporter.check();
      reporter.advance(bytes);
      unpackedBytes += bytes;
      reporter.count('bytes', unpackedBytes);
    },
  });
  const manifestPath = join(directory, manifestName);
  const manifestFile = files.find(({ name }) => name === manifestName);
  if (manifestFile === undefined || manifestFile.size > manifestBytesMax)
    throw invalid(`it has no '${manifestName}' of a usual size`);
  const { parseManifest } = await import('./manifest.ts');
  const manifest = parseManifest(await readFile(manifestPath, 'utf8'));
  if (job.database !== undefined && manifest.database !== job.database)
    throw invalid(`it holds '${manifest.database.slice(0, 100)}' and not '${job.database}'`);
  for (const expected of manifest.files) {
    const found = files.find(({ name }) => name === expected.name);
    if (found === undefined) throw invalid(`'${expected.name}' is missing in it`);
    if (found.size !== expected.size || found.sha256 !== expected.sha256)
      throw invalid(`'${expected.name}' does not match its digest`);
  }
  reporter.check();
  reporter.step('checking', undefined);
  await checkEnvironmentApart(directory, reporter.signal);
  await rm(manifestPath);
  if (archive !== job.path) await rm(archive);
  // What the check leaves behind, and nothing that was not in the archive.
  await rm(join(directory, 'lock.mdb'), { force: true });
  await directorySynced(directory);
}

const manifestBytesMax = 1024 * 1024;

function invalid(reason: string): DatabaseError {
  return new DatabaseError('Validation', `the archive is refused: ${reason}`);
}

/** The archive itself, or what it decrypts to. */
async function plainArchive(job: RestoreJob): Promise<string> {
  const { path, directory, passphrase, reporter } = job;
  reporter.step('opening the archive', undefined);
  const head = Buffer.alloc(2);
  const file = await open(path, 'r');
  try {
    await file.read(head, 0, head.length, 0);
  } finally {
    await file.close();
  }
  if (head.toString('latin1') === zipMagic) return path;
  if (passphrase === undefined)
    throw invalid("it is no ZIP archive; an encrypted one needs 'encryptionKey'");
  const plain = join(directory, 'archive.zip');
  await decryptFile({ from: path, to: plain, passphrase, signal: reporter.signal });
  return plain;
}
