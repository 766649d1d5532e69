import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { ResultBatch } from '#database/session.ts';
import { basic, startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// Answers in pieces: NDJSON (http-api.md 7) and large JSON (limits.md 5), with back-pressure.

const ndjson = { accept: 'application/x-ndjson' };
const sql = (command: string, more: object = {}) => ({ language: 'sql', command, ...more });

function counting(rowCount: number, perBatch = 1000, text = 'text') {
  return async (index: number): Promise<ResultBatch | undefined> => {
    const from = index * perBatch;
    return from >= rowCount ? undefined : rowBatch(from, Math.min(perBatch, rowCount - from), text);
  };
}

test('lines are records and a closing line', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { batches: [rowBatch(1, 1), rowBatch(2, 1)] });
  for (const accept of [
    'application/x-ndjson',
    'text/html, application/jsonl;q=0.5',
    'Application/X-NDJSON',
    'application/x-ndjson;q=0, application/jsonl',
  ]) {
    const answer = await door.ask('POST', 'query/school', { body: sql('x'), headers: { accept } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/x-ndjson');
    assert.equal(
      answer.text,
      '{"record":{"a":1,"b":"text"}}\n{"record":{"a":2,"b":"text"}}\n{"stats":{"limit":20000,"returned":2,"truncated":false}}\n',
    );
  }
  const refused = { accept: 'application/x-ndjson;q=0' };
  const plain = await door.ask('POST', 'query/school', { body: sql('x'), headers: refused });
  assert.equal(plain.headers['content-type'], 'application/json');
  const get = await door.ask('GET', 'query/school/sql/x?limit=1', { headers: ndjson });
  assert.match(get.text, /\{"stats":\{"limit":1,"returned":1,"truncated":true\}\}\n$/);
});

test('only statements that read may stream, plans and graphs may not', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('w', { complete: rowBatch(0, 1), isWrite: true });
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  door.databases.behaviours.set('explain', {
    complete: rowBatch(0, 0),
    explain: { text: 'plan', steps: [] },
  });
  const ask = (path: string, body: object) => door.ask('POST', path, { body, headers: ndjson });
  const write = await ask('command/school', sql('w'));
  assert.deepEqual([write.status, write.body['error']], [400, 'Query is not idempotent']);
  const plan = await ask('query/school', sql('explain'));
  assert.deepEqual(
    [plan.status, plan.body['error']],
    [400, 'EXPLAIN produces a plan, not a row stream'],
  );
  assert.equal((await ask('query/school', sql('x', { serializer: 'graph' }))).status, 400);
  assert.equal((await ask('command/school', sql('x'))).status, 200);
});

test('a failure before the first line is an answer, a later one the last line', async (context) => {
  const door = await startDoor(context);
  const fail = async (index: number, at: number) => {
    if (index === at) throw new DatabaseError('Arithmetic', 'division by zero');
    return rowBatch(index, 1);
  };
  door.databases.behaviours.set('early', { batches: (index) => fail(index, 0) });
  door.databases.behaviours.set('late', { batches: (index) => fail(index, 2) });
  const ask = (command: string) =>
    door.ask('POST', 'query/school', { body: sql(command), headers: ndjson });
  const early = await ask('early');
  assert.deepEqual([early.status, early.body['detail']], [400, 'division by zero']);
  const late = await ask('late');
  assert.equal(late.status, 200);
  const lines = late.text.trim().split('\n');
  assert.equal(lines.length, 3);
  const { error } = JSON.parse(lines[2] ?? '');
  assert.deepEqual(
    [error.message, error.status, error.exception, error.exceptionArgs],
    ['division by zero', 400, 'ArithmeticErrorException', null],
  );
  assert.equal(door.databases.openStreams, 0);
});

test('a stream without a limit has no ceiling, one with a limit above it has', async (context) => {
  const door = await startDoor(context, { 'server.httpQueryMaxResultRows': '2000' });
  door.databases.behaviours.set('x', { batches: counting(5000) });
  const ask = async (limit: number) => {
    const { text } = await door.ask('POST', 'query/school', {
      body: sql('x', { limit }),
      headers: ndjson,
    });
    return text.trim().split('\n').at(-1) ?? '';
  };
  assert.equal(await ask(-1), '{"stats":{"limit":-1,"returned":5000,"truncated":false}}');
  assert.equal(await ask(1500), '{"stats":{"limit":1500,"returned":1500,"truncated":true}}');
  assert.match(await ask(3000), /"error":.*"status":413/);
});

test('the first line goes out at once, blank lines keep the connection alive', async (context) => {
  const door = await startDoor(context, { 'server.httpStreamingKeepAlive': '20' });
  const gate = Promise.withResolvers<void>();
  door.databases.behaviours.set('slow', {
    batches: async (index) => {
      if (index === 1) await gate.promise;
      return index < 2 ? rowBatch(index, 1) : undefined;
    },
  });
  const socket = await door.open();
  const body = JSON.stringify(sql('slow'));
  let text = '';
  const blankLines = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  socket.on('data', (piece) => {
    text += piece.toString();
    if (/\{"record":\{"a":0,"b":"text"\}\}\n\r\n1\r\n\n/.test(text)) blankLines.resolve();
    if (text.includes('"stats"')) ended.resolve();
  });
  socket.write(
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\nAuthorization: ${basic('root')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await blankLines.promise;
  gate.resolve();
  await ended.promise;
  socket.destroy();
});

test('blank lines come before the first row, too; what fails then is the last line', async (context) => {
  const door = await startDoor(context, { 'server.httpStreamingKeepAlive': '20' });
  const gate = Promise.withResolvers<void>();
  const slow = (outcome: () => void) => async () => {
    await gate.promise;
    outcome();
    return undefined;
  };
  door.databases.behaviours.set('late', { batches: slow(() => {}) });
  door.databases.behaviours.set('later', { before: slow(() => {}) });
  const failure = () => {
    throw new DatabaseError('Arithmetic', 'division by zero');
  };
  door.databases.behaviours.set('bad', { batches: slow(failure) });
  const ask = (command: string) =>
    door.ask('POST', 'query/school', { body: sql(command), headers: ndjson });
  const answers = [ask('late'), ask('later'), ask('bad')];
  await new Promise((resolve) => setTimeout(resolve, 100));
  gate.resolve();
  for (const [index, answer] of answers.entries()) {
    const { status, text } = await answer;
    assert.equal(status, 200, text);
    const ending = index < 2 ? /^\n+\{"stats":.*\}\n$/ : /^\n+\{"error":.*"status":400.*\}\n$/;
    assert.match(text, ending);
  }
});

test('packed streams arrive line by line', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { batches: counting(3000) });
  const ask = (headers: Record<string, string>) =>
    door.ask('POST', 'query/school', { body: sql('x'), headers: { ...ndjson, ...headers } });
  const plain = await ask({});
  const packed = await ask({ 'accept-encoding': 'gzip' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(packed.bytes).toString(), plain.text);
});

test('a reader that stops costs bounded memory, and is cut off in the end', async (context) => {
  const door = await startDoor(context, { 'server.httpStreamingWriteTimeout': '100' });
  let batches = 0;
  door.databases.behaviours.set('endless', {
    batches: async (index) => {
      batches = index;
      return rowBatch(index * 1000, 1000, 'x'.repeat(100));
    },
  });
  for (const accept of ['application/x-ndjson', 'application/json']) {
    const socket = await door.open();
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('error', () => {});
    const body = JSON.stringify(sql('endless', { limit: 1_000_000 }));
    socket.write(
      `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\nAccept: ${accept}\r\nAuthorization: ${basic('root')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    socket.pause();
    while (door.databases.openStreams === 0) await new Promise(setImmediate);
    while (door.databases.openStreams > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    // Each batch is some 120 kB; the system's socket buffers take a few megabytes.
    assert.ok(batches < 200, `${batches} batches were produced`);
    socket.resume();
    await closed;
  }
  assert.deepEqual(door.internalErrors, []);
});

test('a client that leaves ends the statement', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('endless', { batches: async (index) => rowBatch(index, 1000) });
  const socket = await door.open();
  const body = JSON.stringify(sql('endless', { limit: -1 }));
  socket.write(
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\nAuthorization: ${basic('root')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  while (door.databases.openStreams > 0) await new Promise(setImmediate);
});

test('an old snapshot ends its stream with an error line', async (context) => {
  const door = await startDoor(context, { 'server.maxSnapshotAge': '1' });
  door.databases.behaviours.set('old', {
    batches: async (index) => {
      if (index === 1) await new Promise((resolve) => setTimeout(resolve, 1050));
      return rowBatch(index, 1);
    },
  });
  const { text } = await door.ask('POST', 'query/school', { body: sql('old'), headers: ndjson });
  assert.match(text.trim().split('\n').at(-1) ?? '', /"error":.*maxSnapshotAge.*"status":503/);
});

test('JSON above 1 MiB goes out in pieces, complete and in order', async (context) => {
  const door = await startDoor(context);
  const rowCount = 15_000;
  const text = 'é'.repeat(60);
  const ask = (more: object, headers: Record<string, string> = {}) =>
    door.ask('POST', 'query/school', { body: sql('x', more), headers });
  const { values } = rowBatch(0, rowCount, text);
  door.databases.behaviours.set('x', { batches: counting(rowCount, 1000, text) });
  const streamed = await ask({});
  assert.equal(streamed.headers['transfer-encoding'], 'chunked');
  door.databases.behaviours.set('x', { complete: { rowCount, values } });
  const complete = await ask({});
  assert.equal(complete.text, streamed.text);
  assert.equal((streamed.body['result'] as unknown[]).length, rowCount);
  assert.deepEqual([streamed.body['returned'], streamed.body['truncated']], [rowCount, false]);
  const packed = await ask({}, { 'accept-encoding': 'gzip' });
  assert.equal(gunzipSync(packed.bytes).toString(), streamed.text);
});

test('an answer that could pass the ceiling is decided before its first byte', async (context) => {
  const door = await startDoor(context, { 'server.httpQueryMaxResultRows': '20000' });
  const text = 'x'.repeat(1000);
  const run = async (rowCount: number) => {
    door.databases.behaviours.set('x', { batches: counting(rowCount, 1000, text) });
    const before = door.databases.seen.length;
    const answer = await door.ask('POST', 'query/school', { body: sql('x', { limit: -1 }) });
    return { answer, runs: door.databases.seen.length - before };
  };
  const small = await run(2000);
  assert.deepEqual([small.answer.status, small.runs], [200, 1]);
  const large = await run(20_000);
  assert.deepEqual([large.answer.status, large.runs], [200, 2]);
  assert.deepEqual([large.answer.body['returned'], large.answer.body['limit']], [20_000, -1]);
  const tooLarge = await run(20_001);
  assert.deepEqual([tooLarge.answer.status, tooLarge.runs], [413, 1]);
  assert.match(String(tooLarge.answer.body['detail']), /httpQueryMaxResultRows/);
  assert.equal(door.databases.openStreams, 0);
});

test('a failure in the middle of a large answer breaks it off', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', {
    batches: async (index) => {
      if (index === 12) throw new DatabaseError('Arithmetic', 'division by zero');
      return rowBatch(index * 1000, 1000, 'x'.repeat(150));
    },
  });
  await assert.rejects(door.ask('POST', 'query/school', { body: sql('x') }), {
    code: 'ECONNRESET',
  });
  assert.equal(door.databases.openStreams, 0);
});
