import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PropertyDefinition } from '#catalog/catalog.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import type { RecordBatch } from '#database/bulk/bulk-batch.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { importBody, RecordingLoader } from './import-fixture.ts';

// Lines above 128 KiB are read in slices: counted are the turns that others get, on a clock by which each look at it is 1 ms later.

function countingRuntime(): { readonly runtime: Runtime; readonly turns: () => number } {
  let turns = 0;
  let nowMs = 0;
  const clock = { ...systemRuntime.clock, now: () => 0, monotonicMs: () => (nowMs += 1) };
  const timers = {
    ...systemRuntime.timers,
    yield: async () => {
      turns += 1;
      await new Promise(setImmediate);
    },
  };
  const { random } = systemRuntime;
  return { runtime: { clock, timers, random }, turns: () => turns };
}

const propertyCount = 30_000;
const longMembers: readonly (readonly [string, object])[] = [
  ['a text', { text: 'x'.repeat(900_000) }],
  ['a text with signs', { text: '"é\\\n'.repeat(100_000) }],
  ['a list', { list: Array.from({ length: 100_000 }, (_, n) => n) }],
  ['properties', Object.fromEntries(Array.from({ length: propertyCount }, (_, n) => [`p${n}`, n]))],
];

const long = { lineBytesMax: 4 * 1024 * 1024 };

test('a long line of JSON gives others a turn, and its row', async () => {
  const short = JSON.stringify({ '@type': 'v', '@class': 'V', a: 1 });
  for (const [name, members] of longMembers) {
    const line = JSON.stringify({ '@type': 'v', '@class': 'V', ...members });
    for (const lengths of [[64 * 1024], [10_000_000]]) {
      const { runtime, turns } = countingRuntime();
      const body = Buffer.from([short, line, short, line].join('\n'));
      const loader = new RecordingLoader();
      const { batch } = await importBody(body, lengths, { ...long, runtime }, loader);
      assert.ok(turns() >= 6, `${name}: ${turns()} turns`);
      assert.equal(batch.counts.lines, 4);
      const rows = loader.rows.map(({ columns, values }) =>
        Object.fromEntries(columns.map((column, at) => [column, values[at]])),
      );
      assert.deepEqual(rows, [{ a: 1 }, members, { a: 1 }, members], name);
    }
  }
});

test('many rather long lines do not wait for each other', async () => {
  const line = JSON.stringify({ '@type': 'v', '@class': 'V', text: 'x'.repeat(100_000) });
  const body = Buffer.from(`${line}\n`.repeat(60));
  const batches: number[] = [];
  class CountingLoader extends RecordingLoader {
    override async addRecords(batch: RecordBatch): Promise<void> {
      batches.push(batch.rowCount);
      await super.addRecords(batch);
    }
  }
  const loader = new CountingLoader();
  await importBody(body, [64 * 1024], long, loader);
  assert.equal(loader.rows.length, 60);
  assert.ok(Math.max(...batches) <= 12, `rows at once: ${batches.join(' ')}`);
});

test('long vertices come before long edges', async () => {
  const text = 'x'.repeat(200_000);
  const vertices = ['p', 'q'].map((id) => ({ '@type': 'v', '@class': 'V', '@id': id, text }));
  const edge = { '@type': 'e', '@class': 'E', '@from': 'q', '@to': 'p', text };
  const body = [...vertices, edge, edge].map((line) => JSON.stringify(line)).join('\n');
  const { loader } = await importBody(Buffer.from(body), [64 * 1024], long);
  assert.deepEqual(
    loader.rows.map(({ ends }) => ends),
    [undefined, undefined, [1, 0], [1, 0]],
  );
});

test('a long line is refused as a short one is', async () => {
  const padding = ' '.repeat(200_000);
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      `{"@type":"v","@class":"V",${padding}"a":01}`,
      /^Line 2: invalid JSON at column 200031: a num/,
    ],
    [`[${padding}]`, /^Line 2: expected a JSON object/],
    [`{"@type":"v",${padding}"@class":""}`, /^Line 2: '@class' is ''/],
    [
      `{"@type":"v",${padding}"@class":"V","a":"${'x'.repeat(5_000_000)}"}`,
      /^Line 2: the line is lo/,
    ],
  ];
  for (const [line, message] of cases) {
    const body = Buffer.from(`{"@type":"v","@class":"V"}\n${line}\n`);
    await assert.rejects(importBody(body, [64 * 1024], long), { message });
  }
  const { batch } = await importBody(Buffer.from(`${padding}\n`), [64 * 1024], long);
  assert.equal(batch.counts.skippedLines, 1);
});

function csvField(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

test('a long field of CSV gives others a turn, and its value', async () => {
  const list = Array.from({ length: 60_000 }, (_, n) => (n % 3 === 0 ? `"${n}` : n));
  const noJson = `[${'"'.repeat(300_001)}`;
  const lines = [
    '@type,@class,list,text',
    `v,V,${csvField(JSON.stringify(list))},${csvField(JSON.stringify(list))}`,
    `v,V,"[1]",short`,
    `v,V,${csvField(noJson)},${'x'.repeat(200_000)}`,
  ];
  const { runtime, turns } = countingRuntime();
  const loader = new RecordingLoader();
  loader.declared.set('list', { type: 'LIST' } as PropertyDefinition);
  const body = Buffer.from(lines.join('\n'));
  await importBody(body, [64 * 1024], { ...long, runtime, format: 'csv' }, loader);
  const expected: readonly (readonly Value[])[] = [
    [list, JSON.stringify(list)],
    [[1], 'short'],
    [noJson, 'x'.repeat(200_000)],
  ];
  assert.deepEqual(
    loader.rows.map(({ values }) => values),
    expected,
  );
  assert.ok(turns() >= 6, `${turns()} turns`);
});

test('a long line of CSV over many lines gives others a turn, and its values', async () => {
  const texts = ['a\n'.repeat(100_000), `"${'\nb'.repeat(1_500_000)}`];
  const body = Buffer.from(
    `@type,@class,list,text\nv,V,${texts.map(csvField).join(',')}\nv,V,c,d\n`,
  );
  const { runtime, turns } = countingRuntime();
  const { loader, batch } = await importBody(body, [64 * 1024], {
    ...long,
    runtime,
    format: 'csv',
  });
  assert.deepEqual(
    loader.rows.map(({ values }) => values),
    [texts, ['c', 'd']],
  );
  assert.equal(batch.counts.lines, 1_600_003);
  assert.ok(turns() >= 6, `${turns()} turns`);
});

test('a header of CSV may have many columns', async () => {
  const names = Array.from({ length: 50_000 }, (_, n) => `p${n}`);
  const body = Buffer.from(
    `@type,@class,${names.join(',')}\nv,V,${names.map(() => '1').join(',')}`,
  );
  const { loader } = await importBody(body, [64 * 1024], { ...long, format: 'csv' });
  assert.equal(loader.rows[0]?.columns.length, 50_000);
  const twice = Buffer.from(`@type,@class,${names.join(',')},p7\n`);
  await assert.rejects(importBody(twice, [64 * 1024], { ...long, format: 'csv' }), {
    message: "Line 1: the header has two columns 'p7'",
  });
});
