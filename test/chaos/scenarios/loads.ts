import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  linearizable,
  makeSchool,
  patient,
  rows,
  startProcesses,
} from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';

// Many edges at one vertex (ha-testing.md 10 C3).

const seed = Number(process.env['SEED'] ?? 1);
const edgeCount = 10_000;
const clientCount = 8;

test(`C3: ${edgeCount} edges to one vertex from ${clientCount} clients: few conflicts, and each edge once`, async (context) => {
  const cluster = await startProcesses(context, 3, patient);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await rows(cluster, leader, 'CREATE EDGE TYPE Knows');
  await rows(cluster, leader, 'INSERT INTO Person SET number = 0');
  for (let client = 1; client <= clientCount; client += 1)
    await rows(cluster, leader, `INSERT INTO Person SET number = ${client}`);
  let conflicts = 0;
  let asked = 0;
  const write = async (client: number, at: number): Promise<void> => {
    const { servers } = cluster;
    const server = servers[(client + seed) % servers.length] as LocalServer;
    const select = (number: number) => `(SELECT FROM Person WHERE number = ${number})`;
    const command = `CREATE EDGE Knows FROM ${select(client)} TO ${select(0)} SET number = ${at}`;
    // One attempt each: a conflict is told and not tried again by the server.
    const body = { language: 'sql', command, retries: 1 };
    for (;;) {
      asked += 1;
      const answer = await cluster.ask(server, 'POST', 'command/school', body);
      if (answer.status === 200) return;
      const text = JSON.stringify(answer.body);
      assert.ok(answer.status === 503, `${answer.status} ${text}`);
      assert.match(text, /ConcurrentModification/);
      conflicts += 1;
    }
  };
  let next = 0;
  const client = async (number: number) => {
    while (next < edgeCount) {
      next += 1;
      await write(number, next);
    }
  };
  await Promise.all(Array.from({ length: clientCount }, (_, at) => client(at + 1)));
  context.diagnostic(`${conflicts} conflicts of ${asked} attempts`);
  assert.ok(conflicts * 100 < asked, `${conflicts} conflicts of ${asked}`);
  for (const server of cluster.servers) {
    const query = "SELECT in('Knows').size() AS n FROM Person WHERE number = 0";
    const [hub] = await rows(cluster, server, query, linearizable);
    assert.equal(hub?.['n'], edgeCount, server.options.name);
  }
  assert.equal(await unlikeCopies(cluster, 'school'), undefined);
});
