import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { PropertyDefinition } from '#catalog/catalog.ts';
import { Float, type Value } from '#core/value/value.ts';
import { importBody, RecordingLoader } from './import-fixture.ts';

async function valuesOf(
  fields: readonly string[],
  declared?: string,
  pieceSize = 13,
): Promise<readonly unknown[]> {
  const loader = new RecordingLoader();
  if (declared) loader.declared.set('a', { type: declared } as PropertyDefinition);
  const body = `@type,@class,a,z\n${fields.map((field) => `v,V,${field},1\n`).join('')}`;
  await importBody(Buffer.from(body), [pieceSize], { format: 'csv' }, loader);
  return loader.rows.map(({ values }) => (values.length === 2 ? values[0] : undefined));
}

test('unquoted fields become booleans, integers, doubles or texts', async () => {
  const cases: readonly (readonly [string, Value | undefined])[] = [
    ['', undefined],
    ['""', ''],
    ['true', true],
    ['FALSE', false],
    ['truely', 'truely'],
    ['0', 0],
    ['-0', 0],
    ['42', 42],
    ['-17', -17],
    ['123456789012345678', 123456789012345678n],
    ['900719925474099', 900719925474099],
    ['1234567890123456789', new Float(Number('1234567890123456789'))],
    ['007', '007'],
    ['-07', '-07'],
    ['+5', '+5'],
    ['00.5', '00.5'],
    ['1.5', 1.5],
    ['1.0', new Float(1)],
    ['1e3', new Float(1000)],
    ['.5', 0.5],
    ['1.', '1.'],
    ['1-2', '1-2'],
    ['-', '-'],
    ['NaN', 'NaN'],
    ['"12"', '12'],
    ['"true"', 'true'],
    ['"a,""b"""', 'a,"b"'],
    ['a"b', 'a"b'],
    [' 1', ' 1'],
    ['é漢', 'é漢'],
  ];
  const seen = await valuesOf(cases.map(([text]) => text));
  const absentLast = (values: readonly unknown[]) => values.filter((value) => value !== undefined);
  assert.deepStrictEqual(absentLast(seen), absentLast(cases.map(([, value]) => value)));
});

test('declared types win over detection', async () => {
  assert.deepEqual(await valuesOf(['12', 'true', '1.50'], 'STRING'), ['12', 'true', '1.50']);
  assert.deepEqual(await valuesOf(['10.50'], 'DECIMAL'), ['10.50']);
  assert.deepEqual(await valuesOf(['12'], 'LONG'), [12]);
  assert.deepEqual(await valuesOf(['"[1, ""b""]"', 'x'], 'LIST'), [[1, 'b'], 'x']);
});

test('quoted fields give back any text, with line feeds and wherever the body is cut', async () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('\n', '\r\n'),
  );
  const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 40 }),
      async (texts, pieceLength) => {
        const fields = texts.map((one) => `"${one.replaceAll('"', '""')}"`);
        assert.deepEqual(await valuesOf(fields, undefined, pieceLength), texts);
      },
    ),
    { numRuns: 150 },
  );
});

test('a line that a quoted field carries on counts as several, and is named by its first', async () => {
  const options = { format: 'csv' } as const;
  const good = '@type,@class,"a\nb"\nv,V,"x\r\n\ny"\nv,V,2\n';
  const { loader, batch } = await importBody(Buffer.from(good), [5], options);
  assert.deepEqual(
    loader.rows.map(({ columns, values }) => [...columns, ...values]),
    [
      ['a\nb', 'x\r\n\ny'],
      ['a\nb', 2],
    ],
  );
  assert.equal(batch.counts.lines, 6);
  for (const [body, message] of [
    ['@type,@class,a\nv,V,"x\ny\nz"\nv,W,1,2\n', 'Line 5: 4 fields, but the header has 3 columns'],
    ['@type,@class,a\nv,V,1\nv,V,"x\nv,V,2\n', 'Line 3: a quoted field is not closed'],
    ['@type,@class,a\nv,V,"x\ny"z\n', 'Line 2: there is text behind the closing quote of a field'],
  ] as const)
    for (const length of [3, 1000])
      await assert.rejects(importBody(Buffer.from(body), [length], options), { message });
  const long = Buffer.from(`@type,@class,a\nv,V,"${'x\n'.repeat(600)}"\n`);
  await assert.rejects(importBody(long, [100], { ...options, lineBytesMax: 1024 }), {
    message: 'Line 2: the line is longer than 1024 bytes (service.server.httpBatchLineMaxSize)',
  });
});

test('quotes in a long field are read wherever they stand', async () => {
  const slice = 64 * 1024;
  for (const filler of ['x', 'é', '"'])
    for (let shift = -3; shift <= 3; shift += 1) {
      const before = filler.repeat(Math.floor((slice + shift) / Buffer.byteLength(filler)));
      const texts = [`${before}"${filler}`, `${before}""é"`, `"${before}${before}"`];
      for (const text of texts) {
        const field = `"${text.replaceAll('"', '""')}"`;
        const [value] = await valuesOf([field], undefined, 509);
        assert(value === text, `${filler} ${shift}`);
      }
    }
});

test('edges of a file without vertices stand in its first section', async () => {
  const body = '@type,@class,@id\nv,V,a\nv,V,"b"\n --- \n';
  await assert.rejects(importBody(Buffer.from(body), [100], { format: 'csv' }), /Line 4/);
  const good = '@class,@id\nV,a\nV,"b"\n---,\n@class,@from,@to\nE,"a",b\nE,b,b\n';
  const { loader, batch } = await importBody(Buffer.from(good), [7], { format: 'csv' });
  assert.deepEqual(
    loader.rows.flatMap(({ ends }) => (ends ? [ends] : [])),
    [
      [0, 1],
      [1, 1],
    ],
  );
  assert.equal(batch.counts.lines, 7);
});

const fieldText = fc.oneof(
  fc.constantFrom('', 'true', 'F', 'false', 'x', 'tea', 'é', '"q"', '"a,b"', '12', '-3', '007', '1.50', '-0.0', '1e3', '9007199254740993', '+1', '-', '.5', '1.', 'a b', 'a"b', 'NaN'),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
); // biome-ignore format: a list

test('lines read in one pass give what lines read field by field give', async () => {
  const line = fc.tuple(
    fc.constantFrom('V', 'W'),
    fieldText,
    fieldText,
    fc.constantFrom('\n', '\n', '\r\n'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
      const header = '@type,@class,a,b\n';
      const text = lines.map(([type, a, b, end]) => `v,${type},${a},${b}${end}`).join('');
      const together = await importBody(Buffer.from(header + text), [64], { format: 'csv' });
      const alone = [];
      for (const [type, a, b] of lines) {
        const one = `${header}v,${type},${a},${b}\n`;
        const { loader } = await importBody(Buffer.from(one), [64], { format: 'csv' });
        alone.push(...loader.rows);
      }
      const sorted = (rows: readonly object[]) => rows.map((row) => inspect(row)).sort();
      assert.deepEqual(sorted(together.loader.rows), sorted(alone));
    }),
    { numRuns: 300 },
  );
});

/** What an import of the body gives: its rows, and its refusal when there is one. */
async function outcomeOf(
  body: string,
  pieces: readonly number[],
  commitEvery: number,
): Promise<string> {
  const loader = new RecordingLoader();
  try {
    const { batch } = await importBody(
      Buffer.from(body),
      pieces,
      { format: 'csv', commitEvery },
      loader,
    );
    const { rows, commits } = loader;
    return inspect({ rows, commits, counts: { ...batch.counts, bytes: 0 } }, { depth: 9 });
  } catch (error) {
    const rows = loader.rows.slice(0, loader.commits.at(-1) ?? 0);
    return inspect({ rows, message: String(error) }, { depth: 9 });
  }
}

const knownIds = ['p0', 'p1', 'p7', 'p900000000', 'p1234567890', 'x', 'p07', '7', 'é', 'p 1'];
const lineEnd = fc.constantFrom('\n', '\n', '\n', '\r\n', ',\n');
const edgeEnd = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom('p0', 'p1', 'p7') },
  { weight: 20, arbitrary: fc.constantFrom(...knownIds) },
  { weight: 1, arbitrary: fc.constantFrom('', 'p2', 'p40000', '#1:7', 'p07x', '"p1"', '"p""1"') },
);
const edgeLine = fc.record({
  '@type': fc.constantFrom('e', 'e', 'e', 'e', 'edge'),
  '@class': fc.constantFrom('E', 'E', 'E', 'Eats'),
  '@from': edgeEnd,
  '@to': edgeEnd,
  n: fc.nat(3_000_000_000).map(String),
  a: fc.oneof({ weight: 9, arbitrary: fieldText }, fc.constantFrom('1\r2', 'x\r', '7\r', '\r')),
});

test('a body of which forms are learned gives what one read field by field gives', async () => {
  const names = ['@type', '@class', '@from', '@to', 'n', 'a'] as const;
  const columns: fc.Arbitrary<readonly (typeof names)[number][]> = fc.oneof(
    fc.constant(names),
    fc.shuffledSubarray([...names], { minLength: 6 }),
    fc.constant(names.slice(1)),
    fc.constant(names.slice(0, 4)),
  );
  const ends = fc.array(lineEnd, { minLength: 1, maxLength: 30 });
  const pieces = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        columns,
        ends: fc.oneof(
          { weight: 3, arbitrary: fc.constant(['\n']) },
          { weight: 1, arbitrary: ends },
        ),
        edges: fc.array(edgeLine, { maxLength: 40 }),
        pieces,
        commitEvery: fc.constantFrom(1, 3, 50, 1000),
      }),
      async ({ columns: header, ends: given, edges, pieces: lengths, commitEvery }) => {
        const body = (isQuoted: boolean) => {
          const quoted = (name: string) => (isQuoted ? `"${name}"` : name);
          const vertices = knownIds.map((id, at) => `v,${quoted('V')},${id},${at}\n`);
          const lines = edges.map((edge, at) => {
            const fields = header.map((name) =>
              name === '@class' ? quoted(edge[name]) : edge[name],
            );
            return fields.join(',') + given[at % given.length];
          });
          return `@type,@class,@id,n\n${vertices.join('')}---\n${header.join(',')}\n${lines.join('')}`;
        };
        const seen = await outcomeOf(body(false), lengths, commitEvery);
        assert.equal(seen, await outcomeOf(body(true), lengths, commitEvery));
      },
    ),
    { numRuns: 400 },
  );
});

test('a line beyond the limit is refused, also when it would be read quickly', async () => {
  const header = '@type,@class,@from,@to,a\n';
  const vertices = ['p0', 'p1', 'p2'].map((id) => `v,V,${id}\n`).join('');
  const edges = 'e,E,p0,p1,x\n'.repeat(100);
  const body = (last: string) => `@type,@class,@id\n${vertices}---\n${header}${edges}${last}\n`;
  const options = { format: 'csv', lineBytesMax: 40 } as const;
  const filler = 'x'.repeat(40);
  for (const ends of ['p1,p2', 'p1,"p2"']) {
    const longest = `e,E,${ends},${filler.slice(0, 40 - 5 - ends.length)}`;
    const { loader } = await importBody(Buffer.from(body(longest)), [9000], options);
    assert.equal(loader.rows.length, 104);
    const tooLong = Buffer.from(body(`${longest}x`));
    const refused = importBody(tooLong, [9000], options);
    await assert.rejects(refused, /^DatabaseError: Line 107: the line is longer than 40 bytes/);
  }
});
