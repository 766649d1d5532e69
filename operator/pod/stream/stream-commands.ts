import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseFlags } from '../flags.ts';
import type { Flags } from '../flags.ts';
import { DirectoryStore } from './directory-store.ts';
import { S3Store } from './s3-store.ts';
import { openSnapshot } from './snapshot-source.ts';
import { checkedPieces, deleteArchive, keepArchive } from './stored.ts';
import type { ArchiveStore } from './stored.ts';

/*
 * What Jobs of backups do (operator.md 3.8, method Stream): keep an archive outside of the volumes of members, bring one back to the
 * backup directory of a member, delete some. Repeating any of them is harmless. The result goes to the termination message.
 */

const tokenPath = '/etc/polyad/token/token';
const authorityPath = '/etc/polyad/authority/ca.crt';
/** Secret of the storage, one file for each key. */
const credentialsDirectory = '/etc/polyad/s3';
/** The claim that holds archives. */
const archivesDirectory = '/archives';
/** The backup directory of the member. */
const targetDirectory = '/backups';
const messagePath = '/dev/termination-log';

/** Where the files of a Job are; tests have others. */
export interface StreamPlaces {
  readonly token: string;
  readonly authority: string;
  readonly credentials: string;
  readonly archives: string;
  readonly target: string;
  readonly message: string;
}

const standardPlaces: StreamPlaces = {
  token: tokenPath,
  authority: authorityPath,
  credentials: credentialsDirectory,
  archives: archivesDirectory,
  target: targetDirectory,
  message: messagePath,
};

export interface StreamSurroundings {
  readonly now: () => number;
  /** For the log of the Job. */
  readonly write: (line: string) => void;
  readonly places?: Partial<StreamPlaces>;
  /** Between attempts. */
  readonly pauseMs?: number;
}

const storeFlags = ['endpoint', 'bucket'] as const;

/** `backup-stream --member=… --database= --name= [--endpoint= --bucket=]`: keeps the snapshot of a database. */
export async function runBackupStream(
  words: readonly string[],
  surroundings: StreamSurroundings,
): Promise<number> {
  const flags = parseFlags(words, ['member', 'database', 'name', 'verify', ...storeFlags]);
  const places = { ...standardPlaces, ...surroundings.places };
  const store = await storeOf(flags, places, surroundings);
  const { pauseMs } = surroundings;
  const name = required(flags, 'name');
  const database = required(flags, 'database');
  const { member, commitIndex, pieces } = await openSnapshot({
    members: flags.all('member'),
    database,
    token: (await readFile(places.token, 'utf8')).split('\n')[0]?.trim() ?? '',
    authority: await optionalText(places.authority),
    ...(pauseMs === undefined ? undefined : { pauseMs }),
  });
  const about = { database, ...(commitIndex === undefined ? undefined : { commitIndex }) };
  const archive = await keepArchive(store, name, about, pieces);
  if (flags.one('verify') === 'true')
    for await (const _ of checkedPieces(store, name, archive)) {
      // Read to its end, so that its digest is compared.
    }
  const { bytes, sha256 } = archive;
  await tell(surroundings, places, { member, bytes, sha256, ...about });
  return 0;
}

/** `fetch-archive --name= --file= [--digest=] [--endpoint= --bucket=]`: brings an archive to a member. */
export async function runFetchArchive(
  words: readonly string[],
  surroundings: StreamSurroundings,
): Promise<number> {
  const flags = parseFlags(words, ['name', 'file', 'digest', 'url', ...storeFlags]);
  const places = { ...standardPlaces, ...surroundings.places };
  const url = flags.one('url');
  const { store, name } =
    url === undefined
      ? { store: await storeOf(flags, places, surroundings), name: required(flags, 'name') }
      : await storeOfUrl(url, places, surroundings);
  const target = new DirectoryStore(places.target);
  const file = required(flags, 'file');
  const sha256 = flags.one('digest');
  await target.write(file, checkedPieces(store, name, sha256 === undefined ? {} : { sha256 }));
  await tell(surroundings, places, { file });
  return 0;
}

/** `delete-archives --name=… [--endpoint= --bucket=]` */
export async function runDeleteArchives(
  words: readonly string[],
  surroundings: StreamSurroundings,
): Promise<number> {
  const flags = parseFlags(words, ['name', ...storeFlags]);
  const places = { ...standardPlaces, ...surroundings.places };
  const store = await storeOf(flags, places, surroundings);
  const names = flags.all('name');
  for (const name of names) await deleteArchive(store, name);
  await tell(surroundings, places, { deleted: names.length });
  return 0;
}

async function storeOf(
  flags: Flags,
  places: StreamPlaces,
  surroundings: StreamSurroundings,
): Promise<ArchiveStore> {
  const endpoint = flags.one('endpoint');
  if (endpoint === undefined) return new DirectoryStore(places.archives);
  return s3({ endpoint, bucket: required(flags, 'bucket') }, places, surroundings);
}

/** `https://endpoint/bucket/name` */
async function storeOfUrl(text: string, places: StreamPlaces, surroundings: StreamSurroundings) {
  const url = new URL(text);
  const [bucket = '', ...rest] = url.pathname.slice(1).split('/').map(decodeURIComponent);
  if (bucket === '' || rest.join('/') === '')
    throw new Error('spec.source.url must name the storage, the bucket and the archive');
  const store = await s3({ endpoint: url.origin, bucket }, places, surroundings);
  return { store, name: rest.join('/') };
}

async function s3(
  { endpoint, bucket }: { readonly endpoint: string; readonly bucket: string },
  { credentials: directory }: StreamPlaces,
  { now, pauseMs }: StreamSurroundings,
): Promise<ArchiveStore> {
  const read = async (...keys: readonly string[]) => {
    for (const key of keys) {
      const text = await optionalText(join(directory, key));
      if (text !== undefined) return text.trim();
    }
    return undefined;
  };
  const accessKeyId = await read('accessKeyId', 'AWS_ACCESS_KEY_ID');
  const secretAccessKey = await read('secretAccessKey', 'AWS_SECRET_ACCESS_KEY');
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new Error('the Secret of the storage lacks the key accessKeyId or secretAccessKey');
  const credentials = {
    accessKeyId,
    secretAccessKey,
    sessionToken: await read('sessionToken', 'AWS_SESSION_TOKEN'),
    region: (await read('region', 'AWS_REGION')) ?? 'us-east-1',
  };
  const authority = await read('ca.crt');
  const pauses = pauseMs === undefined ? undefined : { pauseMs };
  return new S3Store({ endpoint, bucket, credentials, authority, now, ...pauses });
}

function required(flags: Flags, name: string): string {
  const found = flags.one(name);
  if (found === undefined || found === '') throw new Error(`--${name}= is missing`);
  return found;
}

async function optionalText(path: string): Promise<string | undefined> {
  return existsSync(path) ? readFile(path, 'utf8') : undefined;
}

async function tell(
  { write }: StreamSurroundings,
  { message }: StreamPlaces,
  result: object,
): Promise<void> {
  const text = JSON.stringify(result);
  // A kubelet makes the file; a container of another kind may have no such place.
  if (existsSync(dirname(message)) && basename(message) !== '') await writeFile(message, text);
  write(`${text}\n`);
}
