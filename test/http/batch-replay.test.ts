import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from '../websocket/socket-fixture.ts';

// X-Request-Id on POST /batch (http-api.md 4): a repeated upload is not imported twice.

const jsonl = { 'content-type': 'application/x-ndjson' };

function persons(count: number, more = ''): string {
  let text = '';
  for (let n = 0; n < count; n++)
    text += `{"@type":"v","@class":"P","@id":"p${n}","n":${n}${more}}\n`;
  return text;
}

async function start(context: Parameters<typeof startSockets>[0]) {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE P');
  const batch = (id: string, body: string, more: Record<string, string> = {}) =>
    door.ask('POST', 'batch/school?idMapping=false', {
      body,
      headers: { ...jsonl, 'x-request-id': id, ...more },
    });
  const count = async () => (await sql('SELECT count(*) AS n FROM P'))[0]?.['n'];
  return { door, batch, count };
}

test('a repeated upload gets the answer of the first one', async (context) => {
  const { batch, count } = await start(context);
  for (const size of [3, 5000]) {
    const before = Number(await count());
    const first = await batch(`upload-${size}`, persons(size));
    assert.equal(first.status, 200, first.text);
    const again = await batch(`upload-${size}`, persons(size));
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(await count(), before + size);
    const other = await batch(`another-${size}`, persons(size));
    assert.equal(other.status, 200);
    assert.equal(await count(), before + 2 * size);
  }
});

test('another body with the same id is another upload, as far as can be told in time', async (context) => {
  const { batch, count } = await start(context);
  await batch('x', persons(2));
  assert.equal((await batch('x', persons(3))).status, 200);
  assert.equal(await count(), 5);
  const same = persons(2).replaceAll('"n":', '"m":');
  for (let time = 0; time < 2; time++) assert.equal((await batch('x', same)).status, 200);
  assert.equal(await count(), 7);
  assert.equal((await batch('x', persons(2))).status, 200);
  assert.equal(await count(), 7);
  const long = persons(5000);
  await batch('y', long);
  const late = await batch('y', `${long.slice(0, -4)}7}}\n`.slice(0, long.length));
  assert.deepEqual(
    [late.status, late.body['error']],
    [409, 'Request id was used for another body'],
  );
  assert.equal(await count(), 5007);
});

test('an upload that failed is tried again', async (context) => {
  const { batch, count } = await start(context);
  const wrong = '{"@type":"v","@class":"Missing"}\n';
  assert.equal((await batch('x', wrong)).status, 400);
  assert.equal((await batch('x', wrong)).status, 400);
  assert.equal(await count(), 0);
});

test('two uploads with one id at once are one', async (context) => {
  const { batch, count } = await start(context);
  const answers = await Promise.all([1, 2, 3].map(() => batch('x', persons(2000))));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(await count(), 2000);
});

test('a repeated upload that is answered in lines is not imported twice, either', async (context) => {
  const { batch, count } = await start(context);
  const lines = { accept: 'application/x-ndjson' };
  assert.match((await batch('x', persons(2), lines)).text, /^\{"progress"/);
  const again = await batch('x', persons(2), lines);
  const { summary } = JSON.parse(again.text) as { summary: Record<string, unknown> };
  assert.deepEqual(
    [summary['verticesCreated'], summary['linesRead'], summary['deduplicated']],
    [2, 2, true],
  );
  assert.equal(await count(), 2);
  const whole = await batch('x', persons(2));
  assert.equal((whole.body as { verticesCreated?: number }).verticesCreated, 2);
  assert.equal(await count(), 2);
});

test('a chunk that is full at the last row carries the request, and is committed before a wrong line', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE P');
  const ask = (body: string, id: string) =>
    door.ask('POST', 'batch/school?idMapping=false&commitEvery=3', {
      body,
      headers: { ...jsonl, 'x-request-id': id },
    });
  const count = async () => (await sql('SELECT count(*) AS n FROM P'))[0]?.['n'];
  for (const size of [2, 3, 4, 6, 7]) {
    const before = Number(await count());
    for (let time = 0; time < 2; time++) {
      const answer = await ask(`${persons(size)}\n\n`, `size ${size}`);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body['verticesCreated'], size);
    }
    assert.equal(await count(), before + size);
  }
  const before = Number(await count());
  const wrong = await ask(`${persons(3)}{"@type":"v","@class":"Missing"}\n`, 'wrong');
  assert.deepEqual(
    [wrong.status, wrong.body['verticesCreated'], wrong.body['partialCommit']],
    [400, 3, true],
  );
  assert.equal(await count(), before + 3);
});

test('progress of a repeatable upload counts each chunk, with its ids', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE P');
  const answer = await door.ask('POST', 'batch/school?commitEvery=3', {
    body: persons(8),
    headers: { ...jsonl, 'x-request-id': 'x', accept: 'application/x-ndjson' },
  });
  const told = answer.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    told
      .slice(0, -1)
      .map(({ progress }) => [progress.verticesCreated, Object.keys(progress.idMapping).join(' ')]),
    [
      [3, 'p0 p1 p2'],
      [6, 'p3 p4 p5'],
      [8, 'p6 p7'],
    ],
  );
  assert.equal(told.at(-1).summary.verticesCreated, 8);
});
