import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { LogIndex } from '#core/value/rid.ts';
import { EnvironmentRenewal } from '#storage/environment/renewal.ts';
import type { Write } from '#storage/checkpoint/write-batch.ts';
import type { SubDatabases } from '#storage/format/sub-databases.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { LmdbReader } from '#storage/lmdb-reader.ts';
import {
  Log,
  openEngine,
  person,
  personBucket,
  personType,
  propertiesOf,
  put,
  temporaryDirectory,
  turnTimers,
} from './engine-fixture.ts';

// After a load the environment is closed and opened again, so that LMDB gives back the memory of its largest transaction. What is
// looked at is the other thing that goes with it: pages of the file that the process has mapped.

const rowCount = 6_000;
const text = 'x'.repeat(3_900);

/** Timers that are over when the test says so. */
function heldTimers() {
  let waiting: (() => void)[] = [];
  const after = (_ms: number, run: () => void) => {
    waiting.push(run);
    return () => {
      waiting = waiting.filter((each) => each !== run);
    };
  };
  return {
    timers: { yield: turnTimers.yield, after },
    pass: () => {
      for (const run of waiting.splice(0)) run();
    },
  };
}

async function load(engine: LmdbEngine, index: number): Promise<void> {
  const bulk = engine.bulk();
  for (let at = 0; at < rowCount; at += 1)
    bulk.addRow(personType, personBucket, index * rowCount + at, new Map([['text', text]]));
  await bulk.flush({ index: index as LogIndex, term: 1, txId: index });
}

/** Kilobytes of the data file that are mapped and in memory (Linux). */
function mappedKilobytes(directory: string): number {
  let kilobytes = 0;
  let isFile = false;
  for (const line of readFileSync('/proc/self/smaps', 'utf8').split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isFile = line.includes(join(directory, 'data.mdb'));
    else if (isFile && line.startsWith('Rss:')) kilobytes += Number(/\d+/.exec(line)?.[0]);
  }
  return kilobytes;
}

function readAll(engine: LmdbEngine, index: number): void {
  using snapshot = engine.snapshot();
  for (let at = 0; at < rowCount; at += 1)
    assert.equal(snapshot.record(person(index * rowCount + at))?.get('text'), text);
}

async function loaded(context: TestContext) {
  const directory = temporaryDirectory(context);
  const { timers, pass } = heldTimers();
  const engine = openEngine(directory, { timers });
  await load(engine, 1);
  readAll(engine, 1);
  return { directory, engine, timers, pass };
}

const isLinux = process.platform === 'linux';

test('after a load nothing of the file stays mapped, and reading and writing go on', {
  skip: !isLinux,
}, async (context) => {
  const { directory, engine, pass } = await loaded(context);
  const before = mappedKilobytes(directory);
  assert.ok(before > 20_000, `${before} KB were mapped`);
  pass();
  assert.ok(mappedKilobytes(directory) < 2_000, `${mappedKilobytes(directory)} KB are mapped`);
  readAll(engine, 1);
  await new Log(engine).commit(put(engine, person(1), { text: 'changed' }));
  await engine.checkpoint();
  await load(engine, 3);
  await new Log(engine).commit(put(engine, person(2), { text: 'changed, too' }));
  pass();
  await engine.settled();
  readAll(engine, 3);
  await engine.close();
  const again = openEngine(directory);
  assert.equal(propertiesOf(again, person(1))?.get('text'), 'changed');
  assert.equal(propertiesOf(again, person(2))?.get('text'), 'changed, too');
  readAll(again, 3);
  await again.close();
});

test('whoever reads keeps it open, and it is tried again later', {
  skip: !isLinux,
}, async (context) => {
  const { directory, engine, pass } = await loaded(context);
  const snapshot = engine.snapshot();
  pass();
  assert.equal(snapshot.record(person(rowCount + 1))?.get('text'), text);
  assert.ok(mappedKilobytes(directory) > 20_000);
  snapshot[Symbol.dispose]();
  pass();
  assert.ok(mappedKilobytes(directory) < 2_000);
  await engine.close();
});

test('changes that stand in the log alone are kept, and bring a checkpoint first', {
  skip: !isLinux,
}, async (context) => {
  const { directory, engine, pass } = await loaded(context);
  await new Log(engine).commit(put(engine, person(1), { text: 'in the overlay' }));
  pass();
  assert.equal(propertiesOf(engine, person(1))?.get('text'), 'in the overlay');
  await engine.settled();
  pass();
  assert.equal(propertiesOf(engine, person(1))?.get('text'), 'in the overlay');
  assert.ok(mappedKilobytes(directory) < 2_000);
  await engine.close();
});

test('a reader of another engine on the same environment goes on', async (context) => {
  const { directory, engine, pass } = await loaded(context);
  const labels = () => ({ name: 'Person', kind: 'vertex' as const });
  const facts = { directory, labels, cacheBytes: 2 ** 20, mapSizeBytes: 2 ** 30, readersMax: 100 };
  const reader = new LmdbReader(facts);
  {
    using snapshot = reader.snapshot();
    pass();
    assert.equal(snapshot.record(person(rowCount + 5))?.get('text'), text);
  }
  await load(engine, 2);
  {
    using snapshot = reader.snapshot();
    assert.equal(snapshot.record(person(2 * rowCount + 5))?.get('text'), text);
  }
  await reader.close();
  pass();
  readAll(engine, 2);
  await engine.close();
});

test('nothing is opened anew once the engine is closed', async (context) => {
  const { directory, engine, pass } = await loaded(context);
  await engine.close();
  pass();
  const again = openEngine(directory);
  readAll(again, 1);
  await again.close();
});

test('between commits that merge edges it is opened anew each 128 MiB, if nobody reads', () => {
  const seen: string[] = [];
  const root = { resetReadTxn() {}, env: { address: 1, close: () => void seen.push('closed') } };
  const subs = { root } as unknown as SubDatabases;
  let isIdle = true;
  const renewal = new EnvironmentRenewal({
    timers: heldTimers().timers,
    subs,
    open: () => {
      seen.push('opened');
      return subs;
    },
    isIdle: (but) => isIdle && but === 'merges',
    readers: { isIdle: true, apart: (reopen) => reopen() },
    failed: (error) => assert.fail(String(error)),
  });
  const writes = (mebibytes: number) =>
    Array.from({ length: mebibytes }, () => ({ size: 2 ** 20 })) as unknown as Write[];
  const nothingPacked = { chunkRuns: [], removalRuns: [], additionRuns: [] };
  renewal.wrote(writes(100), nothingPacked);
  renewal.betweenMerges();
  assert.deepEqual(seen, []);
  renewal.wrote(writes(28), nothingPacked);
  isIdle = false;
  renewal.betweenMerges();
  assert.deepEqual(seen, []);
  isIdle = true;
  renewal.betweenMerges();
  renewal.betweenMerges();
  assert.deepEqual(seen, ['closed', 'opened']);
});
