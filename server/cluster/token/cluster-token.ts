import { timingSafeEqual, hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SettingsReader } from '#config/effective-settings.ts';
import { haClusterName, haClusterToken, haClusterTokenPath } from '#config/cluster-settings.ts';
import { serverRootPassword } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import type { KeyDerivation } from '#platform/key-derivation.ts';
import { type ForwardedRights, readRights } from './forwarded-rights.ts';

export type TokenSource = 'setting' | 'environment' | 'file' | 'derived';

const environmentName = 'HA_CLUSTER_TOKEN';
const iterations = 100_000;
/** Shorter ones are warned of: they can be guessed. */
const shortLength = 16;

/**
 * The secret by which servers of one cluster know each other over HTTP (contract 3, Authentication 2; ha.md 4.6). It is never
 * written, logged or listed.
 */
export class ClusterToken {
  /** In order: the first is sent, all are accepted. */
  #values: readonly string[];
  #digests: readonly Buffer[];
  /** `derived`: of cluster name and root password; a new password does not change it while the server runs. */
  readonly source: TokenSource;

  constructor(values: readonly string[], source: TokenSource = 'setting') {
    this.#values = values;
    this.#digests = values.map(digestOf);
    this.source = source;
  }

  /** What this server sends. */
  get value(): string {
    return this.#values[0] ?? '';
  }

  /** Whether it is a token of this cluster; takes as long for every text. */
  accepts(given: string): boolean {
    const digest = digestOf(given);
    let isKnown = false;
    for (const known of this.#digests) if (timingSafeEqual(known, digest)) isKnown = true;
    return isKnown;
  }

  /** What was signed with a token of this cluster. */
  read(signed: string): ForwardedRights | undefined {
    for (const value of this.#values) {
      const rights = readRights(signed, value);
      if (rights !== undefined) return rights;
    }
    return undefined;
  }

  /** The file holds others now. */
  replace(values: readonly string[]): void {
    this.#values = values;
    this.#digests = values.map(digestOf);
  }
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/**
 * `clusterToken`, else the environment's, else the file's, else the derived one.
 * @throws DatabaseError `InvalidSetting` when there is nothing to make it of
 */
export async function openClusterToken(
  settings: SettingsReader,
  {
    environment,
    derivation,
    warn,
  }: {
    readonly environment: Readonly<Record<string, string | undefined>>;
    readonly derivation: KeyDerivation;
    readonly warn: (text: string) => void;
  },
): Promise<ClusterToken> {
  const said = explicitToken(settings, environment);
  if (said === undefined) return deriveToken(settings, derivation);
  for (const { value, source } of said.values) {
    if (!/^[\x21-\x7e]+$/.test(value))
      throw new DatabaseError('InvalidSetting', `${source}: use printable ASCII without blanks`);
    if (value.length < shortLength)
      warn(`${source} has ${value.length} characters; use ${shortLength} or more`);
  }
  return new ClusterToken(
    said.values.map(({ value }) => value),
    said.from,
  );
}

interface SaidToken {
  readonly value: string;
  readonly source: string;
}

function explicitToken(
  settings: SettingsReader,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly from: TokenSource; readonly values: readonly SaidToken[] } | undefined {
  const ofSetting = settings.get(haClusterToken).trim();
  if (ofSetting !== '')
    return { from: 'setting', values: [{ value: ofSetting, source: haClusterToken.key }] };
  const ofEnvironment = environment[environmentName]?.trim() ?? '';
  if (ofEnvironment !== '')
    return { from: 'environment', values: [{ value: ofEnvironment, source: environmentName }] };
  const path = settings.get(haClusterTokenPath).trim();
  if (path === '') return undefined;
  const source = haClusterTokenPath.key;
  return { from: 'file', values: readTokenFile(path).map((value) => ({ value, source })) };
}

/** Of several lines the first is sent and each is accepted. @throws DatabaseError `InvalidSetting` */
export function readTokenFile(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new DatabaseError(
      'InvalidSetting',
      `${haClusterTokenPath.key} '${path}' cannot be read (${code})`,
    );
  }
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0)
    throw new DatabaseError('InvalidSetting', `${haClusterTokenPath.key} '${path}' is empty`);
  return lines;
}

/**
 * Follows the file of the token: lines that come are accepted as soon as they are read, and the first is sent. A file that cannot
 * be read changes nothing. @returns the way to stop
 */
export function watchTokenFile(
  token: ClusterToken,
  settings: SettingsReader,
  { timers, everyMs }: { readonly timers: Timers; readonly everyMs: number },
): () => void {
  const path = settings.get(haClusterTokenPath).trim();
  if (path === '' || token.source !== 'file') return () => {};
  let stop = () => {};
  const look = () => {
    try {
      token.replace(readTokenFile(path));
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
    }
    stop = timers.after(everyMs, look);
  };
  stop = timers.after(everyMs, look);
  return () => stop();
}

async function deriveToken(
  settings: SettingsReader,
  derivation: KeyDerivation,
): Promise<ClusterToken> {
  const password = settings.get(serverRootPassword);
  if (password === '')
    throw new DatabaseError(
      'InvalidSetting',
      `${haClusterToken.key}: the token cannot be derived; set it, ${environmentName}, ${haClusterTokenPath.key}, or ${serverRootPassword.key} on each start`,
    );
  const name = settings.get(haClusterName);
  const salt = Buffer.from(`service-cluster-token:${name}`);
  const key = await derivation.derive(`${name}:${password}`, salt, iterations);
  return new ClusterToken([Buffer.from(key).toString('hex')], 'derived');
}
