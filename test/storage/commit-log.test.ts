import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LogIndex } from '#core/rid.ts';
import { CommitLog, type LogRecord } from '#storage/commit-log.ts';
import {
  Log,
  openEngine,
  person,
  propertiesOf,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

// A stop is played by opening the files again without closing the log. What `append` answered for must be there.

interface Step {
  /** Payload sizes of the group. */
  readonly sizes: readonly number[];
  /** How far behind the newest entry a checkpoint is taken after it; undefined: none. */
  readonly checkpointLag: number | undefined;
}

const step: fc.Arbitrary<Step> = fc.record({
  sizes: fc.array(fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 60_000 })), {
    minLength: 1,
    maxLength: 8,
  }),
  checkpointLag: fc.option(fc.nat({ max: 3 }), { nil: undefined, freq: 2 }),
});

function record(index: number, size: number): LogRecord {
  return {
    index: index as LogIndex,
    term: 1 + (index % 3),
    payload: Buffer.alloc(size, index & 0xff),
  };
}

function plain(records: readonly LogRecord[]): unknown[] {
  return records.map(({ index, term, payload }) => [index, term, payload.length, payload[0]]);
}

test('recovery gives every entry behind the last checkpoint, across files that are used in turn', async (context) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
      async (steps) => {
        const directory = temporaryDirectory(context);
        const log = new CommitLog(directory, 0 as LogIndex);
        assert.deepEqual(log.recover(), []);
        const written: LogRecord[] = [];
        let checkpointed = 0;
        for (const { sizes, checkpointLag } of steps) {
          const group = sizes.map((size, i) => record(written.length + 1 + i, size));
          if (!log.hasRoomFor(CommitLog.sizeOf(group))) {
            checkpointed = written.length;
            log.checkpointed(checkpointed as LogIndex);
          }
          await log.append(group);
          written.push(...group);
          if (checkpointLag === undefined) continue;
          checkpointed = Math.max(checkpointed, written.length - checkpointLag);
          log.checkpointed(checkpointed as LogIndex);
        }
        const again = new CommitLog(directory, checkpointed as LogIndex);
        assert.deepEqual(plain(again.recover()), plain(written.slice(checkpointed)));
        await log.close();
        again.checkpointed(written.length as LogIndex);
        await again.append([record(written.length + 1, 5)]);
        const third = new CommitLog(directory, written.length as LogIndex);
        assert.deepEqual(plain(third.recover()), plain([record(written.length + 1, 5)]));
        await again.close();
      },
    ),
    { numRuns: 15 },
  );
});

test('a write that was torn gives a prefix of the entries and nothing else', async (context) => {
  const directory = temporaryDirectory(context);
  const log = new CommitLog(directory, 0 as LogIndex);
  const written = Array.from({ length: 20 }, (_, i) => record(i + 1, 10 + i * 7));
  for (const one of written) await log.append([one]);
  await log.close();
  const path = join(directory, 'commit-log.0');
  const whole = readFileSync(path);
  const end = 64 + CommitLog.sizeOf(written);
  fc.assert(
    fc.property(fc.nat({ max: end - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const torn = Buffer.from(whole);
      torn[at] = (torn[at] ?? 0) ^ flip;
      writeFileSync(path, torn);
      const found = plain(new CommitLog(directory, 0 as LogIndex).recover());
      assert.deepEqual(found, plain(written.slice(0, found.length)));
      // All entries before the damaged byte are there, but for damage in a header or in padding.
      const before = written.filter((_, i) => 64 + CommitLog.sizeOf(written.slice(0, i + 1)) <= at);
      if (at >= 64) assert.ok(found.length >= before.length);
    }),
    { numRuns: 60 },
  );
});

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
