import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  linearizable,
  makeSchool,
  password,
  patient,
  rows,
  startProcesses,
} from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';
import { ownMegabytes } from '../machine.ts';

// Many edges at one vertex, a batch that is larger than any memory for it (ha-testing.md 10 C3, H6).

const seed = Number(process.env['SEED'] ?? 1);
const edgeCount = 10_000;
const clientCount = 8;
const batchMegabytes = Number(process.env['MEGABYTES'] ?? 1024);

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

/** What the servers have at most, each above what it had, while `work` goes on. */
async function growth(
  servers: readonly LocalServer[],
  work: () => Promise<void>,
): Promise<readonly number[]> {
  const before = servers.map(ownMegabytes);
  const most = [...before];
  const look = setInterval(() => {
    for (const [i, server] of servers.entries())
      most[i] = Math.max(most[i] ?? 0, ownMegabytes(server));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(look);
  }
  return most.map((megabytes, i) => Math.round(megabytes - (before[i] ?? 0)));
}

const lineBytes = 8000;
const batchHead = (server: LocalServer) =>
  [
    'POST /api/v1/batch/school HTTP/1.1',
    `host: 127.0.0.1:${server.httpPort}`,
    `authorization: Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
    'content-type: application/x-ndjson',
    'transfer-encoding: chunked',
    'connection: close',
    '\r\n',
  ].join('\r\n');

/** As one request; without an end it breaks off behind the last line. @returns the answer */
async function upload(
  server: LocalServer,
  { first, count, hasEnd }: { first: number; count: number; hasEnd: boolean },
): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: server.httpPort, allowHalfOpen: true });
  let answer = '';
  socket.on('data', (piece) => {
    answer += String(piece);
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.once('end', () => socket.end());
    socket.on('error', () => resolve());
  });
  socket.write(batchHead(server));
  const text = 'x'.repeat(lineBytes);
  for (let at = 0; at < count && !socket.destroyed; at += 16) {
    let lines = '';
    for (let number = first + at; number < first + Math.min(count, at + 16); number += 1)
      lines += `{"@type":"vertex","@class":"Person","@id":"t${number}","number":${number},"text":"${text}"}\n`;
    const hasRoom = socket.write(`${lines.length.toString(16)}\r\n${lines}\r\n`);
    if (!hasRoom) await Promise.race([once(socket, 'drain'), closed]);
  }
  if (hasEnd) socket.write('0\r\n\r\n');
  else socket.end();
  await closed;
  return answer;
}

test(`H6: a batch of ${batchMegabytes} MB through a follower costs it no more memory than the other one; one that breaks off is an error`, async (context) => {
  const cluster = await startProcesses(context, 3, patient);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  const [replica, other] = cluster.servers.filter((server) => server !== leader);
  assert.ok(replica && other);
  const count = Math.ceil((batchMegabytes * 1024 * 1024) / lineBytes);
  let answer = '';
  const [grown = 0, otherGrown = 0] = await growth([replica, other], async () => {
    answer = await upload(replica, { first: 0, count, hasEnd: true });
  });
  assert.match(answer, /^HTTP\/1\.1 200 /, answer.slice(0, 500));
  context.diagnostic(`the follower grew by ${grown} MB, the other one by ${otherGrown}`);
  assert.ok(grown < otherGrown + 64, `${grown} MB, the other one ${otherGrown}`);
  const persons = async (server: LocalServer) => {
    const query = 'SELECT count(*) AS n FROM Person';
    return (await rows(cluster, server, query, linearizable))[0]?.['n'];
  };
  for (const server of cluster.servers) assert.equal(await persons(server), count);
  const cut = await upload(replica, { first: count, count: 1000, hasEnd: false });
  context.diagnostic(`one that broke off: ${cut.slice(0, 12) || 'the connection ended'}`);
  assert.ok(!/^HTTP\/1\.1 200 /.test(cut) || /"error"/.test(cut), cut.slice(0, 500));
  assert.equal(await unlikeCopies(cluster, 'school'), undefined);
});
