import { lookup } from 'node:dns/promises';
import { open } from 'node:fs/promises';
import { isIP, type BlockList } from 'node:net';
import type { Readable } from 'node:stream';
import { DatabaseError } from '#core/errors.ts';
import { isBlockedAddress } from './address-ranges.ts';

/** What may be fetched from elsewhere (security.md 8.1). */
export interface FetchPolicy {
  /** Addresses that are not public may be asked, too. */
  readonly allowsLocal: boolean;
  /** Ranges that may be asked although they are not public. */
  readonly allowed: BlockList;
  readonly bytesMax: number;
  /** The setting that bounds `bytesMax`, for the message. */
  readonly bytesSetting: string;
}

export interface Download {
  readonly url: string;
  readonly path: string;
  readonly policy: FetchPolicy;
  readonly signal: AbortSignal;
  readonly onRead: (bytes: number) => void;
  /** Stands in for the resolver, in tests. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

const redirectsMax = 5;
const timeoutMs = 30_000;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Downloads a file by http or https. Every address that the host name stands for is judged and the connection goes to the
 * judged one, at each redirect anew. Credentials of the URL go to its own host only.
 * @returns the URL that gave the file
 * @throws DatabaseError `Forbidden` for a refused address and too many redirects, `IllegalArgument` for another scheme, `TooLarge`, `CommandExecution`
 *   for what the other side answers or does not answer
 */
export async function download(download: Download): Promise<string> {
  let url = parseUrl(download.url);
  let credentials = credentialsOf(url);
  for (let redirects = 0; ; redirects += 1) {
    const next = await fetchOnce(url, credentials, download);
    if (next === undefined) return url.href;
    if (redirects >= redirectsMax)
      throw new DatabaseError(
        'Forbidden',
        `cannot fetch '${url.href}': more than ${redirectsMax} redirects`,
      );
    const target = parseUrl(next, url);
    if (target.host !== url.host || target.protocol !== url.protocol) credentials = undefined;
    credentials = credentialsOf(target) ?? credentials;
    url = target;
  }
}

function parseUrl(text: string, from?: URL): URL {
  let url: URL;
  try {
    url = new URL(text, from);
  } catch (cause) {
    throw new DatabaseError('IllegalArgument', `'${text.slice(0, 200)}' is no URL`, { cause });
  }
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new DatabaseError('Forbidden', `only http and https are fetched, not '${url.protocol}'`);
}

function credentialsOf(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const user = decoded(url.username);
  const password = decoded(url.password);
  url.username = '';
  url.password = '';
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new DatabaseError('IllegalArgument', 'the credentials of a URL are not well encoded', {
      cause,
    });
  }
}

/** @returns where the answer sends us, undefined when the file is there */
async function fetchOnce(
  url: URL,
  credentials: string | undefined,
  { path, policy, signal, onRead, resolve = resolveAll }: Download,
): Promise<string | undefined> {
  const address = await allowedAddress(url, policy, resolve);
  // Loaded when it is needed: an idle server would hold some 10 MB for it.
  const { Agent, request } = await import('undici');
  const agent = new Agent({
    connect: {
      timeout: timeoutMs,
      lookup: (_host, options, done) => {
        const family = isIP(address);
        if (options.all) done(null, [{ address, family }]);
        else done(null, address, family);
      },
    },
  });
  try {
    const answer = await request(url, {
      dispatcher: agent,
      signal,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      headers: {
        'user-agent': 'polyad',
        ...(credentials === undefined ? {} : { authorization: credentials }),
      },
    });
    const { statusCode, headers, body } = answer;
    const location = headers['location'];
    if (redirectStatuses.has(statusCode) && typeof location === 'string') {
      drop(body);
      return location;
    }
    if (statusCode !== 200) {
      drop(body);
      throw failed(url, `it answers status ${statusCode}`);
    }
    await store(body, { path, policy, onRead });
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError || signal.aborted) throw error;
    throw failed(url, error instanceof Error ? error.message : String(error), error);
  } finally {
    await agent.destroy();
  }
}

/** The answer is not read any further; breaking it off is an error of the stream that nobody else hears of. */
function drop(body: Readable): void {
  body.on('error', () => {});
  body.destroy();
}

function failed(url: URL, reason: string, cause?: unknown): DatabaseError {
  return new DatabaseError('CommandExecution', `cannot fetch '${url.href}': ${reason}`, { cause });
}

async function resolveAll(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

/** One address of the host, when all of them may be asked. */
async function allowedAddress(
  url: URL,
  policy: FetchPolicy,
  resolve: (host: string) => Promise<readonly string[]>,
): Promise<string> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  let addresses: readonly string[];
  try {
    addresses = isIP(host) === 0 ? await resolve(host) : [host];
  } catch (error) {
    throw failed(url, `the host is not known (${String(error)})`, error);
  }
  const [first] = addresses;
  if (first === undefined) throw failed(url, 'the host has no address');
  const isRefused = (address: string): boolean => isBlockedAddress(address, policy.allowed);
  if (!policy.allowsLocal && addresses.some(isRefused)) {
    throw new DatabaseError(
      'Forbidden',
      `'${host}' has an address that is not public; service.server.security.importAllowedNetworks lists the exceptions`,
    );
  }
  return first;
}

async function store(
  body: AsyncIterable<Uint8Array>,
  { path, policy, onRead }: Pick<Download, 'path' | 'policy' | 'onRead'>,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > policy.bytesMax) {
        const limit = `${policy.bytesMax} bytes (${policy.bytesSetting})`;
        throw new DatabaseError('TooLarge', `the fetched file is longer than ${limit}`);
      }
      for (let at = 0; at < piece.length; ) {
        const { bytesWritten } = await file.write(piece, at);
        at += bytesWritten;
      }
      onRead(piece.length);
    }
  } finally {
    await file.close();
  }
}
