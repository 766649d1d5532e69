import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { BlockBuilder } from '#storage/commit/block-builder.ts';
import {
  Log,
  noIndexes,
  openEngine,
  person,
  propertiesOf,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

// A block is changed in many commits, a row or two each time: what they leave behind must not gather until it is full.

test('a row that grows and shrinks again and again leaves no more than a part of its block empty', () => {
  const builder = new BlockBuilder();
  builder.startEmpty();
  let liveBytes = 0;
  for (let slot = 0; slot < 64; slot += 1) builder.put(slot, row(slot, 104), 1);
  for (let round = 0; round < 5_000; round += 1) {
    const image = Buffer.alloc(builder.usedBytes);
    builder.copyTo(image, 0);
    builder.startFromBytes(image as Parameters<BlockBuilder['startFromBytes']>[0], 0, image.length);
    builder.put(round % 3, row(round, round % 2 === 0 ? 1_000 : 40), round);
    liveBytes = 64 * 104 + 3 * 1_000;
    assert.ok(builder.usedBytes < liveBytes * 1.5, `${builder.usedBytes} bytes in round ${round}`);
  }
});

/** A row as far as a block looks at it: its length comes first. */
function row(fill: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length, fill);
  bytes.writeUInt32LE(length);
  return bytes;
}

test('records that outgrow their block are refused alone, and writing goes on', async (context) => {
  const engine = openEngine(temporaryDirectory(context));
  const log = new Log(engine);
  const names = Array.from({ length: 250 }, (_, at) => `p${at}`);
  const wide = Object.fromEntries(names.map((name) => [name, 'x'.repeat(32)]));
  for (let at = 0; at < 70; at += 1) await log.commit(put(engine, person(at), { n: at }));
  let refused = 0;
  for (let at = 0; at < 64; at += 1) {
    const done = log.commit(put(engine, person(at), wide));
    await done.catch((error: unknown) => {
      assert.equal((error as DatabaseError).code, 'IllegalArgument');
      refused += 1;
    });
  }
  assert.ok(refused > 0 && refused < 10, `${refused} refused`);
  await log.commit(put(engine, person(1), { n: 'small' }));
  assert.equal(propertiesOf(engine, person(1))?.get('n'), 'small');
  await engine.close();
});

test('a record is updated as often as anybody likes', async (context) => {
  const directory = temporaryDirectory(context);
  const engine = openEngine(directory);
  const log = new Log(engine);
  const count = 3_000;
  for (let n = 0; n < count; n += 1)
    await log.commit(put(engine, person(n % 39), { value: 'x'.repeat(n % 2 === 0 ? 480 : 20), n }));
  assert.equal(propertiesOf(engine, person((count - 1) % 39))?.get('n'), count - 1);
  await engine.close();
  const again = openEngine(directory);
  assert.equal(propertiesOf(again, person((count - 1) % 39))?.get('n'), count - 1);
  await again.close();
});

test('an error of our own while a commit is made refuses that commit alone', async (context) => {
  const directory = temporaryDirectory(context);
  let isBroken = true;
  const deriver = {
    ...noIndexes,
    isIndexed: () => true,
    derive(_before: unknown, after: StoredRecord | undefined) {
      if (isBroken && after?.get('n') === 'bad') throw new TypeError('a mistake of ours');
    },
  };
  const engine = openEngine(directory, { deriver });
  const log = new Log(engine);
  await log.commit(put(engine, person(1), { n: 1 }));
  const outcomes = await Promise.allSettled([
    log.commit(put(engine, person(2), { n: 2 })),
    log.commit(put(engine, person(3), { n: 'bad' })),
    log.commit(put(engine, person(4), { n: 4 })),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  await log.commit(put(engine, person(5), { n: 5 }));
  await engine.close();
  isBroken = false;
  const again = openEngine(directory, { deriver });
  const found = [1, 2, 3, 4, 5].map((at) => propertiesOf(again, person(at))?.get('n'));
  assert.deepEqual(found, [1, 2, undefined, 4, 5]);
  await again.close();
});
