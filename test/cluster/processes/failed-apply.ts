import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { command, makeSchool, rows, startProcesses, until } from './support.ts';

// A leader that cannot apply what is committed, and nobody to take the lead from it (contract 3, HA settings; ha.md 5.13).

const failingDisk = pathToFileURL(join(import.meta.dirname, '../support/failing-disk.ts')).href;

test('a leader that cannot apply a commit and finds no other ends with 70 where that is set, and has the write when it is back', async (context) => {
  const cluster = await startProcesses(
    context,
    3,
    { 'ha.stopServerOnReplicationFailure': 'true' },
    (place) =>
      place === 0
        ? { NODE_OPTIONS: `--import=${failingDisk}` }
        : { SERVICE_HA_SERVER_ROLE: 'replica' },
  );
  const only = cluster.server(0);
  assert.equal(await cluster.leader(), only, 'the others are pinned');
  await makeSchool(cluster, only);
  await rows(cluster, only, 'INSERT INTO Person SET number = 1');
  const fault = join(only.options.rootPath, 'cannot-apply');
  writeFileSync(fault, '');
  const { status, body } = await command(cluster, only, 'INSERT INTO Person SET number = 2');
  assert.equal(status, 409, JSON.stringify(body));
  assert.match(
    (body as { exception: string }).exception,
    /TransactionCommittedRemotelyException$/u,
  );
  await until('it ends', async () => !only.isRunning, 1200);
  assert.match(only.output, /ended: 70/u);
  assert.match(
    only.output,
    /cannot apply what is committed to database 'school' \(.*the disk takes nothing\).*; it ends \(service\.ha\.stopServerOnReplicationFailure\)/u,
  );
  rmSync(fault);
  await cluster.restart(only.place);
  await until('it leads again', async () => (await cluster.leader()) === only, 1200);
  const found = await rows(cluster, only, 'SELECT number FROM Person ORDER BY number');
  assert.deepEqual(found, [{ number: 1 }, { number: 2 }]);
  await rows(cluster, only, 'INSERT INTO Person SET number = 3');
});
