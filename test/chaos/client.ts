import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import type { Operation } from '../history/history.ts';

export const rootPassword = 'playwithdata';
export const database = 'chaos';
const patienceMs = 5000;
const refusedPauseMs = 100;

export type Row = Readonly<Record<string, unknown>>;

/** `failed`: certainly without effect. `unknown`: nobody knows. */
export type Answer =
  | {
      readonly outcome: 'ok';
      readonly rows: readonly Row[];
      readonly status: number;
      readonly commitIndex: number;
    }
  | { readonly outcome: 'failed' | 'unknown'; readonly status: number; readonly says: string };

export const linearizable = { 'x-service-read-consistency': 'linearizable' };
export const readYourWrites = { 'x-service-read-consistency': 'read_your_writes' };
export const eventual = { 'x-service-read-consistency': 'eventual' };

/** A statement of SQL, sent once: what comes back says whether it happened (house decision 9). */
export async function send(
  server: LocalServer,
  language: 'sql' | 'sqlscript',
  command: string,
  params: Row = {},
  headers: Readonly<Record<string, string>> = {},
  path: 'command' | 'query' = 'command',
): Promise<Answer> {
  const credentials = Buffer.from(`root:${rootPassword}`).toString('base64');
  try {
    const answer = await fetch(`http://127.0.0.1:${server.httpPort}/api/v1/${path}/${database}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${credentials}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ language, command, params, limit: -1 }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const text = await answer.text();
    const { status } = answer;
    const commitIndex = Number(answer.headers.get('x-service-commit-index') ?? 0);
    if (status === 200)
      return { outcome: 'ok', status, rows: JSON.parse(text).result, commitIndex };
    const isRefused = status === 503 || (status >= 400 && status < 500);
    return { outcome: isRefused ? 'failed' : 'unknown', status, says: text.slice(0, 500) };
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: string } };
    const isSent = cause?.code !== 'ECONNREFUSED';
    return { outcome: isSent ? 'unknown' : 'failed', status: 0, says: String(error) };
  }
}

/** What the clients of a cell did, in one clock. */
export class Recorder {
  readonly history: Operation[] = [];
  readonly counts = new Map<string, number>();

  async record(
    about: Pick<Operation, 'process' | 'op' | 'value'> & { readonly key?: string },
    server: LocalServer,
    send: () => Promise<Answer>,
    resultOf?: (rows: readonly Row[]) => unknown,
  ): Promise<Answer> {
    const call = performance.now();
    const answer = await send();
    const { outcome, status } = answer;
    const known = { ...about, call, outcome, status, node: server.options.name };
    const value = answer.outcome === 'ok' && resultOf ? resultOf(answer.rows) : about.value;
    this.history.push(
      outcome === 'unknown' ? known : { ...known, value, return: performance.now() },
    );
    // Nobody is there: asking on and on would only take the time of those who start.
    if (outcome === 'failed' && status === 0) await sleep(refusedPauseMs);
    const name = `${about.op} ${outcome}`;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    return answer;
  }
}

export interface Client {
  readonly process: string;
  readonly cluster: LocalCluster;
  readonly recorder: Recorder;
  readonly random: (n: number) => number;
}

export function anyServer({ cluster, random }: Client): LocalServer {
  return cluster.servers[random(cluster.servers.length)] as LocalServer;
}
