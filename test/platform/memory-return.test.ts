import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

/*
 * In a process with a heap of its own: 80 MB are made and let go of. The heap would stay as large as it is; it is asked for, and most of it
 * goes back to the system after some turns of the event loop.
 */
const program = `
import { ownMemoryBytes } from '#platform/container-memory.ts';
import { giveMemoryBack } from '#platform/memory-return.ts';
let made = [];
while (process.memoryUsage().heapUsed < 80e6)
  made.push(Array.from({ length: 1000 }, (_, n) => ({ n, text: 'x' + n })));
made = undefined;
const before = ownMemoryBytes();
giveMemoryBack();
for (let turn = 0; turn < 12_000 && before - ownMemoryBytes() < 40e6; turn += 1)
  await new Promise((resolve) => setTimeout(resolve, 5));
console.log(before - ownMemoryBytes());
`;

function returnedBytes(environment: Readonly<Record<string, string>>, turns?: string): number {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', turns === undefined ? program : program.replace('12_000', turns)],
    {
      cwd: join(import.meta.dirname, '../..'),
      encoding: 'utf8',
      env: { ...process.env, ...environment },
    },
  );
  assert.equal(stderr, '');
  return Number(stdout);
}

test('a heap full of garbage goes back to the system when it is asked for', () => {
  assert.ok(returnedBytes({}) >= 40e6);
});

test('without the shortcut nothing is done', () => {
  assert.ok(returnedBytes({ POLYAD_WITHOUT: 'memory-return' }, '20') < 40e6);
});
