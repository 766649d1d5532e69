import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { quickStart } from '../../support/server-process.ts';

export const password = 'playwithdata';

/** A cluster of real processes, ended behind the test. */
export async function startProcesses(
  context: TestContext,
  count: number,
  settings: Readonly<Record<string, string>> = {},
  environmentOf: (place: number) => Readonly<Record<string, string>> = () => ({}),
): Promise<LocalCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-cluster-'));
  const cluster = new LocalCluster({
    directory,
    count,
    rootPassword: password,
    settings: { 'ha.electionTimeoutMin': '1000', 'ha.electionTimeoutMax': '2000', ...settings },
    environment: quickStart,
    environmentOf,
  });
  context.after(async () => {
    await cluster.kill();
    rmSync(directory, { recursive: true, force: true });
  });
  await cluster.start();
  return cluster;
}

/** Nobody shall be elected, however much else the machine has to do. */
export const patient = {
  'ha.electionTimeoutMin': '4000',
  'ha.electionTimeoutMax': '6000',
  'ha.forwardLeaderWaitTimeoutMs': '1000',
};

export interface Answered {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

export async function command(
  cluster: LocalCluster,
  server: LocalServer,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const body = { language: 'sql', command: text };
  return cluster.ask(server, 'POST', 'command/school', body, headers);
}

const repeatsMax = 200;

/** Repeats what was refused for want of a leader, as documented: on a busy machine there may be an election at any time. */
export async function repeated(ask: () => Promise<Answered>): Promise<Answered> {
  for (let turn = 1; ; turn += 1) {
    const answer = await ask();
    if (answer.status !== 503 || turn === repeatsMax) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Rows of a statement, which must succeed. */
export async function rows(
  cluster: LocalCluster,
  server: LocalServer,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly Record<string, unknown>[]> {
  const answer = await repeated(() => command(cluster, server, text, headers));
  assert.equal(answer.status, 200, `${text}: ${JSON.stringify(answer.body)}`);
  return (answer.body as { result: Record<string, unknown>[] }).result;
}

/** How many persons the copy of this server has: a query is answered by the server that is asked, or refused. */
export async function ownCount(cluster: LocalCluster, server: LocalServer): Promise<number> {
  const body = { language: 'sql', command: 'SELECT FROM Person' };
  const answer = await repeated(() =>
    cluster.ask(server, 'POST', 'query/school', body, linearizable),
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return (answer.body as { result: unknown[] }).result.length;
}

/** The school with its type, made through one server and seen on all. */
export async function makeSchool(cluster: LocalCluster, server: LocalServer): Promise<void> {
  const create = { command: 'create database school' };
  const made = await repeated(() => cluster.ask(server, 'POST', 'server', create));
  assert.equal(made.status, 200, JSON.stringify(made.body));
  await rows(cluster, server, 'CREATE VERTEX TYPE Person');
  await rows(cluster, server, 'CREATE PROPERTY Person.number INTEGER');
  await rows(cluster, server, 'CREATE INDEX ON Person (number) UNIQUE');
}

export const linearizable = { 'x-service-read-consistency': 'linearizable' };

export async function until(
  what: string,
  holds: () => Promise<boolean>,
  attempts = 600,
): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if (await holds().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`did not come about: ${what}`);
}
