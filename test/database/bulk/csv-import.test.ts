import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { PropertyDefinition } from '#catalog/catalog.ts';
import { Float, type Value } from '#core/value.ts';
import { importBody, RecordingLoader } from './import-fixture.ts';

async function valuesOf(fields: readonly string[], declared?: string): Promise<readonly unknown[]> {
  const loader = new RecordingLoader();
  if (declared) loader.declared.set('a', { type: declared } as PropertyDefinition);
  const body = `@type,@class,a,z\n${fields.map((field) => `v,V,${field},1\n`).join('')}`;
  await importBody(Buffer.from(body), [13], { format: 'csv' }, loader);
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

test('quoted fields give back any text without line feeds', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((s) => !/[\n\r]/.test(s));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 8 }), async (texts) => {
      const fields = texts.map((one) => `"${one.replaceAll('"', '""')}"`);
      assert.deepEqual(await valuesOf(fields), texts);
    }),
    { numRuns: 150 },
  );
});

test('quotes in a long field are read wherever they stand', async () => {
  const slice = 64 * 1024;
  for (const filler of ['x', 'é', '"'])
    for (let shift = -3; shift <= 3; shift += 1) {
      const before = filler.repeat(Math.floor((slice + shift) / Buffer.byteLength(filler)));
      const texts = [`${before}"${filler}`, `${before}""é"`, `"${before}${before}"`];
      for (const text of texts) {
        const [value] = await valuesOf([`"${text.replaceAll('"', '""')}"`]);
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
