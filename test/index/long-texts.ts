import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import type { Runtime } from '#core/runtime.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { CheckedView } from '#database/operations/check/checked-view.ts';
import { checkIndex } from '#database/operations/check/index-entries.ts';
import type { CheckReport } from '#database/operations/check/report.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { OrderedIndexMaintainer } from '#index/ordered/maintainer.ts';
import { moreLikeOptions, searchMoreLike } from '#index/text/more-like.ts';
import { termPieces } from '#index/text/term-pieces.ts';
import { textSettings } from '#index/text/text-keys.ts';
import type { EntryChanges, IndexDeriver } from '#storage/engine.ts';
import type { LmdbEngine } from '#storage/lmdb-engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { RecordScan } from '#transaction/read/record-scan.ts';
import { buildIndex, type IndexBuildServices } from '#transaction/schema/index-build.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import {
  Log,
  openEngine,
  person,
  personBucket,
  propertiesOf,
  put,
  temporaryDirectory,
  turnTimers,
} from '#test/storage/engine-fixture.ts';
import { catalogOf, component, definition } from './fake-catalog.ts';
import { memoryTextIndex } from './memory-text-index.ts';

// One record with a text of a hundred thousand different words has as many entries. No turn of the event loop reports more than
// some of them, whatever is done to the record.

const entriesPerTurnMax = 2_048;
const wordCount = 100_000;

function textIndex(more: Partial<IndexDefinition> = {}): IndexDefinition {
  return definition(1, [component('text')], { kind: 'FULL_TEXT', ...more });
}

/** Counts the entries that each turn of the event loop reports. */
class Turns {
  entries = 0;
  longest = 0;

  readonly timers = {
    ...turnTimers,
    yield: async () => {
      this.end();
      await turnTimers.yield();
    },
  };

  end(): void {
    this.longest = Math.max(this.longest, this.entries);
    this.entries = 0;
  }

  watch(deriver: IndexDeriver): IndexDeriver {
    return {
      schemaChanged: (document) => deriver.schemaChanged(document),
      isIndexed: (type) => deriver.isIndexed(type),
      hasTexts: () => deriver.hasTexts?.() === true,
      derivesMuch: (before, after) => deriver.derivesMuch?.(before, after) === true,
      derive: (before, after, changes, version) => {
        const counted: EntryChanges = {
          add: (target, key, rid) => {
            this.entries += 1;
            changes.add(target, key, rid);
          },
          remove: (target, key, rid) => {
            this.entries += 1;
            changes.remove(target, key, rid);
          },
          later: (work) => changes.later(work),
        };
        deriver.derive(before, after, counted, version);
      },
    };
  }
}

function wordsFrom(first: number, count: number): string {
  return Array.from({ length: count }, (_, n) => `word${first + n}`).join(' ');
}

function entriesOf(engine: LmdbEngine, { id }: IndexDefinition): string[] {
  using snapshot = engine.snapshot();
  const cursor = snapshot.entries(id, Uint8Array.of(0), Uint8Array.of(0xff), 'ascending');
  const found: string[] = [];
  while (cursor.next()) found.push(`${Buffer.from(cursor.key).toString('hex')} ${cursor.rid}`);
  cursor.close();
  assert.equal(snapshot.entryCount(id), found.length);
  return found;
}

/** By `keysOf`, which makes all of them at once. */
function wantedEntries(engine: LmdbEngine, index: IndexDefinition, count: number): string[] {
  const keys = new IndexKeys(index);
  const wanted: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const properties = propertiesOf(engine, person(at));
    if (properties === undefined) continue;
    const record = { get: (name: string) => properties.get(name) } as never;
    for (const key of keys.keysOf(record))
      wanted.push(`${Buffer.from(key).toString('hex')} ${person(at)}`);
  }
  return wanted.sort();
}

for (const state of ['READY', 'BUILDING'] as const)
  test(`a text of many words comes, changes and goes in short turns; the index is ${state}`, async (context) => {
    const index = textIndex({ state });
    const maintainer = new OrderedIndexMaintainer({ decodeCatalog: () => catalogOf([index]) });
    maintainer.schemaChanged(new Uint8Array());
    const turns = new Turns();
    const engine = openEngine(temporaryDirectory(context), {
      deriver: turns.watch(maintainer),
      timers: turns.timers,
    });
    const log = new Log(engine);
    const require = async (what: string, ...operations: readonly RowOperation[]) => {
      turns.end();
      turns.longest = 0;
      await log.commit(...operations);
      turns.end();
      assert.ok(
        turns.longest <= entriesPerTurnMax,
        `${what}: a turn reported ${turns.longest} entries`,
      );
      assert.deepEqual(entriesOf(engine, index).sort(), wantedEntries(engine, index, 2));
    };
    const text = (at: number, value: string) => put(engine, person(at), { text: value });
    await require('insert', text(0, wordsFrom(0, wordCount)), text(1, 'word7 and others'));
    assert.ok(entriesOf(engine, index).length > wordCount);
    await require('change', text(0, wordsFrom(wordCount / 2, wordCount)));
    await require('twice in one commit', text(0, wordsFrom(7, wordCount)), text(
      0,
      wordsFrom(9, wordCount),
    ));
    await require('shorter', text(0, 'word7 alone'));
    await require('longer', text(0, wordsFrom(1, 8_000)));
    await require('delete', { op: 'delete-row', rid: person(0) });
    assert.equal(entriesOf(engine, index).length, 4);
    await engine.close();
  });

const piece = fc.oneof(
  fc.constantFrom(
    'ΟΔΟΣ',
    'Σ.',
    'İstanbul',
    "it's",
    '東京',
    'らーめん',
    'が゙Σ',
    'Σ漢',
    'ア',
    'é',
    'running',
    'the',
    '𝒳x',
    '\0',
  ),
  fc.string({ maxLength: 12, unit: 'binary' }),
  fc.constantFrom('x'.repeat(600)),
);
const text = fc
  .array(fc.tuple(piece, fc.constantFrom(' ', '\n', '\t', '', ', ', '\u3000')), { maxLength: 40 })
  .map((parts) => parts.flat().join(''));

test('the keys made in pieces are those made at once, by every analyzer', () => {
  const analyzers = ['standard', 'simple', 'whitespace', 'keyword', 'stop', 'english', 'german'];
  fc.assert(
    fc.property(
      fc.constantFrom(...analyzers),
      fc.oneof(text, fc.array(text, { maxLength: 5 })),
      fc.integer({ min: 1, max: 40 }),
      (analyzer, value, unitsPerPiece) => {
        const index = textIndex({ metadata: new Map([['analyzer', analyzer as Value]]) });
        const { fields } = textSettings(index);
        const hex = (keys: Iterable<Uint8Array>) =>
          [...keys].map((key) => Buffer.from(key).toString('hex')).sort();
        const whole = new IndexKeys(index).keysOf({ get: () => value } as never);
        const pieces = [...termPieces(fields, [value as Value], false, unitsPerPiece)];
        assert.deepEqual(hex(pieces.flat()), hex(whole));
      },
    ),
    { numRuns: 1_000 },
  );
});

/** A clock by which every slice is over as soon as it is looked at, or none ever. */
function runtimeThatIs(state: 'hurried' | 'patient'): Runtime {
  let nowMs = 0;
  const monotonicMs = () => {
    if (state === 'hurried') nowMs += 1_000;
    return nowMs;
  };
  return { clock: { now: () => 0, monotonicMs }, timers: turnTimers } as unknown as Runtime;
}

test('builds and checks pause within one record of many words', async (context) => {
  const index = textIndex({ state: 'BUILDING' });
  const catalog = {
    withSubtypes: (type: number) => [type],
    typeWithId: () => ({ buckets: [personBucket] }),
  } as unknown as Catalog;
  const pausesOf = async (state: 'hurried' | 'patient') => {
    const engine = openEngine(temporaryDirectory(context), {});
    const row = { text: wordsFrom(0, wordCount) };
    await new Log(engine).commit(put(engine, person(0), row));
    const runtime = runtimeThatIs(state);
    const pauses = { build: 0, check: 0 };
    await buildIndex(index, catalog, {
      engine,
      gate: { exclusively: (run) => run() } as IndexBuildServices['gate'],
      catalog: () => catalog,
      runtime,
      formats: {} as never,
      roundRecords: 1_000,
      pause: async () => {
        pauses.build += 1;
      },
    });
    assert.deepEqual(entriesOf(engine, index).sort(), wantedEntries(engine, index, 1));
    using snapshot = engine.snapshot();
    const view = {
      catalog,
      snapshot,
      scan: (bucket: BucketId) =>
        new RecordScan(snapshot, undefined, { bucket, order: 'ascending', from: undefined }),
    } as unknown as CheckedView;
    const report = { error: (text: string) => assert.fail(text) } as unknown as CheckReport;
    const timer = new SliceTimer(runtime, async () => {
      pauses.check += 1;
    });
    assert.equal(await checkIndex(index, { view, report, timer }), true);
    snapshot[Symbol.dispose]();
    await engine.close();
    return pauses;
  };
  const hurried = await pausesOf('hurried');
  const patient = await pausesOf('patient');
  const pieces = wordCount / entriesPerTurnMax;
  assert.ok(hurried.build - patient.build > pieces, `build: ${hurried.build - patient.build}`);
  // The entries themselves are summed with pauses, too: one for each 256.
  const ofEntries = Math.floor((wordCount + 1) / 256);
  assert.equal(patient.check, 0);
  assert.ok(hurried.check - ofEntries > pieces, `check: ${hurried.check}`);
});

test('records like one with a long text are found in steps of some thousand terms', () => {
  const index = memoryTextIndex(['text'], {});
  const text = Array.from({ length: wordCount }, (_, n) => `w${n % 1000}`).join(' ');
  index.put(person(0), { text });
  for (let n = 1; n <= 5; n += 1) index.put(person(n), { text: 'w1 w1 w7' });
  let [counted, most] = [0, 0];
  const meter = {
    isSpent(units: number) {
      counted += units;
      most = Math.max(most, units);
      return true;
    },
  };
  const options = moreLikeOptions(new Map(), 'more');
  const work = searchMoreLike(index.reader, [person(0)], options, meter, undefined);
  let pauses = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) pauses += 1;
  const { rids, count } = step.value;
  assert.deepEqual([...rids.subarray(0, count)], [1, 2, 3, 4, 5].map(person));
  assert.ok(counted >= wordCount, `${counted} counted`);
  assert.ok(most <= 2 * entriesPerTurnMax, `${most} between two looks`);
  assert.ok(pauses >= wordCount / entriesPerTurnMax, `${pauses} pauses`);
});
