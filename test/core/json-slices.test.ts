import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJsonInSlices, parseTextInSlices, type Slices } from '#core/value/json-slices.ts';
import { defaultJsonLimits, parseJson, parseJsonBytes } from '#core/value/json-value.ts';
import type { Value } from '#core/value/value.ts';

// The reader of long texts gives what the one of short texts gives, values and refusals, wherever its window ends.

/** Pauses at each look. */
class EveryLook implements Slices {
  readonly isSpent = true;
  count = 0;

  async pause(): Promise<void> {
    this.count += 1;
  }
}

test('a text read in slices gives the value, or the error, that it gives at once', async () => {
  const anyText = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(',', ']', '}', '"', ':', 'x', ''))
      .map(([text, at, sign]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + sign + text.slice(place + 1);
      }),
  );
  await fc.assert(
    fc.asyncProperty(anyText, async (text) => {
      const bytes = Buffer.from(text);
      const inSlices = await parseJsonInSlices(bytes, defaultJsonLimits, new EveryLook()).catch(
        String,
      );
      let atOnce: unknown;
      try {
        atOnce = parseJsonBytes(bytes);
      } catch (error) {
        atOnce = String(error);
      }
      assert.deepEqual(inSlices, atOnce);
    }),
  );
});

test('a long text read in slices pauses in between, at any depth', async () => {
  const slices = new EveryLook();
  const rows = Array.from({ length: 3000 }, (_, at) => ({ a: [at, { b: 'text' }] }));
  const value = await parseJsonInSlices(
    Buffer.from(JSON.stringify(rows)),
    defaultJsonLimits,
    slices,
  );
  assert.equal((value as readonly Value[]).length, 3000);
  assert.ok(slices.count > 10, `${slices.count} pauses`);
  const deep = Buffer.from('['.repeat(600) + ']'.repeat(600));
  await assert.rejects(
    parseJsonInSlices(deep, { depthMax: 512 }, slices),
    /nested deeper than 512/,
  );
});

test('long strings are read in slices as they are at once', async () => {
  const plain = 'x'.repeat(40_000);
  const escaped = 'line\n"quoted" \\ \u0001 ü 😀 '.repeat(3_000);
  const texts = [
    JSON.stringify([plain, escaped, { [escaped]: escaped, plain }, '', 'end']),
    JSON.stringify(escaped),
    JSON.stringify(plain + escaped + plain).replaceAll('ü', '\\u00fc'),
    `["${plain}`,
    `["${plain}\\n${plain}`,
    `["${plain}\\x"]`,
    `["${plain}\u0002"]`,
    `["${plain}\\ud800"]`,
    `["${plain}\\`,
  ];
  for (const text of texts) {
    let expected: unknown;
    try {
      expected = parseJson(text);
    } catch (error) {
      expected = String(error);
    }
    const slices = new EveryLook();
    const value: unknown = await parseJsonInSlices(
      Buffer.from(text),
      defaultJsonLimits,
      slices,
    ).catch(String);
    assert.deepEqual(value, expected, text.slice(-60));
    assert.ok(slices.count > 1);
  }
});

/** What both readers make of the bytes; that they agree is checked here. */
async function readByBoth(bytes: Uint8Array): Promise<unknown> {
  const inSlices = await parseJsonInSlices(bytes, defaultJsonLimits, new EveryLook()).catch(String);
  let atOnce: unknown;
  try {
    atOnce = parseJsonBytes(bytes);
  } catch (error) {
    atOnce = String(error);
  }
  assert.deepEqual(inSlices, atOnce, Buffer.from(bytes.subarray(-80)).toString());
  return atOnce;
}

/** Around here the window moves for the first time. */
const windowEnd = 48 * 1024;
/** As much of the text is seen of what is no number. */
const windowMin = 4 * 1024;

test('what stands at the end of the window is read as anywhere else', async () => {
  const signs = [
    '"text"',
    '"\\u00e9\\n"',
    '"\\ud83d\\ude00"',
    '"\\ud83d"',
    '"\\ude00\\ud83d"',
    '"\\ud83dx\\ude00"',
    '"ü😀"',
    '"\\x"',
    '"a\nb"',
    'true',
    'falsy',
    '-1234567890123456789',
    '0.1234567890123456789',
    '1e309',
    '1.',
    '01',
    '-',
    '7'.repeat(9_000),
    `-${'1'.repeat(5_000)}.${'2'.repeat(4_500)}e-${'0'.repeat(4_200)}7`,
    `0.${'1'.repeat(32_760)}`,
    '8'.repeat(33_000),
    '{"ü":1}',
    '{"a" :\n1 ,"a":2}',
    '{"a"1}',
    '{a:1}',
    '[1 2]',
    '[]',
    '{}',
    '[,]',
    '{"__proto__":{"x":1}}',
    '\u00a0',
    '',
  ];
  for (const sign of signs)
    for (const before of [12, 3, 0])
      for (const filling of [' ', '1,']) {
        const length = windowEnd - before - (sign.length > 4_096 ? windowMin : 0);
        const text = `[${filling.repeat(length).slice(0, length - 1 - (length % filling.length))}${sign}]`;
        await readByBoth(Buffer.from(text));
      }
});

test('strings, names, numbers, blanks and depths of any length agree', async () => {
  const long = 200_000;
  const texts = [
    ' '.repeat(long),
    '\n'.repeat(long),
    `${'\n '.repeat(long)}x`,
    `[${' \n'.repeat(long)}1${'\r\n'.repeat(long)}]${'\t'.repeat(long)}`,
    `"${'ü'.repeat(long)}"`,
    `"${'😀'.repeat(long)}`,
    `{"${'n'.repeat(long)}":1}`,
    `{"${'n'.repeat(long)}"1}`,
    `["${'\\u00e9'.repeat(long)}"]`,
    `["${'\\ud83d\\ude00'.repeat(long)}"]`,
    `["${'\\ude00\\ud83d'.repeat(long)}"]`,
    `["${'x'.repeat(long)}\\ud83d"]`,
    `["${'x'.repeat(long)}\u0001"]`,
    '1'.repeat(long),
    `-${'1'.repeat(long)}.`,
    `0.${'1'.repeat(long)}`,
    `1e${'0'.repeat(long)}5`,
    `1${'0'.repeat(10_000)}`,
    `1${'0'.repeat(9_999)}`,
    `0${'0'.repeat(long)}`,
    '['.repeat(long),
    '{"a":'.repeat(long),
    `${'[1,'.repeat(400)}1${']'.repeat(400)}`,
    `[${'1,'.repeat(long)}]`,
    `[${'{},'.repeat(long)}{}]`,
    `{${'"a":1,'.repeat(long)}"a":2}`,
    `[${'1 '.repeat(long)}]`,
    `[${'true,'.repeat(long)}null]x`,
    `[1]${' '.repeat(long)}[`,
  ];
  for (const text of texts) await readByBoth(Buffer.from(text));
  assert.match(
    String(await readByBoth(Buffer.from('1'.repeat(long)))),
    /more than 32768 characters/,
  );
  assert.match(
    String(await readByBoth(Buffer.from(`${'\n'.repeat(long)} x`))),
    /line 200001, column 2/,
  );
});

test('bytes that are no UTF-8 are refused wherever they stand, before anything else', async () => {
  const around = Buffer.from(`["${'ü'.repeat(200_000)}"]`);
  for (const wrong of [
    [0xff],
    [0x80],
    [0xc3],
    [0xe2, 0x82],
    [0xf0, 0x9f, 0x98],
    [0xed, 0xa0, 0x80],
    [0xc0, 0xaf],
    [0x80, 0x80, 0x80, 0x80, 0x80],
  ])
    for (const at of [
      0,
      3,
      131_071,
      131_072,
      131_073,
      262_141,
      262_142,
      262_143,
      262_144,
      around.length,
    ]) {
      const bytes = Buffer.concat([
        around.subarray(0, at),
        Buffer.from(wrong),
        around.subarray(at),
      ]);
      assert.match(String(await readByBoth(bytes)), /not valid UTF-8/, `${wrong.join()} at ${at}`);
    }
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), around]);
  assert.equal(((await readByBoth(marked)) as readonly string[])[0]?.length, 200_000);
  const twice = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), marked]);
  assert.match(String(await readByBoth(twice)), /line 1, column 1: expected a value/);
});

test('random long texts, damaged at random, agree', async () => {
  const item = fc.jsonValue({ maxDepth: 3 });
  const damage = fc.constantFrom(
    '',
    '',
    ',',
    ']',
    '}',
    '"',
    '\\',
    ':',
    'x',
    '\u0000',
    '\\ud800',
    'é',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      damage,
      fc.constantFrom(undefined, 1),
      async (items, seed, sign, indent) => {
        const unit = JSON.stringify(items, null, indent);
        const text = `[${`${unit},\n`.repeat(Math.ceil(200_000 / unit.length) + 1)}0]`;
        const at = seed % text.length;
        await readByBoth(Buffer.from(text.slice(0, at) + sign + text.slice(at)));
      },
    ),
    { numRuns: 40 },
  );
});

test('halves of a character in a text that is read in slices stay together', async () => {
  const text = `["x${'😀'.repeat(200_000)}"]`;
  const value = await parseTextInSlices(text, defaultJsonLimits, new EveryLook());
  assert.deepEqual(value, JSON.parse(text));
  await assert.rejects(
    parseTextInSlices(`${text.slice(0, -3)}"]`, defaultJsonLimits, new EveryLook()),
    /lone surrogate/,
  );
});
