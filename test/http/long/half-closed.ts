import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { basic, type DoorFixture, startDoor } from '../door-fixture.ts';
import { rowBatch } from '../fake-databases.ts';

// Clients that end their side of the connection: some wait for their answers, others have left (limits.md 6). Both look the
// same until something is written to them.

const authorization = `Authorization: ${basic('root')}\r\n`;

function command(text: string, { version = '1.1', headers = '' } = {}): string {
  const body = JSON.stringify({ language: 'sql', command: text });
  return `POST /api/v1/query/school HTTP/${version}\r\nHost: a\r\n${authorization}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** A connection that can receive after it has ended its side. */
async function open(door: DoorFixture): Promise<Socket> {
  const socket = connect({ port: door.port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** All that the server sends until it closes the connection. */
async function allOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket) text += (piece as Buffer).toString('latin1');
  return text;
}

/** Statement `slow` ends after `ms`, or when it is cancelled, which resolves `aborted`. */
async function start(context: TestContext, ms: number) {
  const door = await startDoor(context);
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const { behaviours } = door.databases;
  behaviours.set('fast', { complete: rowBatch(0, 1, 'of fast') });
  behaviours.set('large', { complete: rowBatch(0, 15_000, 'of large') });
  behaviours.set('slow', {
    complete: rowBatch(0, 1, 'of slow'),
    before: async (_statement, { signal }) => {
      started.resolve();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      });
      if (!signal.aborted) return;
      aborted.resolve();
      throw new TypeError('ended');
    },
  });
  behaviours.set('pausing when large', {
    batches: async (index) => {
      if (index === 1) await new Promise((resolve) => setTimeout(resolve, 1200));
      return index < 2 ? rowBatch(index, 7000, 'of large '.repeat(20)) : undefined;
    },
  });
  behaviours.set('pausing', {
    batches: async (index) => {
      if (index === 1) await new Promise((resolve) => setTimeout(resolve, 1200));
      return index < 3 ? rowBatch(index, 1) : undefined;
    },
  });
  return { door, aborted: aborted.promise, started: started.promise };
}

function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

test('a client that ends its side gets its answers, and then the end', async (context) => {
  const { door } = await start(context, 100);
  for (const [asked, statuses] of [
    [command('fast'), [200]],
    [command('large'), [200]],
    [command('slow'), [200]],
    [command('fast', { version: '1.0' }), [200]],
    [command('slow') + command('fast') + command('bad') + command('large'), [200, 200, 400, 200]],
    [`${command('slow')}POST /api/v1/comm`, [200, 400]],
  ] as const) {
    const socket = await open(door);
    socket.end(asked);
    const text = await allOf(socket);
    assert.deepEqual(statusesOf(text), statuses, asked);
    if (asked.includes('large')) assert.equal(text.split('of large').length - 1, 15_000);
  }
});

test('one that waits long is told in between that it is worked on', async (context) => {
  const { door } = await start(context, 1700);
  const socket = await open(door);
  socket.end(command('slow') + command('fast'));
  const text = await allOf(socket);
  const statuses = statusesOf(text);
  assert.equal(statuses[0], 102);
  assert.deepEqual(
    statuses.filter((status) => status !== 102),
    [200, 200],
  );
  assert.match(text, /^HTTP\/1\.1 102 Processing\r\n\r\n/);
});

test('a stream that pauses goes on for a client that has ended its side', async (context) => {
  const { door } = await start(context, 0);
  const socket = await open(door);
  socket.end(command('pausing', { headers: 'Accept: application/x-ndjson\r\n' }));
  const text = await allOf(socket);
  assert.equal(text.split('"record"').length - 1, 3);
  assert.match(text, /"returned":3/);
});

test('one whose JSON is sent while its statement pauses gets all of it', async (context) => {
  const { door } = await start(context, 0);
  for (const version of ['1.0', '1.1']) {
    const socket = await open(door);
    socket.end(command('pausing when large', { version }));
    const text = await allOf(socket);
    assert.equal(text.split('"of large').length - 1, 14_000);
    assert.match(text, /"returned":14000/);
    // Without chunks, its body is what stands there.
    if (version === '1.0') JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
  }
});

test('a client that has left ends its statement, whatever was sent before', async (context) => {
  for (const asked of [
    command('slow'),
    command('slow', { version: '1.0' }),
    `${command('slow')}POST /api/v1/comm`,
    command('slow') + command('slow'),
    `${command('slow')}GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
  ]) {
    const { door, aborted, started } = await start(context, 1_000_000);
    const socket = await open(door);
    socket.write(asked);
    await started;
    // What is read behind a handshake only, frames, is not read before it.
    if (asked.includes('websocket')) socket.write('frames');
    socket.destroy();
    await aborted;
    assert.equal(door.databases.seen.length, 1);
  }
});
