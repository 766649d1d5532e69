import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  Log,
  openEngine,
  person,
  personBucket,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

// Copies are taken while commits go on, some of them while a checkpoint is running or about to run again. Each commit writes
// the next records, so a copy that misses one of them has a gap or ends too early.

const recordsPerCommit = 40;

test('a hot copy under load has everything that was acknowledged before it was asked for', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  let acknowledged = 0;
  let isOver = false;
  const writer = async (): Promise<void> => {
    for (let commit = 0; !isOver; commit += 1) {
      const first = commit * recordsPerCommit;
      const rows = Array.from({ length: recordsPerCommit }, (_, at) =>
        put(engine, person(first + at), { n: first + at, text: 'x'.repeat(200) }),
      );
      await log.commit(...rows);
      acknowledged = first + recordsPerCommit;
    }
  };
  const writing = writer();
  for (let round = 0; round < 4; round += 1) {
    const wanted = acknowledged + 1 + round * 3 * recordsPerCommit;
    while (acknowledged < wanted) await new Promise((done) => setImmediate(done));
    const target = mkdtempSync(join(tmpdir(), 'polyad-copy-'));
    context.after(() => rmSync(target, { recursive: true, force: true }));
    const before = acknowledged;
    // Two at a time: the second waits for the checkpoint of the first or for the next one.
    const second = mkdtempSync(join(tmpdir(), 'polyad-copy-'));
    context.after(() => rmSync(second, { recursive: true, force: true }));
    await Promise.all([engine.copyTo(target), engine.copyTo(second)]);
    for (const directory of [target, second]) await requireWhole(directory, before);
  }
  isOver = true;
  await writing;
  await engine.close();
});

test('a copy that meets a closing engine is whole or refused', async (context) => {
  const turn = () => new Promise((done) => setImmediate(done));
  for (const turnsBefore of [-2, -1, 0, 1, 5]) {
    const engine = openEngine(temporaryDirectory(context));
    await new Log(engine).commit(put(engine, person(0), { n: 0 }));
    const target = temporaryDirectory(context);
    const copy = async () => {
      try {
        await engine.copyTo(target);
        return 'whole';
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    let copying = turnsBefore >= 0 ? copy() : undefined;
    for (let turns = turnsBefore; turns > 0; turns -= 1) await turn();
    const closing = engine.close();
    // LMDB ends the process when it is asked to copy what is closed.
    if (turnsBefore === -1) copying = copy();
    await closing;
    const end = await (copying ?? copy());
    if (end === 'whole') await requireWhole(target, 1);
    else assert.equal(end, 'DatabaseClosed');
  }
});

async function requireWhole(directory: string, atLeast: number): Promise<void> {
  const copy = openEngine(directory);
  const snapshot = copy.snapshot();
  const count = snapshot.nextPosition(personBucket);
  assert.ok(count >= atLeast, `${count} records of ${atLeast} that were acknowledged before`);
  for (let n = 0; n < count; n += 1) assert.equal(snapshot.record(person(n))?.get('n'), n);
  snapshot[Symbol.dispose]();
  await copy.close();
}
