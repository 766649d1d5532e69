import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { StorageSnapshot } from '#storage/engine.ts';
import { allocateBytes, viewOf } from '#storage/format/bytes.ts';
import {
  type ReadRecord,
  readRecord,
  readSegmentHeader,
  recordFlag,
  recordHeaderSize,
  recordSize,
  recordType,
  sealRecord,
  segmentHeaderSize,
} from '#storage/log/segment.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import { walkEnvironment } from '#storage/environment/walk.ts';
import { Log, openEngine, temporaryDirectory, turnTimers } from '../engine-fixture.ts';
import { type Change, change, contents, indexes, operationsFor } from '../indexed-fixture.ts';

// What a power loss leaves: the log up to its last acknowledged write, perhaps with a torn one behind it, and LMDB's file
// as one of its checkpoints left it. And that it makes no difference to readers what makes commits durable.

type Step =
  | { readonly kind: 'commit'; readonly groups: readonly (readonly Change[])[] }
  | { readonly kind: 'large'; readonly changes: readonly Change[] }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'hold' };

const changes = fc.array(change, { minLength: 1, maxLength: 8 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      groups: fc.array(changes, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('large' as const), changes }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'checkpoint' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'hold' as const }) },
);

/** Checkpoints happen only when a test asks for them. */
const timers = { ...turnTimers, after: () => () => {} };

function open(directory: string, durability: 'log' | 'commit' = 'log'): LmdbEngine {
  return openEngine(directory, { timers, deriver: indexes, durability, cacheBytes: 60_000 });
}

async function perform(engine: LmdbEngine, log: Log, one: Step): Promise<void> {
  if (one.kind === 'commit') {
    const groups = one.groups.map((group) => log.commit(...operationsFor(engine, group)));
    await Promise.all(groups);
  } else if (one.kind === 'large') {
    const large = { kind: 'put', at: 7, size: 600_000, mark: 2 } as const;
    await log.commit(...operationsFor(engine, [large, ...one.changes]));
  } else if (one.kind === 'checkpoint') await engine.settled();
}

function contentsOf(engine: LmdbEngine): unknown {
  using snapshot = engine.snapshot();
  return contents(snapshot);
}

test('readers see the same states whatever makes commits durable', async (context) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const directory = temporaryDirectory(context);
      const engines = (['log', 'commit'] as const).map((durability) => {
        const engine = open(join(directory, durability), durability);
        return { engine, log: new Log(engine), held: [] as StorageSnapshot[] };
      });
      const states: unknown[] = [];
      for (const one of steps) {
        for (const { engine, log } of engines) await perform(engine, log, one);
        const [ours, theirs] = engines.map(({ engine }) => contentsOf(engine));
        assert.deepEqual(ours, theirs);
        if (one.kind !== 'hold') continue;
        states.push(theirs);
        for (const { engine, held } of engines) held.push(engine.snapshot());
      }
      for (const { engine, held } of engines) {
        held.forEach((snapshot, i) => {
          assert.deepEqual(contents(snapshot), states[i]);
          snapshot[Symbol.dispose]();
        });
        await engine.close();
      }
      const [ours, theirs] = engines.map((_, i) =>
        open(join(directory, ['log', 'commit'][i] ?? '')),
      );
      assert.deepEqual(contentsOf(ours as LmdbEngine), contentsOf(theirs as LmdbEngine));
      await ours?.close();
      await theirs?.close();
    }),
    { numRuns: 10 },
  );
});

/** A history, and copies of LMDB's file from its checkpoints. */
async function history(context: TestContext, steps: readonly Step[]) {
  const directory = temporaryDirectory(context);
  const engine = open(join(directory, 'live'));
  mkdirSync(join(directory, 'live', 'commit-log'));
  const log = new Log(engine);
  const copies: { readonly path: string; readonly applied: number }[] = [];
  let loggedAfterImage = -1;
  let image = 0;
  const copy = () => {
    const path = join(directory, `data.${copies.length}`);
    copyFileSync(join(directory, 'live', 'data.mdb'), path);
    copies.push({ path, applied: engine.applied().index });
  };
  copy();
  for (const one of steps) {
    await perform(engine, log, one);
    if (one.kind === 'commit') loggedAfterImage = image;
    if (one.kind === 'large') image = engine.applied().index;
    if (one.kind === 'checkpoint' || one.kind === 'large') copy();
  }
  return { directory, engine, copies, imageInLog: Math.max(0, loggedAfterImage), image };
}

test('replay brings every acknowledged commit back, from any checkpoint and behind a torn write', async (context) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 14 }),
      fc.nat(),
      fc.nat(),
      async (steps, which, torn) => {
        const { directory, engine, copies, imageInLog, image } = await history(context, steps);
        const copy = copies[which % copies.length] as (typeof copies)[number];
        const crashed = join(directory, 'crashed');
        mkdirSync(crashed);
        copyFileSync(copy.path, join(crashed, 'data.mdb'));
        cpSync(join(directory, 'live', 'commit-log'), join(crashed, 'commit-log'), {
          recursive: true,
          force: true,
        });
        tear(join(crashed, 'commit-log'), torn);
        const expected = contentsOf(engine);
        await engine.close();
        if (copy.applied < imageInLog) {
          assert.throws(() => open(crashed), { code: 'CorruptedRecord' });
          return;
        }
        // An image that nothing was logged after is the newest state of LMDB; no disk has an older one.
        if (copy.applied < image) return;
        for (let round = 0; round < 2; round++) {
          await walkEnvironment(crashed, turnTimers);
          const again = open(crashed);
          assert.deepEqual(contentsOf(again), expected);
          await again.close();
        }
      },
    ),
    { numRuns: 20 },
  );
});

/**
 * Parts of one more write, which was never acknowledged: of an entry that would change something, 64 bytes each, at least one of
 * them missing.
 */
function tear(directory: string, parts: number): void {
  const name = readdirSync(directory)
    .filter((file) => /^seg-[0-9a-f]{16}/.test(file))
    .sort()
    .at(-1);
  if (name === undefined || parts % 3 === 0) return;
  const path = join(directory, name);
  const bytes = readFileSync(path);
  const header = readSegmentHeader(bytes);
  if (header === undefined) return;
  let end = segmentHeaderSize;
  let last: ReadRecord | undefined;
  const crcs = { seed: header.crc, chain: header.chain };
  for (let r = readRecord(bytes, end, crcs); r; r = readRecord(bytes, end, crcs)) {
    crcs.chain = r.dataCrc;
    end = r.end;
    last = r;
  }
  if (last === undefined) return;
  const { payload, index } = last;
  const torn = allocateBytes(recordSize(payload.length));
  torn.set(payload, recordHeaderSize);
  const frame = {
    type: recordType.entry,
    flags: recordFlag.startsWrite,
    index: index + 1,
    term: 1,
  };
  sealRecord(torn, viewOf(torn), 0, payload.length, frame, crcs);
  const pieces = Math.ceil(torn.length / 64);
  const missing = parts % pieces;
  for (let piece = 0; piece < pieces; piece++) {
    const isThere = piece !== missing && ((parts >> (piece % 30)) & 1) === 1;
    if (isThere) torn.copy(bytes, end + piece * 64, piece * 64, (piece + 1) * 64);
  }
  // What is missing may have been zeros.
  if (readRecord(bytes, end, crcs) === undefined) writeFileSync(path, bytes);
}
