import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from '#core/value/json-value.ts';
import type { Value } from '#core/value/value.ts';
import type { RecordBatch } from '#database/bulk/bulk-batch.ts';
import { importBody, type LoadedRow, RecordingLoader } from './import-fixture.ts';

const key = fc.constantFrom(
  'a',
  'b',
  'name',
  '__proto__',
  'constructor',
  'é',
  'with space',
  '0',
  '12',
);

const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
  fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
  fc
    .tuple(fc.integer(), fc.integer({ min: 0 }), fc.constantFrom('', 'e3', 'E-7', 'e+2'))
    .map(([whole, fraction, exponent]) => `${whole}.${fraction}${exponent}`),
  fc.constantFrom('-0', '-0.0', '0.0', '4.0', '1e5', '0.1', '123456789012345', '1234567890123456',
    '9007199254740993', '0.123456789012345678901', '-9223372036854775808', '1e-400'),
); // biome-ignore format: a list

/** Texts with any character as it is, escaped in short or escaped by number. */
const stringText = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom('"', '\\', '\n', '\u0000', '\u007f', '/', 'é', '漢', '😀', '\u2028'),
        fc.string({ minLength: 1, maxLength: 3, unit: 'binary' }),
      ),
      fc.integer({ min: 0, max: 5 }),
    ),
    { maxLength: 6 },
  )
  .map((parts) => {
    const text = parts.map(([part, how]) =>
      how === 0 ? escaped(part) : JSON.stringify(part).slice(1, -1),
    );
    return `"${text.join('')}"`;
  });

function escaped(text: string): string {
  return Array.from({ length: text.length }, (_, at) => {
    return `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
  }).join('');
}

const { valueText } = fc.letrec<{ valueText: string }>((tie) => ({
  valueText: fc.oneof(
    { maxDepth: 3 },
    stringText,
    numberText,
    fc.constantFrom('true', 'false', 'null', '[]', '{}', '[ ]', '""'),
    fc.array(tie('valueText'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
    fc
      .array(fc.tuple(key, tie('valueText')), { maxLength: 3 })
      .map((members) => `{${members.map(([name, value]) => `"${name}" :${value}`).join(',')}}`),
  ),
}));

/** A few forms of lines, many of which follow each other. */
const line = fc
  .record({
    keys: fc.oneof(fc.constant<string[]>(['a', 'b']), fc.array<string>(key, { maxLength: 4 })),
    values: fc.array(valueText, { minLength: 4, maxLength: 4 }),
    type: fc.constantFrom('V', 'Person'),
    style: fc.constantFrom([':', ','] as const, [': ', ', '] as const, [' :\t', ' ,'] as const),
    metaAt: fc.constantFrom(0, 0, 0, 1),
    ending: fc.constantFrom('\n', '\n', '\r\n', '\n\n'),
  })
  .map(({ keys, values, type, style: [colon, comma], metaAt, ending }) => {
    const members = keys.map((name, at) => `"${name}"${colon}${values[at] ?? 'null'}`);
    members.splice(metaAt, 0, `"@type"${colon}"v"${comma}"@class"${colon}"${type}"`);
    return `{${members.join(comma)}}${ending}`;
  });

const pieces = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 4 });

function expectedRow(text: string): LoadedRow {
  const members = parseJson(text) as ReadonlyMap<string, Value>;
  const columns = [...members.keys()].filter((name) => !name.startsWith('@'));
  const values = columns.map((name) => members.get(name));
  return { type: String(members.get('@class')), columns, values };
}

/** Rows of one form keep their order; forms are loaded one after the other. */
function byForm(rows: readonly LoadedRow[]): ReadonlyMap<string, readonly LoadedRow[]> {
  return Map.groupBy(rows, ({ type, columns }) => JSON.stringify([type, columns]));
}

test('values read from bytes are those that parseJson gives', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), pieces, async (lines, lengths) => {
      const body = Buffer.from(lines.join(''));
      const { loader, batch } = await importBody(body, lengths);
      const expected = lines.map(expectedRow);
      assert.deepStrictEqual(byForm(loader.rows), byForm(expected));
      assert.equal(batch.counts.lines, lines.join('').split('\n').length - 1);
      assert.equal(batch.counts.bytes, body.length);
    }),
    { numRuns: 400 },
  );
});

const id = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((n) => `p${n}`),
  fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme' }),
);

test('edges find their vertices whatever the ids are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(id, { minLength: 1, maxLength: 60 }),
      fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 60 }),
      pieces,
      async (ids, pairs, lengths) => {
        const vertices = ids.map((name) => ({ '@type': 'v', '@class': 'V', '@id': name }));
        const edges = pairs.map(([from, to]) => ({
          '@type': 'e',
          '@class': 'E',
          '@from': ids[from % ids.length],
          '@to': ids[to % ids.length],
        }));
        const text = [...vertices, ...edges].map((record) => JSON.stringify(record)).join('\n');
        const { loader } = await importBody(Buffer.from(text), lengths);
        assert.deepEqual(
          loader.rows.flatMap(({ ends }) => (ends ? [ends] : [])),
          pairs.map(([from, to]) => [from % ids.length, to % ids.length]),
        );
      },
    ),
    { numRuns: 200 },
  );
});

test('the first line that names no vertex, or is no line, is the one that is refused', async () => {
  const known = ['p0', 'p1', 'p7', 'p900000000', 'x', 'p07'];
  const missing = ['p2', 'p40000', 'p800000000', 'nobody', '#1:7'];
  const vertices = known.map((name) => `{"@type":"v","@class":"V","@id":"${name}"}`);
  const end = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constantFrom(...missing) },
  );
  const edge = fc.record({
    type: fc.constantFrom('E', 'Eats'),
    from: end,
    to: end,
    isWhole: fc.integer({ min: 0, max: 40 }).map((n) => n > 0),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { maxLength: 60 }), pieces, async (edges, lengths) => {
      const lines = edges.map(({ type, from, to, isWhole }) => {
        const text = `{"@type":"e","@class":"${type}","@from":"${from}","@to":"${to}"}`;
        return isWhole ? text : text.slice(0, -1);
      });
      const body = Buffer.from([...vertices, ...lines].join('\n'));
      const wrong = edges.findIndex(
        ({ from, to, isWhole }) => !isWhole || missing.includes(from) || missing.includes(to),
      );
      const { from, to, isWhole } = edges[wrong] ?? { from: '', to: '', isWhole: true };
      const name = missing.includes(from) ? from : to;
      const reason = isWhole ? `the vertex '${name}' of the edge was not found` : '';
      const expected = wrong < 0 ? 'taken' : `Line ${vertices.length + wrong + 1}: ${reason}`;
      const seen = await messageOf(body.toString(), lengths);
      assert.equal(seen.slice(0, expected.length), expected);
    }),
    { numRuns: 300 },
  );
});

test('each commit holds whole chunks of lines', async () => {
  const lines = Array.from({ length: 5000 }, (_, n) =>
    JSON.stringify({ '@type': 'v', '@class': n % 3 === 0 ? 'V' : 'Person', n }),
  );
  const { loader } = await importBody(Buffer.from(lines.join('\n')), [999], { commitEvery: 2100 });
  assert.deepEqual(loader.commits, [2100, 4200, 5000]);
});

test('what a wrong line says does not depend on the lines before it', async () => {
  const good = '{"@type":"v","@class":"V","a":1}\n';
  const wrong = [
    '01',
    '1.',
    '-',
    '1e400',
    '"\\x"',
    '"\u0001"',
    'tru',
    '"open',
    '[1',
    '"\\ud800"',
    '.5',
    '+1',
  ];
  for (const value of wrong) {
    const bad = `{"@type":"v","@class":"V","a":${value}}\n`;
    const alone = await messageOf(bad);
    const after = await messageOf(good + good + bad);
    assert.equal(after, alone.replace('Line 1', 'Line 3'), value);
    assert.match(alone, /^Line 1: /);
  }
});

test('an id is closed by its quote, whatever the ids before it begin with', async () => {
  const vertex = String.raw`{"@type":"v","@class":"V","@id":"a\"b1"}`;
  const edge = (id: string) => `{"@type":"e","@class":"E","@from":"${id}","@to":"${id}"}`;
  const good = `${vertex}\n${edge(String.raw`a\"b1`)}\n`;
  assert.equal(await messageOf(good), 'taken');
  const alone = await messageOf(edge('a"b1'));
  assert.match(alone, /^Line 1: /);
  assert.equal(await messageOf(good + edge('a"b1')), alone.replace('Line 1', 'Line 3'));
});

test('without commitEvery a chunk has 50,000 records', async () => {
  const edge = '{"@type":"e","@class":"E","@from":"a","@to":"a"}\n';
  const body = Buffer.from(`{"@type":"v","@class":"V","@id":"a"}\n${edge.repeat(110_000)}`);
  const { loader } = await importBody(body, [65_536]);
  assert.deepEqual(loader.commits, [50_000, 100_000, 110_001]);
});

async function messageOf(text: string, lengths: readonly number[] = [50]): Promise<string> {
  try {
    await importBody(Buffer.from(text), lengths);
  } catch (error) {
    return (error as Error).message;
  }
  return 'taken';
}

test('thousands of forms of lines lose no row', async () => {
  const lines = Array.from({ length: 9000 }, (_, n) =>
    JSON.stringify({ '@type': 'v', '@class': `V${n % 7}`, [`key${n % 1500}`]: n }),
  );
  const { loader } = await importBody(Buffer.from(lines.join('\n')), [5000]);
  const seen = loader.rows.map(({ values }) => Number(values[0])).sort((a, b) => a - b);
  assert.deepEqual(seen, Array.from(lines.keys()));
});

test('a chunk whose rows are all vetoed is followed by the next one', async () => {
  class Vetoing extends RecordingLoader {
    override async addRecords(batch: RecordBatch): Promise<void> {
      const { pendingRows } = this;
      await super.addRecords(batch);
      if (batch.values[0] === 1) this.pendingRows = pendingRows;
    }
  }
  const body = [0, 1, 2].map((n) => `{"@type":"v","@class":"V","n":${n}}\n`).join('');
  const { loader } = await importBody(Buffer.from(body), [1000], { commitEvery: 1 }, new Vetoing());
  assert.equal(loader.rows.length, 3);
  assert.deepEqual(loader.commits, [1, 3]);
});
