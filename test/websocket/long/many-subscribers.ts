import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { HttpClient, quickStart, startServer } from '../../support/server-process.ts';

/*
 * A thousand subscribers and 100 events a second (websocket.md 3): who reads gets every event, in order and once; who does not
 * read is dropped when its unsent bytes pass the limit, and costs no more than that. Too long for the quick suite:
 * `npm run long`.
 */

const readerCount = 1000;
const sleeperCount = 20;
const commitCount = 1000;
/** `COMMITS_PER_SECOND=100 EVENTS_PER_COMMIT=4 npm run long` shows how much more there is room for. */
const commitsPerSecond = Number(process.env['COMMITS_PER_SECOND'] ?? 100);
const eventsPerCommit = Number(process.env['EVENTS_PER_COMMIT'] ?? 1);
/** Every so many commits an event that fills what the system buffers for who does not read. */
const largeEvery = 50;
const eventCount = commitCount * eventsPerCommit;
const megabyte = 'x'.repeat(1024 * 1024);
const pendingBytesMax = 4 * 1024 * 1024;

async function subscribe(port: number, type: string): Promise<WebSocket> {
  const authorization = `Basic ${Buffer.from('root:password').toString('base64')}`;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { authorization } });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.on('error', () => {});
  const answered = new Promise((resolve) => socket.once('message', resolve));
  socket.send(JSON.stringify({ action: 'subscribe', database: 'school', type }));
  assert.match(String(await answered), /"result":"ok"/);
  return socket;
}

/** Memory of a process, in megabytes. */
function residentMb(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

/** Processor time that a process has used, in seconds. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** One commit of events in their order. */
function insertText(commit: number): string {
  const first = commit * eventsPerCommit;
  const numbers = Array.from({ length: eventsPerCommit }, (_, at) => first + at);
  return `INSERT INTO Small (n) VALUES ${numbers.map((n) => `(${n})`).join()}`;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('1,000 readers lose nothing at 100 events a second and more, who does not read is dropped', async (context) => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-subscribers-'));
  const server = await startServer({
    rootPath,
    rootPassword: 'password',
    environment: quickStart,
    readyTimeoutMs: 60_000,
    settings: {
      'service.server.wsMaxConnections': String(readerCount + sleeperCount),
      'service.server.eventBusMaxPendingBytes': String(pendingBytesMax),
    },
  });
  const sockets: WebSocket[] = [];
  context.after(async () => {
    for (const socket of sockets) socket.terminate();
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  });
  const client = new HttpClient(server.port, 'root', 'password');
  await client.server('create database school');
  for (const type of ['Small', 'Large']) await client.sql('school', `CREATE DOCUMENT TYPE ${type}`);
  const seen = new Uint32Array(readerCount);
  let outOfOrder = 0;
  for (let number = 0; number < readerCount; number += 1) {
    const socket = await subscribe(server.port, 'Small');
    sockets.push(socket);
    socket.on('message', (data: Buffer) => {
      const n = Number(/"n":(\d+)/.exec(data.toString('latin1'))?.[1]);
      if (n !== seen[number]) outOfOrder += 1;
      seen[number] = (seen[number] as number) + 1;
    });
  }
  let droppedCount = 0;
  for (let number = 0; number < sleeperCount; number += 1) {
    const socket = await subscribe(server.port, 'Large');
    sockets.push(socket);
    socket.on('close', () => {
      droppedCount += 1;
    });
    socket.pause();
  }
  const before = residentMb(server.child.pid ?? 0);
  let peak = before;
  const serverBefore = processorSeconds(server.child.pid ?? 0);
  const ownBefore = process.cpuUsage();
  const startMs = performance.now();
  let large: Promise<unknown> = Promise.resolve();
  for (let commit = 0; commit < commitCount; commit += 1) {
    await client.sql('school', insertText(commit));
    if (commit % largeEvery === 0) {
      await large;
      large = client.sql('school', `INSERT INTO Large SET p = '${megabyte}'`);
      peak = Math.max(peak, residentMb(server.child.pid ?? 0));
    }
    const restMs = startMs + ((commit + 1) * 1000) / commitsPerSecond - performance.now();
    if (restMs > 0) await pause(restMs);
  }
  const commitSeconds = (performance.now() - startMs) / 1000;
  await large;
  const isComplete = () => seen.every((count) => count >= eventCount);
  while (!isComplete() && performance.now() - startMs < 200_000) await pause(50);
  const seconds = (performance.now() - startMs) / 1000;
  const serverSeconds = processorSeconds(server.child.pid ?? 0) - serverBefore;
  const own = process.cpuUsage(ownBefore);
  const ownSeconds = (own.user + own.system) / 1e6;
  // A socket that is paused does not see its end.
  for (const socket of sockets.slice(readerCount)) socket.resume();
  for (let tries = 0; tries < 100 && droppedCount < sleeperCount; tries += 1) await pause(50);
  const deliveries = Math.round((eventCount * readerCount) / seconds);
  console.log(
    `${eventCount} events to ${readerCount} readers in ${seconds.toFixed(1)} s, committed in ${commitSeconds.toFixed(1)} s (${deliveries} a second); processor: server ${serverSeconds.toFixed(1)} s, readers ${ownSeconds.toFixed(1)} s; memory of the server: ${Math.round(before)} MB, at most ${Math.round(peak)} MB`,
  );
  assert.ok(isComplete(), `the slowest got ${Math.min(...seen)} of ${eventCount}`);
  assert.equal(Math.max(...seen), eventCount);
  assert.equal(outOfOrder, 0);
  assert.equal(droppedCount, sleeperCount, 'who does not read is dropped');
  // Twice what all of them may have unsent, and what their events take once.
  const boundMb = (2 * sleeperCount * pendingBytesMax) / 1024 ** 2 + 256;
  assert.ok(peak - before < boundMb, `memory grew by ${Math.round(peak - before)} MB`);
});
