import { mkdtemp, open, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SettingsReader } from '#config/effective-settings.ts';
import {
  serverRestoreImportAllowLocalUrls,
  serverSecurityImportAllowedLocalPaths,
  serverSecurityImportAllowedNetworks,
  serverSecurityImportBlockLocalNetworks,
  serverSecurityImportMaxSize,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { rangesOf } from '#platform/address-ranges.ts';
import { download } from '#platform/remote-fetch.ts';

// Where restore and import read from: a file of the machine, a file of the package, or a download, which becomes a file first,
// so that it can be read several times.

/** Who asks decides which switch opens private networks (security.md 8.1). */
export type SourceDoor = 'command' | 'statement';

export interface SourceOptions {
  readonly settings: SettingsReader;
  readonly door: SourceDoor;
  /** Relative paths lie below it, or else in the directory of exports. */
  readonly rootPath: string;
  readonly exportsPath: string;
  /** Directories that nothing is read from: what the server keeps there is nobody's import. */
  readonly closedDirectories: readonly string[];
  /** Files lie in or below this directory, whatever their paths say; absent: where the paths say. */
  readonly within?: string | undefined;
  /** For downloads; made when needed. */
  readonly temporaryDirectory?: string;
  readonly signal: AbortSignal;
  readonly onRead: (bytes: number) => void;
}

/** A readable file of the machine; `dispose` deletes it when it was downloaded. */
export interface SourceFile {
  readonly path: string;
  /** The last part of the name, without directories and query. */
  readonly name: string;
  /** `url:::entry` names an entry of an archive. */
  readonly entry: string | undefined;
  dispose(): Promise<void>;
}

/** What the system shows there as files is its own: environments of processes, devices, mounted secrets. */
const systemDirectories = ['/proc', '/sys', '/dev', '/run/secrets', '/var/run/secrets'] as const;

const assets = fileURLToPath(new URL('../../../assets/', import.meta.url));

/**
 * Makes what a URL names readable: `file://` or a path, `classpath://`, `http://`, `https://`.
 * @throws DatabaseError `Forbidden` for a refused address or path, `IllegalArgument` for another scheme or no such file
 */
export async function openSource(url: string, options: SourceOptions): Promise<SourceFile> {
  const { location, entry } = splitEntry(url);
  if (location.includes('\u0000') || location.trim() === '')
    throw new DatabaseError('IllegalArgument', 'the URL is empty or holds NUL');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(location)?.[1]?.toLowerCase();
  switch (scheme) {
    case 'http':
    case 'https':
      return { ...(await fetched(location, options)), entry };
    case 'classpath':
      return { ...(await asset(location)), entry };
    case 'file':
    case undefined:
      return { ...(await localFile(location, options)), entry };
    default:
      throw new DatabaseError(
        'Forbidden',
        `URL scheme '${scheme}' is not allowed; use file://, http://, https:// or classpath://`,
      );
  }
}

/** The URL without what may stand in it as a secret, for logs and events. */
export function shownUrl(url: string): string {
  return url.replace(/\/\/[^/@\s]*@/, '//***@').replace(/[?#].*$/s, '');
}

function splitEntry(url: string): {
  readonly location: string;
  readonly entry: string | undefined;
} {
  const at = url.indexOf(':::');
  if (at < 0) return { location: url, entry: undefined };
  return { location: url.slice(0, at), entry: url.slice(at + 3) };
}

async function localFile(
  location: string,
  { settings, rootPath, exportsPath, closedDirectories, within }: SourceOptions,
): Promise<Omit<SourceFile, 'entry'>> {
  const given = within === undefined ? pathOf(location) : pathOf(location).replace(/^\/+/, '');
  const below = resolve(within ?? rootPath, given);
  const isThere = await stat(below).then(
    () => true,
    () => false,
  );
  const path = isThere || within !== undefined ? below : resolve(exportsPath, given);
  const real = await realpath(path).catch(() => undefined);
  const closed = await realDirectories([...closedDirectories, ...systemDirectories]);
  // Judged before anything is told about what is there or not.
  const judged = real ?? path;
  const allowed = await realDirectories(
    listOf(settings.get(serverSecurityImportAllowedLocalPaths)),
  );
  const [inside] = within === undefined ? [] : await realDirectories([within]);
  if (inside !== undefined && !isBelow(judged, inside))
    throw new DatabaseError('Forbidden', `'${location}' leads out of the directory for such files`);
  if (allowed.length > 0 && !allowed.some((directory) => isBelow(judged, directory)))
    throw new DatabaseError(
      'Forbidden',
      `'${path}' lies outside of service.server.security.importAllowedLocalPaths`,
    );
  if (closed.some((directory) => isBelow(judged, directory)))
    throw new DatabaseError('Forbidden', `'${path}' belongs to the server or the system`);
  if (real === undefined) throw notFound(path);
  await requireFile(real, path);
  return { path: real, name: nameOf(path), dispose: async () => {} };
}

function pathOf(location: string): string {
  if (!/^file:/i.test(location)) return location;
  const path = location.slice('file:'.length).replace(/^\/\/(?=.)/, '');
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function asset(location: string): Promise<Omit<SourceFile, 'entry'>> {
  const path = resolve(assets, location.replace(/^classpath:\/*/i, ''));
  if (!isBelow(path, resolve(assets)))
    throw new DatabaseError('Forbidden', `'${location}' leads out of the package`);
  await requireFile(path, location);
  return { path, name: nameOf(path), dispose: async () => {} };
}

async function requireFile(path: string, shown: string): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) throw notFound(shown);
  // A device or a pipe may have no end.
  if (!facts.isFile()) throw new DatabaseError('IllegalArgument', `'${shown}' is no regular file`);
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new DatabaseError('IllegalArgument', `'${shown}' cannot be read`, { cause });
  });
  await file.close();
}

function notFound(shown: string): DatabaseError {
  return new DatabaseError('IllegalArgument', `File '${shown}' was not found`);
}

async function fetched(url: string, options: SourceOptions): Promise<Omit<SourceFile, 'entry'>> {
  const { settings, door, signal, onRead } = options;
  const directory = await mkdtemp(join(options.temporaryDirectory ?? tmpdir(), '.fetch-tmp-'));
  const dispose = () => rm(directory, { recursive: true, force: true });
  try {
    const path = join(directory, 'download');
    const final = await download({
      url,
      path,
      policy: {
        allowsLocal:
          door === 'command'
            ? settings.get(serverRestoreImportAllowLocalUrls)
            : !settings.get(serverSecurityImportBlockLocalNetworks),
        allowed: allowedRanges(settings.get(serverSecurityImportAllowedNetworks)),
        bytesMax: settings.get(serverSecurityImportMaxSize),
        bytesSetting: serverSecurityImportMaxSize.key,
      },
      signal,
      onRead,
    });
    return { path, name: nameOf(new URL(final).pathname), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function allowedRanges(text: string): ReturnType<typeof rangesOf> {
  try {
    return rangesOf(listOf(text));
  } catch (cause) {
    throw new DatabaseError(
      'InvalidSetting',
      `service.server.security.importAllowedNetworks: ${String(cause)}`,
      { cause },
    );
  }
}

function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

async function realDirectories(paths: readonly string[]): Promise<readonly string[]> {
  return Promise.all(paths.map((path) => realpath(path).catch(() => resolve(path))));
}

function isBelow(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
