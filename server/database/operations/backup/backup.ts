import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SettingsReader } from '#config/effective-settings.ts';
import { backupCompressionLevel, backupMaxMBPerSecond } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import { directorySynced } from '#platform/files.ts';
import { type ArchivedFile, writeArchive } from '#platform/archive/writer.ts';
import { ratioFloorBytes, readArchive } from '#platform/archive/reader.ts';
import { encryptFile } from '#platform/archive/file-cipher.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { EnvironmentFacts } from '#storage/environment/check.ts';
import type { ProgressReporter } from '../../progress/progress-registry.ts';
import { archiveLimits, dataFileName, manifestName } from './archive.ts';
import type { BackupManifest } from './manifest.ts';
import { checkEnvironmentApart } from '../check/environment-check.ts';
import { OperationSettings } from '../operation-settings.ts';

/** How an archive is written. */
export interface BackupOptions {
  /** 0 (stored) to 9. */
  readonly compressionLevel: number;
  /** Bytes of the database read each second; 0: as fast as it goes. */
  readonly bytesPerSecondMax: number;
  /** Undefined: not encrypted. */
  readonly passphrase: string | undefined;
}

const settingNames = [
  'compressionLevel',
  'compressionThreads',
  'encryptionAlgorithm',
  'encryptionKey',
  'maxMBPerSecond',
] as const;
const algorithms: ReadonlySet<string> = new Set(['aes', 'aes/ctr', 'aes-256-ctr']);

/**
 * The settings of BACKUP DATABASE, over the defaults of the database. `compressionThreads` is checked and has no effect:
 * deflating runs beside the event loop in any case.
 * @throws DatabaseError `IllegalArgument` naming the setting
 */
export function backupOptions(given: Value | undefined, defaults: SettingsReader): BackupOptions {
  const settings = new OperationSettings('backup', given);
  const level = settings.integer('compressionLevel', 0, 9);
  const rate = settings.integer('maxMBPerSecond', 0, 1_000_000);
  settings.integer('compressionThreads', 0, 1024);
  const algorithm = settings.text('encryptionAlgorithm');
  const passphrase = settings.text('encryptionKey');
  settings.requireNoOther(settingNames);
  if (algorithm !== undefined && !algorithms.has(algorithm.toLowerCase()))
    throw new DatabaseError(
      'IllegalArgument',
      `backup setting 'encryptionAlgorithm' is '${algorithm}'; only AES (AES-256-CTR) is supported`,
    );
  if (passphrase === '' || (algorithm !== undefined && passphrase === undefined))
    throw new DatabaseError('IllegalArgument', "backup setting 'encryptionKey' is missing");
  return {
    compressionLevel: level ?? defaults.get(backupCompressionLevel),
    bytesPerSecondMax: (rate ?? defaults.get(backupMaxMBPerSecond)) * 1024 * 1024,
    passphrase,
  };
}

export interface BackupJob {
  readonly database: string;
  readonly engine: StorageEngine;
  /** Holds the archives of the database; made when it is missing. */
  readonly directory: string;
  readonly fileName: string;
  readonly options: BackupOptions;
  readonly settings: SettingsReader;
  readonly reporter: ProgressReporter;
  readonly runtime: Runtime;
}

export interface BackupSizes {
  readonly archiveBytes: number;
  /** Of the database that it unpacks to. */
  readonly databaseBytes: number;
}

/** What stands in the directory while an archive is being made starts with this. */
export const temporaryPrefix = '.backup-tmp-';
export const backupStepCount = 3;

/**
 * Writes an archive of the state of this moment, while statements go on: a compacted copy of the environment is read from end
 * to end by another process while it is packed, unpacked again and compared. The archive appears under its name when the copy
 * is sound and the archive is whole and on the disk.
 *
 * Needs room for the copy and the archive in the directory.
 * @returns how large the archive is
 */
export async function writeBackup(job: BackupJob): Promise<BackupSizes> {
  const { directory, fileName, runtime, reporter } = job;
  const suffix = runtime.random.uint32().toString(16).padStart(8, '0');
  const work = join(directory, `${temporaryPrefix}${suffix}`);
  await mkdir(work, { recursive: true, mode: 0o700 });
  try {
    const { finished, databaseBytes } = await makeArchive(job, work);
    reporter.check();
    const target = join(directory, fileName);
    const { size } = await stat(finished);
    await rename(finished, target);
    await directorySynced(directory);
    return { archiveBytes: size, databaseBytes };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function makeArchive(
  job: BackupJob,
  work: string,
): Promise<{ readonly finished: string; readonly databaseBytes: number }> {
  const { engine, reporter, options } = job;
  const { signal } = reporter;
  reporter.step('copying', undefined);
  const copy = join(work, 'copy');
  const copying = engine.copyTo(copy);
  try {
    await abandonable(copying, signal);
  } catch (error) {
    // The copy that goes on makes its directory anew when that was removed before it began to write.
    const tidyUp = () => rm(work, { recursive: true, force: true });
    copying.then(tidyUp, tidyUp).catch(() => {});
    throw error;
  }
  reporter.check();
  const data = join(copy, dataFileName);
  const { size } = await stat(data);
  const archive = join(work, 'archive.zip');
  const files = await beside(reporter.signal, (given) => {
    const facts = checkEnvironmentApart(copy, given);
    return [facts, packed(job, { data, size, archive, facts, signal: given })];
  });
  await rm(data);
  reporter.step('verifying', size);
  await requireSame(job, archive, files);
  if (options.passphrase === undefined) return { finished: archive, databaseBytes: size };
  const encrypted = join(work, 'archive.encrypted');
  const { passphrase } = options;
  await encryptFile({ from: archive, to: encrypted, passphrase, signal });
  return { finished: encrypted, databaseBytes: size };
}

async function isTooDense({ settings }: BackupJob, path: string, size: number): Promise<boolean> {
  if (size <= ratioFloorBytes) return false;
  return size > (await stat(path)).size * archiveLimits(settings).ratioMax;
}

/** LMDB's copy cannot be interrupted; nobody waits for it longer than the operation lives. */
async function abandonable(copying: Promise<void>, signal: AbortSignal): Promise<void> {
  await new Promise<void>((done, failed) => {
    const onAbort = () => failed(new DatabaseError('Cancelled', 'the backup was cancelled'));
    signal.addEventListener('abort', onAbort, { once: true });
    copying.then(done, failed).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Two works at the same time; the first one that fails ends the other and is the reason. @returns what the second one gives */
async function beside<T>(
  signal: AbortSignal,
  works: (signal: AbortSignal) => readonly [Promise<unknown>, Promise<T>],
): Promise<T> {
  const failed = new AbortController();
  const all = works(AbortSignal.any([signal, failed.signal]));
  try {
    return (await Promise.all(all))[1];
  } catch (error) {
    failed.abort(error);
    await Promise.allSettled(all);
    throw error;
  }
}

interface Packing {
  readonly data: string;
  readonly size: number;
  readonly archive: string;
  /** Of the copy, once it has been read. */
  readonly facts: Promise<EnvironmentFacts>;
  readonly signal: AbortSignal;
}

async function packed(job: BackupJob, packing: Packing): Promise<readonly ArchivedFile[]> {
  const files = await pack(job, packing, job.options.compressionLevel);
  if (!(await isTooDense(job, packing.archive, packing.size))) return files;
  // Restoring must not take our own archive for a bomb.
  await rm(packing.archive);
  return await pack(job, packing, 0);
}

async function pack(
  { database, reporter, runtime, options }: BackupJob,
  { data, size, archive, facts, signal }: Packing,
  compressionLevel: number,
): Promise<readonly ArchivedFile[]> {
  const { clock, timers } = runtime;
  reporter.step('packing', size);
  let written: readonly ArchivedFile[] = [];
  let readBytes = 0;
  const startMs = clock.monotonicMs();
  await writeArchive({
    path: archive,
    files: [{ name: dataFileName, path: data, sizeBytes: size }],
    compressionLevel,
    manifest: async (files) => {
      written = files;
      const manifest: BackupManifest = {
        format: 'service-backup',
        version: 1,
        database,
        createdAt: clock.now(),
        lastTxId: (await facts).applied.txId,
        engine: 'lmdb',
        files,
      };
      return { name: manifestName, content: `${JSON.stringify(manifest, undefined, 2)}\n` };
    },
    signal,
    onRead: async (bytes) => {
      reporter.check();
      reporter.advance(bytes);
      readBytes += bytes;
      reporter.count('bytes', readBytes);
      if (options.bytesPerSecondMax === 0) return;
      const dueMs = startMs + (readBytes / options.bytesPerSecondMax) * 1000;
      // In short pauses, so that a cancel is heard.
      for (let left = dueMs - clock.monotonicMs(); left > 1; left = dueMs - clock.monotonicMs()) {
        await timers.sleep(Math.min(left, 500));
        reporter.check();
      }
    },
  });
  return written;
}

/** Reads the archive back. @throws DatabaseError `Validation` when it does not hold what was read from the copy */
async function requireSame(
  { reporter, settings }: BackupJob,
  path: string,
  files: readonly ArchivedFile[],
): Promise<void> {
  const found = await readArchive({
    path,
    directory: undefined,
    accepts: () => true,
    // What was just written may be as large as it is.
    limits: { ...archiveLimits(settings), entryBytesMax: Infinity, ratioMax: Infinity },
    signal: reporter.signal,
    onRead: (bytes) => {
      reporter.check();
      reporter.advance(bytes);
    },
  });
  for (const file of files) {
    const read = found.find(({ name }) => name === file.name);
    if (read?.sha256 === file.sha256 && read.size === file.size) continue;
    throw new DatabaseError('Validation', `'${file.name}' was not written as it was read`);
  }
}
