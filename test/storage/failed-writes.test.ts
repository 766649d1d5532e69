import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { openEngine, person, propertiesOf, temporaryDirectory } from './engine-fixture.ts';

const child = new URL('./file-limit-child.ts', import.meta.url).pathname;

interface Told {
  readonly first: string;
  readonly after: string;
  readonly reads: boolean;
}

/** Lets a child write under `ulimit -f` (units of 1,024 bytes), above which the system refuses writes. */
async function writeUnderLimit(directory: string, bytes: number) {
  const writer = spawn(
    'bash',
    ['-c', 'ulimit -f 3000; exec "$0" "$@"', process.execPath, child, directory, String(bytes)],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let text = '';
  writer.stdout.setEncoding('utf8');
  writer.stdout.on('data', (part: string) => {
    text += part;
  });
  const [code] = await once(writer, 'close');
  assert.equal(code, 0, 'the process lives on after a failed write');
  const lines = text.trim().split('\n');
  const told = JSON.parse((lines.pop() ?? '').slice('failed '.length)) as Told;
  return { acknowledged: lines.map(Number), told };
}

for (const [what, bytes, file] of [
  ['the log', 3_000, 'commit-log'],
  ['a checkpoint or a large commit', 600_000, 'data.mdb'],
] as const) {
  test(`after a failed write of ${what} everything acknowledged is there and nothing is there by half`, async (context) => {
    const directory = temporaryDirectory(context);
    const { acknowledged, told } = await writeUnderLimit(directory, bytes);
    assert.ok(acknowledged.length > 0);
    assert.match(told.first, /takes no more changes until it is opened again/);
    assert.ok(told.first.includes(directory) && told.first.includes(file), told.first);
    assert.match(told.after, /takes no more changes until it is opened again/);
    assert.ok(told.reads);
    const engine = openEngine(directory);
    const last = acknowledged.length;
    for (let position = 0; position <= last + 1; position += 1) {
      const value = propertiesOf(engine, person(position))?.get('value');
      if (position >= last && value === undefined) continue;
      assert.equal(value, `${position} ${'x'.repeat(bytes)}`);
      assert.ok(position <= last, 'what was refused is not there');
    }
    await engine.close();
  });
}
