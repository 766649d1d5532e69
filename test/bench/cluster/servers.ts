import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { cpuSeconds } from '../child.ts';
import { requestBytes } from '../http-load.ts';

export const password = 'bench-password';
export const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
const database = 'bench';
const insert = JSON.stringify({ language: 'sql', command: "INSERT INTO Log SET text = 'entry'" });
export const insertRequest = requestBytes(
  'POST',
  `/api/v1/command/${database}`,
  { authorization },
  insert,
);

export interface Group {
  readonly cluster: LocalCluster;
  leader(): Promise<LocalServer>;
  /** Processor seconds of all servers so far. */
  cpuSeconds(): number;
}

export interface GroupOptions {
  /** 3: a cluster; 1: the same tree without HA. */
  readonly count: 3 | 1;
  /** Connections between servers can be cut; they cost time. */
  readonly hasLinks?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Servers of their own for `work`, with an empty type to write to. */
export async function withServers<T>(
  { count, hasLinks = false, environment = {} }: GroupOptions,
  work: (group: Group) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const alone = { 'ha.enabled': 'false', 'server.readinessRequiresHA': 'false' };
  const cluster = new LocalCluster({
    directory,
    count,
    rootPassword: password,
    isDirect: !hasLinks,
    settings: count === 1 ? alone : {},
    environment,
  });
  const leader = async () => (count === 1 ? cluster.server(0) : await cluster.leader());
  try {
    await cluster.start();
    const first = await leader();
    await required(cluster, first, 'server', { command: `create database ${database}` });
    await command(cluster, first, 'CREATE DOCUMENT TYPE Log');
    return await work({ cluster, leader, cpuSeconds: () => cpuOf(cluster) });
  } finally {
    await cluster.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}

function cpuOf({ servers }: LocalCluster): number {
  let seconds = 0;
  for (const { pid } of servers) seconds += pid === undefined ? 0 : cpuSeconds(pid);
  return seconds;
}

/** @returns the rows; @throws Error with the answer when it is none */
export async function command(
  cluster: LocalCluster,
  server: LocalServer,
  text: string,
): Promise<readonly Record<string, unknown>[]> {
  const body = { language: 'sql', command: text };
  const answer = await required(cluster, server, `command/${database}`, body);
  return (answer as { result: Record<string, unknown>[] }).result;
}

export async function required(
  cluster: LocalCluster,
  server: LocalServer,
  path: string,
  body: unknown,
): Promise<unknown> {
  const answer = await cluster.ask(server, 'POST', path, body);
  if (answer.status !== 200)
    throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

const attemptMs = 400;

/**
 * One write, repeated on one server after the other until one takes it, as a client does.
 * @returns milliseconds from `since` until the answer
 */
export async function writeSomewhere(servers: readonly LocalServer[], since: number) {
  for (let n = 0; ; n += 1) {
    const server = servers[n % servers.length] as LocalServer;
    const url = `http://127.0.0.1:${server.httpPort}/api/v1/command/${database}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(attemptMs);
    try {
      const answer = await fetch(url, { method: 'POST', headers, body: insert, signal });
      await answer.text();
      if (answer.status === 200) return performance.now() - since;
    } catch {
      // Not reachable, or too slow: the next one.
    }
    if (performance.now() - since > 60_000) throw new Error('nobody takes a write for a minute');
    await sleep(5);
  }
}
