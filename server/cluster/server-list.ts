import { isIP } from 'node:net';
import { DatabaseError } from '#core/errors.ts';
import type { DeclaredPeer } from './cluster-view.ts';

/*
 * `service.ha.serverList` (contract 3, Peer entry; ha.md 4.8): `[name@]host:{raft:..,http:..}` or
 * `[name@]host:raftPort:httpPort:priority:httpsPort`, mixed as one likes. What cannot be meant is refused when the server starts.
 */

export interface ServerListOptions {
  /** Of entries that say none. */
  readonly raftPort: number;
  /** `service.server.name`, by which this server finds itself. */
  readonly serverName: string;
  /** Appended to host names that lack it. */
  readonly k8sSuffix: string;
  /** A server beyond the list takes part under its own name. */
  readonly isK8s: boolean;
}

export interface ServerList {
  readonly peers: readonly DeclaredPeer[];
  readonly self: DeclaredPeer;
}

/** One entry as it stands, its ports where they are said. */
export interface ListEntry {
  readonly name: string | undefined;
  readonly host: string;
  readonly raft: number | undefined;
  readonly http: number | undefined;
  readonly https: number | undefined;
  readonly bolt: number | undefined;
  readonly grpc: number | undefined;
  readonly priority: number | undefined;
}

const keys = ['raft', 'http', 'https', 'bolt', 'grpc', 'priority'] as const;
type Key = (typeof keys)[number];
const positions: readonly Key[] = ['raft', 'http', 'priority', 'https'];

/** @throws DatabaseError `InvalidSetting` that names the entry and what is wrong with it */
export function parseServerList(text: string, options: ServerListOptions): ServerList {
  const entries = splitEntries(text).map((entry) => parseEntry(entry));
  if (entries.length === 0) return alone(options);
  requireDistinctNames(entries);
  const prefix = options.serverName.replace(/[-_]\d+$/, '');
  const given = new Set(entries.map(({ name }) => name));
  const peers = entries.map((entry, place) => {
    const made = `${prefix}_${place}`;
    return peerOf(entry, given.has(made) ? undefined : made, options);
  });
  requireDistinctPeers(peers);
  requireOneNetwork(peers);
  const self = ownPeer(entries, peers, options);
  return { peers: peers.includes(self) ? peers : [...peers, self], self };
}

/** Commas within braces separate fields, not entries. */
function splitEntries(text: string): readonly string[] {
  const entries: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const char = text[at];
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    if (depth < 0 || depth > 1 || (char === undefined && depth !== 0))
      throw wrong(text.slice(from), 'its braces do not match');
    if (char !== undefined && (char !== ',' || depth > 0)) continue;
    entries.push(text.slice(from, at).trim());
    from = at + 1;
  }
  if (entries.length === 1 && entries[0] === '') return [];
  const blank = entries.indexOf('');
  if (blank >= 0) throw wrong(text, `entry ${blank + 1} is empty`);
  return entries;
}

/** @throws DatabaseError `InvalidSetting` */
export function parseEntry(text: string): ListEntry {
  const [first = '', second, ...more] = text.split('@');
  if (more.length > 0) throw wrong(text, 'it has more than one @');
  const name = second === undefined ? undefined : first.trim();
  if (name === '') throw wrong(text, 'the name before @ is empty');
  const address = (second ?? first).trim();
  const parts = /^(\[[^\]]*\]|[^:[\]{}\s]+)(?::(.*))?$/s.exec(address);
  const [, host, rest = ''] = parts ?? [];
  if (host === undefined) throw wrong(text, 'it does not begin with a host');
  if (!host.startsWith('[') && !hostShape.test(host))
    throw wrong(text, `'${host.slice(0, 100)}' is no host name and no address`);
  if (host.startsWith('[') && isIP(host.slice(1, -1)) !== 6)
    throw wrong(text, 'brackets hold an IPv6 address');
  if (parts?.[2] === '') throw wrong(text, 'nothing follows the colon');
  const fields = rest.startsWith('{') ? objectForm(rest, text) : positionalForm(rest, text);
  const of = (key: Key) => fields.get(key);
  return {
    name,
    host,
    raft: of('raft'),
    http: of('http'),
    https: of('https'),
    bolt: of('bolt'),
    grpc: of('grpc'),
    priority: of('priority'),
  };
}

function objectForm(rest: string, text: string): ReadonlyMap<Key, number> {
  const body = /^\{([^{}]*)\}$/.exec(rest)?.[1];
  if (body === undefined) throw wrong(text, 'nothing may follow the closing brace');
  const fields = new Map<Key, number>();
  if (body.trim() === '') return fields;
  for (const part of body.split(',')) {
    const [key = '', value = '', ...more] = part.split(':').map((word) => word.trim());
    const known = keys.find((one) => one === key);
    if (known === undefined) throw wrong(text, `'${key}' is none of ${keys.join(', ')}`);
    if (fields.has(known)) throw wrong(text, `'${key}' stands twice`);
    if (more.length > 0) throw wrong(text, `'${key}' has more than one value`);
    fields.set(known, numberOf(known, value, text));
  }
  return fields;
}

function positionalForm(rest: string, text: string): ReadonlyMap<Key, number> {
  const fields = new Map<Key, number>();
  if (rest === '') return fields;
  const parts = rest.split(':').map((part) => part.trim());
  if (parts.length > positions.length)
    throw wrong(text, 'it has more than host:raftPort:httpPort:priority:httpsPort');
  for (const [at, key] of positions.entries()) {
    const part = parts[at];
    if (part !== undefined) fields.set(key, numberOf(key, part, text));
  }
  return fields;
}

function numberOf(key: Key, value: string, text: string): number {
  if (!/^-?\d{1,9}$/.test(value)) throw wrong(text, `'${value}' is no whole number for ${key}`);
  const number = Number(value);
  if (key !== 'priority' && (number < 1 || number > 65_535))
    throw wrong(text, `${value} is no port for ${key}; use 1 to 65535`);
  return number;
}

/** @param made the name of an entry without one; undefined: the id, since another entry has it */
function peerOf(
  entry: ListEntry,
  made: string | undefined,
  options: ServerListOptions,
): DeclaredPeer {
  const host = suffixed(entry.host, options.k8sSuffix);
  const raftPort = entry.raft ?? options.raftPort;
  return {
    id: peerIdOf(host, raftPort),
    name: entry.name ?? made ?? peerIdOf(host, raftPort),
    host,
    raftPort,
    http: entry.http,
    https: entry.https,
    bolt: entry.bolt,
    grpc: entry.grpc,
    priority: entry.priority ?? 0,
  };
}

/** Names as DNS and container networks have them; what could be a path or part of a URL is none. */
const hostShape = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?$/;

/** `<host>_<raftPort>` (contract 3): names do not matter for it. */
export function peerIdOf(host: string, raftPort: number): string {
  return `${host}_${raftPort}`;
}

function suffixed(host: string, suffix: string): string {
  if (suffix === '' || host === 'localhost' || host.startsWith('[') || isIP(host) !== 0)
    return host;
  return host.endsWith(suffix) ? host : host + suffix;
}

function requireDistinctNames(entries: readonly ListEntry[]): void {
  const seen = new Set<string>();
  for (const { name, host } of entries) {
    if (name === undefined) continue;
    if (seen.has(name)) throw wrong(`${name}@${host}`, `the name '${name}' stands twice`);
    seen.add(name);
  }
}

function requireDistinctPeers(peers: readonly DeclaredPeer[]): void {
  const seen = new Set<string>();
  for (const { id, host, raftPort } of peers) {
    if (seen.has(id)) throw wrong(`${host}:${raftPort}`, 'it stands twice');
    seen.add(id);
  }
}

/** From another machine a loopback address would be that machine itself. */
function requireOneNetwork(peers: readonly DeclaredPeer[]): void {
  const local = peers.filter(({ host }) => isLoopback(host));
  const [first] = local;
  if (first === undefined || local.length === peers.length) return;
  throw wrong(`${first.host}:${first.raftPort}`, 'loopback and other hosts do not mix');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || /^127\./.test(host) || host === '[::1]';
}

/** By name, else by host, else by the number at the end of the own name. */
function ownPeer(
  entries: readonly ListEntry[],
  peers: readonly DeclaredPeer[],
  options: ServerListOptions,
): DeclaredPeer {
  const { serverName, isK8s, k8sSuffix, raftPort } = options;
  const place = entries.findIndex(({ name }) => name === serverName);
  const hosts = [serverName, suffixed(serverName, k8sSuffix)];
  const found = peers[place] ?? peers.find(({ host }) => hosts.includes(host));
  if (found !== undefined) return found;
  const number = /[-_](\d{1,9})$/.exec(serverName)?.[1];
  const byNumber = number === undefined ? undefined : peers[Number(number)];
  if (byNumber !== undefined) return byNumber;
  if (isK8s && number !== undefined) {
    const host = suffixed(serverName, k8sSuffix);
    return { id: peerIdOf(host, raftPort), name: serverName, host, raftPort, priority: 0 };
  }
  const suffixes = peers.map((_, at) => `_${at}`).join(', ');
  throw new DatabaseError(
    'InvalidSetting',
    `service.ha.serverList: none of its entries has service.server.name '${serverName}' as its name or host; let that end with one of ${suffixes}, or name an entry ${serverName}@...`,
  );
}

/** Without a list this server is a cluster by itself. */
function alone({ serverName, raftPort }: ServerListOptions): ServerList {
  const host = 'localhost';
  const self = { id: peerIdOf(host, raftPort), name: serverName, host, raftPort, priority: 0 };
  return { peers: [self], self };
}

function wrong(entry: string, reason: string): DatabaseError {
  const shown = entry.trim().slice(0, 120);
  return new DatabaseError('InvalidSetting', `service.ha.serverList: entry '${shown}': ${reason}`);
}
