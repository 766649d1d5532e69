import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  Log,
  openEngine,
  person,
  propertiesOf,
  put,
  temporaryDirectory,
  turnTimers,
} from './engine-fixture.ts';

// A stop is played by opening the files again without closing the engine. What was answered for must be there.

test('a database that stopped before its checkpoint has every commit when it is opened again', async (context) => {
  const directory = temporaryDirectory(context);
  // Timers never fire, so nothing reaches LMDB but what is too large for the log.
  const timers = {
    yield: () => new Promise<void>((resolve) => setImmediate(resolve)),
    after: () => () => {},
  };
  const stopped = openEngine(directory, { timers });
  const log = new Log(stopped);
  await log.commit(put(stopped, person(0), { n: 1 }));
  await log.commit({ op: 'schema', document: Buffer.from('{"a":1}') });
  await log.commit(put(stopped, person(1), { text: 'x'.repeat(700_000) }));
  await log.commit(put(stopped, person(0), { n: 2, other: 'shape' }), {
    op: 'meta',
    name: 'seq/a',
    value: Buffer.from('5'),
  });
  await log.commit({ op: 'positions', bucket: 3, next: 700 });
  const again = openEngine(directory, { timers });
  assert.equal(again.applied().index, 5);
  assert.equal(propertiesOf(again, person(0))?.get('n'), 2);
  assert.equal(propertiesOf(again, person(0))?.get('other'), 'shape');
  assert.equal(String(propertiesOf(again, person(1))?.get('text')).length, 700_000);
  using snapshot = again.snapshot();
  assert.equal(Buffer.from(snapshot.meta('seq/a') ?? []).toString(), '5');
  assert.equal(Buffer.from(snapshot.meta('schema') ?? []).toString(), '{"a":1}');
  assert.equal(snapshot.nextPosition(3 as never), 700);
  snapshot[Symbol.dispose]();
  await new Log(again).commit(put(again, person(2), { n: 3 }));
  await again.close();
  const third = openEngine(directory);
  assert.equal(third.applied().index, 6);
  assert.equal(propertiesOf(third, person(2))?.get('n'), 3);
  await third.close();
  await stopped.close();
});

test('more commits than the log holds go on at once', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  const text = 'x'.repeat(100_000);
  const commits = [];
  for (let n = 0; n < 80; n++) commits.push(log.commit(put(engine, person(n), { n, text })));
  await Promise.all(commits);
  for (let n = 0; n < 80; n++) assert.equal(propertiesOf(engine, person(n))?.get('n'), n);
  await engine.close();
});

test('a log that was damaged before acknowledged commits is refused, and nothing is changed', async (context) => {
  const directory = temporaryDirectory(context);
  const crashed = join(directory, 'crashed');
  const live = openEngine(join(directory, 'live'), {
    timers: { ...turnTimers, after: () => () => {} },
  });
  const log = new Log(live);
  for (let n = 0; n < 5; n++) await log.commit(put(live, person(n), { n }));
  cpSync(join(directory, 'live'), crashed, { recursive: true });
  await live.close();
  const path = join(crashed, 'commit-log', 'seg-0000000000000001.log');
  const whole = readFileSync(path);
  const flipped = Buffer.from(whole);
  flipped[120] = (flipped[120] as number) ^ 1;
  writeFileSync(path, flipped);
  assert.throws(() => openEngine(crashed), { code: 'CorruptedRecord', message: /commit log/ });
  await new Promise((resolve) => setImmediate(resolve));
  writeFileSync(path, whole);
  const again = openEngine(crashed);
  for (let n = 0; n < 5; n++) assert.equal(propertiesOf(again, person(n))?.get('n'), n);
  await again.close();
});

test('when the log cannot be written commits are refused, reads go on, and a new start is well', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  // Larger than a group of the log, so it is in LMDB.
  const text = 'x'.repeat(600_000);
  await new Log(engine).commit(put(engine, person(0), { n: 0, text }));
  writeFileSync(join(directory, 'commit-log'), 'a file in the way');
  const refused = [1, 2].map((n) => new Log(engine).commit(put(engine, person(n), { n })));
  for (const commit of refused) {
    await assert.rejects(commit, { code: 'Internal', message: /until it is opened again/ });
  }
  assert.equal(propertiesOf(engine, person(0))?.get('n'), 0);
  assert.equal(propertiesOf(engine, person(1)), undefined);
  await assert.rejects(engine.copyTo(join(directory, 'copy')), { code: 'Internal' });
  await engine.close();
  rmSync(join(directory, 'commit-log'));
  const again = openEngine(directory);
  await new Log(again).commit(put(again, person(1), { n: 1 }));
  assert.equal(propertiesOf(again, person(1))?.get('n'), 1);
  await again.close();
});
