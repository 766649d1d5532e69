import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { test, type TestContext } from 'node:test';
import type { TestDatabase } from '../database/support/open-test-database.ts';
import { startDatabaseDoor } from './database-door.ts';
import { basic, type DoorFixture } from './door-fixture.ts';

// POST /batch without `commitEvery`: chunks of 50,000 records (http-api.md 10.2), as if that had been given, though they share
// commits. Chunks that were complete stay, whatever ends the call (10.6).

const schema = ['CREATE VERTEX TYPE Person', 'CREATE EDGE TYPE Knows'];
const personCount = 10;
const persons = Array.from(
  { length: personCount },
  (_, n) => `{"@type":"v","@class":"Person","@id":"p${n}"}\n`,
).join('');
const tenEdges = Array.from(
  { length: 10 },
  (_, n) => `{"@type":"e","@class":"Knows","@from":"p${n}","@to":"p${(n * 3) % 10}"}\n`,
).join('');

/** So many records. */
function records(count: number): string {
  return persons + tenEdges.repeat((count - personCount) / 10);
}

interface Started {
  readonly door: DoorFixture;
  readonly data: TestDatabase;
  edgeCount(): Promise<unknown>;
}

async function start(
  context: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const { door, data: opened } = await startDatabaseDoor(context, { ofDoor: settings });
  for (const statement of schema) await opened.run(statement);
  return {
    door,
    data: opened,
    edgeCount: async () => (await opened.run('SELECT count(*) AS n FROM Knows'))[0]?.['n'],
  };
}

function upload(
  door: DoorFixture,
  headers: Readonly<Record<string, string>> = {},
  query = '?idMapping=false',
): ClientRequest {
  const asked = httpRequest({
    host: '127.0.0.1',
    port: door.port,
    method: 'POST',
    path: `/api/v1/batch/test${query}`,
    agent: false,
    headers: {
      authorization: basic('root'),
      'content-type': 'application/x-ndjson',
      accept: 'application/x-ndjson',
      ...headers,
    },
  });
  asked.on('error', () => {});
  return asked;
}

/** Collects the lines of an answer. */
function linesOf(asked: ClientRequest) {
  let text = '';
  asked.on('response', (answer: IncomingMessage) => {
    answer.on('error', () => {});
    answer.on('data', (piece) => {
      text += String(piece);
      asked.emit('more');
    });
  });
  return async (wanted: string): Promise<string> => {
    while (!text.includes(wanted)) await once(asked, 'more');
    return text;
  };
}

const bodiesThatFail = {
  'a malformed line': `${records(120_000)}nonsense\n`,
  'a missing end': `${records(120_000)}{"@type":"e","@class":"Knows","@from":"p0","@to":"p99"}\n`,
  'a line behind a full chunk': `${records(100_000)}nonsense\n`,
  'too few records': records(120_000),
};

for (const [what, body] of Object.entries(bodiesThatFail))
  test(`${what} leaves the chunks of 50,000 before it, as when commitEvery says so`, async (context) => {
    const query = what === 'too few records' ? '&expectedRecords=120001' : '';
    const answers: unknown[] = [];
    for (const given of ['', '&commitEvery=50000'])
      for (const accept of ['application/json', 'application/x-ndjson']) {
        const { door, edgeCount } = await start(context);
        const { status, text } = await door.ask(
          'POST',
          `batch/test?idMapping=false${given}${query}`,
          {
            body,
            headers: { 'content-type': 'application/x-ndjson', accept, 'x-request-id': 'same' },
          },
        );
        assert.equal(await edgeCount(), 99_990);
        assert.match(text, /"edgesCreated":99990,/);
        assert.match(text, /"partialCommit":true/);
        answers.push([status, text.replace(/"bytesRead":\d+/g, '')]);
      }
    assert.deepEqual(answers.slice(0, 2), answers.slice(2));
  });

for (const id of [undefined, 'chosen'])
  test(`a client that pauses${id ? ', with an id,' : ''} is told of the chunks that are complete`, async (context) => {
    const { door, edgeCount } = await start(context);
    const asked = upload(door, id ? { 'x-request-id': id } : {});
    const until = linesOf(asked);
    asked.write(records(120_000));
    const text = await until('"edgesCreated":99990,');
    assert.deepEqual(
      text.match(/"(vertices|edges)Created":\d+|"linesRead":\d+/g),
      [
        '"verticesCreated":10', '"edgesCreated":49990', '"linesRead":50000',
        '"verticesCreated":10', '"edgesCreated":99990', '"linesRead":100000',
      ], // biome-ignore format: two lines
    );
    assert.equal(await edgeCount(), 99_990);
    asked.write(tenEdges.repeat(3000));
    await until('"edgesCreated":149990,');
    assert.equal(await edgeCount(), 149_990);
    asked.end(tenEdges);
    await until('"summary":{"verticesCreated":10,"edgesCreated":150000,');
    assert.equal(await edgeCount(), 150_000);
  });

test('a client that leaves finds the chunks that it sent whole', async (context) => {
  const { door, edgeCount } = await start(context);
  const asked = upload(door);
  const until = linesOf(asked);
  asked.write(records(120_000), () => asked.socket?.end());
  const text = await until('"error":');
  assert.match(text, /"status":408,.*"edgesCreated":99990,.*"partialCommit":true/);
  assert.equal(await edgeCount(), 99_990);
  assert.deepEqual(door.internalErrors, []);
});

test('a repeated call of several chunks is answered as the first, and loads nothing', async (context) => {
  const { door, edgeCount } = await start(context);
  const answers: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const { text } = await door.ask('POST', 'batch/test?idMapping=false', {
      body: records(150_000),
      headers: { 'content-type': 'application/x-ndjson', 'x-request-id': 'twice' },
    });
    answers.push(text);
  }
  assert.equal(answers[0], answers[1]);
  assert.match(answers[0] ?? '', /"edgesCreated":149990,/);
  assert.equal(await edgeCount(), 149_990);
});

test('blank lines stand between the lines of ids of a client that reads slowly', async (context) => {
  const { door } = await start(context, { 'server.httpStreamingKeepAlive': '1' });
  const count = 50_000;
  const filler = 'x'.repeat(250);
  const body = Array.from(
    { length: count },
    (_, n) => `{"@type":"v","@class":"Person","@id":"${n}${filler}"}\n`,
  ).join('');
  const asked = upload(door, {}, '');
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  answer.setEncoding('utf8');
  // The answer is larger than what the system takes, so that the line waits.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for await (const piece of answer) text += String(piece);
  const lines = text.split('\n').filter((line) => line !== '');
  const told = lines.map((line) => JSON.parse(line) as Record<string, Record<string, object>>);
  assert.equal(Object.keys(told[0]?.['progress']?.['idMapping'] ?? {}).length, count);
  assert.equal(told.length, 2);
});
