import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { EmbeddedDocument, type Value } from '#core/value/value.ts';
import type { ResultBatch } from '#database/session.ts';
import { pieceBytes, valueInPieces } from '#http/answer/json-pieces.ts';
import { JsonWriter, longRow, NameCache } from '#http/answer/json-writer.ts';
import { JsonRowRenderer } from '#http/serializers/json-row-renderer.ts';
import { ColumnTemplates } from '#http/serializers/record.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import { startDoor } from './door-fixture.ts';

// Rows above 1 MiB: written in pieces, so that neither memory nor a turn of the event loop grows with them (limits.md 5).

const names = new NameCache();
const newWriter = () => new JsonWriter(defaultTemporalFormats, 64, names);

function piecesOf(value: Value): { readonly text: string; readonly largest: number } {
  const writer = newWriter();
  const taken: Buffer[] = [];
  for (const _ of valueInPieces(writer, value)) taken.push(writer.take(64));
  taken.push(writer.take(0));
  const largest = Math.max(...taken.map((piece) => piece.length));
  return { text: Buffer.concat(taken).toString(), largest };
}

function wholeOf(value: Value): string {
  const writer = newWriter();
  writer.value(value);
  return writer.take(0).toString();
}

test('a record of thousands of properties is read and written in pieces, the bytes of the whole', async () => {
  await using db = await SqlDatabase.open();
  await db.run('CREATE VERTEX TYPE W');
  const wide = new Map<string, Value>(Array.from({ length: 5_000 }, (_, at) => [`n${at}`, at]));
  await db.run('INSERT INTO W CONTENT :wide', { parameters: new Map([['wide', wide]]) });
  const { rows } = await db.run('SELECT FROM W');
  const record = rows[0]?.[0] as Value;
  const whole = wholeOf(record);
  assert.ok(whole.includes('"n4999":4999'));
  assert.equal(piecesOf(record).text, whole);
  const writer = newWriter();
  assert.ok([...valueInPieces(writer, record)].length >= 38);
  const inRow = newWriter();
  inRow.beginRow(1 << 20);
  assert.throws(
    () => inRow.value(record),
    (error) => error === longRow,
  );
});

test('pieces are the bytes of the whole', () => {
  const texts = fc
    .tuple(
      fc.constantFrom('a', 'é', '"', '\u0001', '😀', '\ud800', 'x\n'),
      fc.nat({ max: 70_000 }),
      fc.string(),
    )
    .map(([unit, count, end]) => `${end}${unit.repeat(count)}${end}`);
  const scalars = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.string(),
    texts,
    fc.uint8Array({ maxLength: 40_000 }),
  );
  const { value: values } = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalars,
      fc.array(tie('value'), { maxLength: 6 }),
      fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 6 }).map((all) => new Map(all)),
      fc
        .array(fc.tuple(fc.string(), tie('value')), { maxLength: 3 })
        .map((all) => new EmbeddedDocument('Part', new Map(all))),
    ),
  }));
  fc.assert(
    fc.property(values, (value) => {
      const { text, largest } = piecesOf(value);
      assert.equal(text, wholeOf(value));
      assert(largest < 2 * pieceBytes, `a piece of ${largest} bytes`);
    }),
    { numRuns: 60 },
  );
});

test('a writer tells long rows before it grows, and forgets them', () => {
  const writer = newWriter();
  writer.string('before');
  writer.beginRow(1000);
  writer.string('x'.repeat(500));
  assert.throws(
    () => {
      for (let i = 0; i < 10; i += 1) writer.string('x'.repeat(500));
    },
    (error) => error === longRow,
  );
  writer.dropRow();
  writer.string('x'.repeat(5000));
  assert.equal(writer.take(0).toString(), `"before""${'x'.repeat(5000)}"`);
});

const text = `${'😀 long "é" '.repeat(110_000)}`;
const row: readonly Value[] = [1, text];
const asRows = (rowCount: number): ResultBatch => ({
  rowCount,
  values: Array.from({ length: rowCount }, () => row).flat(),
});
const sql = { language: 'sql', command: 'x' };

test('a long row arrives whole, in each format, with others around it', async (context) => {
  const door = await startDoor(context);
  const once = JSON.stringify({ a: 1, b: text });
  for (const behaviour of [
    { complete: asRows(2) },
    { complete: asRows(70) },
    { batches: [asRows(1), asRows(1)] },
  ]) {
    door.databases.behaviours.set('x', behaviour);
    const count = 'complete' in behaviour ? behaviour.complete.rowCount : 2;
    const body = count === 70 ? { ...sql, limit: 2 } : sql;
    const plain = await door.ask('POST', 'query/school', { body });
    assert.equal(plain.headers['transfer-encoding'], 'chunked');
    const [, result] = /"result":(\[.*\]),"limit"/s.exec(plain.text) ?? [];
    assert(result === `[${once},${once}]`, 'the rows');
    const packed = await door.ask('POST', 'query/school', {
      body,
      headers: { 'accept-encoding': 'gzip' },
    });
    assert(gunzipSync(packed.bytes).toString() === plain.text, 'packed');
    const lines = await door.ask('POST', 'query/school', {
      body,
      headers: { accept: 'application/x-ndjson' },
    });
    const [first, second] = lines.text.split('\n');
    assert(first === `{"record":${once}}` && second === first, 'lines');
  }
});

test('rows whose columns have long names are written in pieces, whatever else is in them', () => {
  const long = `n"${'é\\'.repeat(200_000)}`;
  const names = ['a', long, 'b'];
  const batch: ResultBatch = { rowCount: 2, values: [1, 2, 3, 4, [5], text] };
  const rows = [
    { a: 1, [long]: 2, b: 3 },
    { a: 4, [long]: [5], b: text },
  ] as const;
  for (const layout of ['list', 'lines'] as const)
    for (const typeHints of [false, true]) {
      const writer = newWriter();
      const shape = { kind: 'columns', names } as const;
      const form = { layout, typeHints, counts: false };
      const records = { degree: () => 0 } as never;
      const renderer = new JsonRowRenderer(writer, form, { shape, records }, new ColumnTemplates());
      const taken: Buffer[] = [];
      for (let row = 0; row < batch.rowCount; row += 1) {
        assert.equal(renderer.write(batch, row), false);
        for (const _ of renderer.writeInPieces(batch, row)) taken.push(writer.take(64));
        taken.push(writer.take(64));
      }
      assert(taken.every(({ length }) => length < 2 * pieceBytes));
      const hints = [`a:1,${long}:1,b:1`, `a:1,${long}:9,b:7`];
      const expected = rows.map((each, at) => ({
        ...each,
        ...(typeHints && { '@props': hints[at] }),
      }));
      const given = Buffer.concat(taken).toString();
      const parsed: unknown =
        layout === 'list'
          ? JSON.parse(`[${given}]`)
          : given
              .trimEnd()
              .split('\n')
              .map((line) => (JSON.parse(line) as { record: unknown }).record);
      assert(JSON.stringify(parsed) === JSON.stringify(expected), `${layout}, ${typeHints}`);
    }
});

test('long rows that could pass the ceiling are counted before the first byte', async (context) => {
  const door = await startDoor(context, { 'server.httpQueryMaxResultRows': '3' });
  const run = async (rowCount: number) => {
    door.databases.behaviours.set('x', { batches: [asRows(1), asRows(rowCount - 1)] });
    const before = door.databases.seen.length;
    const answer = await door.ask('POST', 'query/school', { body: { ...sql, limit: -1 } });
    return { status: answer.status, runs: door.databases.seen.length - before };
  };
  assert.deepEqual(await run(3), { status: 200, runs: 2 });
  assert.deepEqual(await run(4), { status: 413, runs: 1 });
  assert.equal(door.databases.openStreams, 0);
});

test('an answer that was counted has the memory of its first run, and is refused with a status', async (context) => {
  const door = await startDoor(context, { 'server.httpQueryMaxResultRows': '3' });
  const { seen, behaviours } = door.databases;
  const ask = () => door.ask('POST', 'query/school', { body: { ...sql, limit: -1 } });
  behaviours.set('x', { batches: [asRows(1), asRows(1)], memoryBytes: 12_345 });
  assert.equal((await ask()).status, 200);
  assert.deepEqual(
    seen.map(({ options }) => options.memoryBytes),
    [undefined, 12_345],
  );
  const batches = async (index: number) => {
    if (seen.length === 4) throw new DatabaseError('Busy', 'statements hold all of the memory');
    return index < 2 ? asRows(1) : undefined;
  };
  behaviours.set('x', { batches });
  assert.equal((await ask()).status, 503);
  assert.equal(seen.length, 4);
  assert.equal(door.databases.openStreams, 0);
});

test('what fails amid a long row breaks the answer off', async (context) => {
  const door = await startDoor(context);
  const failing = new Map<string, Value>([['a', text]]);
  failing[Symbol.iterator] = function* () {
    yield ['a', text];
    throw new DatabaseError('CorruptedRecord', 'a large property is damaged');
  };
  for (const accept of ['application/json', 'application/x-ndjson']) {
    door.databases.behaviours.set('x', {
      batches: [{ rowCount: 1, values: [1, failing] }],
    });
    await assert.rejects(
      door.ask('POST', 'query/school', { body: sql, headers: { accept } }),
      { code: 'ECONNRESET' },
      accept,
    );
  }
  assert.equal(door.databases.openStreams, 0);
});
