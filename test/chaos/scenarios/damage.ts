import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { makeSchool, rows, startProcesses, until } from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';
import { everythingIsThere, Writers } from './writers.ts';

// What the disk of one server has changed (ha-testing.md 10 V1): nobody asks for a comparison.

const needle = 'a text that stands where the damage is to be';

/** One letter of the text, wherever the file of the database has it. @returns in how many places */
function flip({ options: { rootPath } }: LocalServer): number {
  const path = join(rootPath, 'databases', 'school', 'data.mdb');
  const content = readFileSync(path);
  let count = 0;
  for (let at = content.indexOf(needle); at >= 0; at = content.indexOf(needle, at + 1)) {
    content[at + 5] = (content[at + 5] ?? 0) ^ 1;
    count += 1;
  }
  writeFileSync(path, content);
  return count;
}

test('V1: a changed byte in the database of one server is found and mended by itself, the others serve meanwhile', async (context) => {
  const cluster = await startProcesses(context, 3);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await rows(cluster, leader, `INSERT INTO Person SET number = -1, text = '${needle}'`);
  const writers = new Writers(cluster, 3);
  context.after(() => writers.abandon());
  await writers.goOn(30);
  const struck = cluster.servers.find((server) => server !== leader);
  assert.ok(struck);
  assert.equal(await struck.stop(), 0);
  assert.ok(flip(struck) > 0, 'the text is on the disk');
  await cluster.restart(struck.place);
  const beganMs = performance.now();
  const secondsSince = () => ((performance.now() - beganMs) / 1000).toFixed(1);
  await until(
    'it is found',
    async () => struck.output.includes("Database 'school' diverged"),
    1200,
  );
  const foundAfter = secondsSince();
  await writers.goOn(10);
  await until(
    'it is mended',
    async () => struck.output.includes("Snapshot of 'school' installed"),
    1200,
  );
  context.diagnostic(`found after ${foundAfter} s, mended after ${secondsSince()} s`);
  await writers.goOn(10);
  await writers.stop();
  const mended = await rows(cluster, struck, 'SELECT text FROM Person WHERE number = -1');
  assert.deepEqual(mended, [{ text: needle }]);
  await rows(cluster, leader, 'DELETE FROM Person WHERE number < 0');
  await everythingIsThere(cluster, writers);
  assert.equal(await unlikeCopies(cluster, 'school'), undefined);
  for (const server of cluster.servers)
    if (server !== struck) assert.ok(!server.output.includes('diverged'), server.id);
});
