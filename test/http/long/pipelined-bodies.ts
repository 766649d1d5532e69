import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { makeCertificate } from '../../support/certificates.ts';
import { basic, type DoorFixture, startDoor } from '../door-fixture.ts';
import { rowBatch } from '../fake-databases.ts';

// Clients that send a large request while the one before is answered: it is not read ahead (limits.md 26), so the end of the
// connection stands behind it. Who has left is noticed all the same (limits.md 6); who stays gets its answers.

interface Asked {
  /** Of the body. */
  readonly bytes?: number;
  readonly isChunked?: boolean;
}

const texts = new Map<number, string>();

/** So many bytes, each ten of them other ones; made once, as it takes a second. */
function textOf(bytes: number): string {
  const made =
    texts.get(bytes) ??
    Array.from({ length: bytes / 10 }, (_, at) => String(at).padStart(10, '.')).join('');
  texts.set(bytes, made);
  return made;
}

/** A request for a statement, the text of its parameter as long as wanted. */
function command(text: string, { bytes = 0, isChunked = false }: Asked = {}): string {
  const params = { p: textOf(bytes) };
  const body = JSON.stringify({ language: 'sql', command: text, params });
  const framing = isChunked
    ? `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    : `Content-Length: ${body.length}\r\n\r\n${body}`;
  return `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic('root')}\r\n${framing}`;
}

/** Statement `slow` ends when `finish` is called, or when it is cancelled, which resolves `aborted`. */
async function start(context: TestContext, settings = {}) {
  const door = await startDoor(context, settings);
  const [aborted, started, finished] = [0, 0, 0].map(() => Promise.withResolvers<void>());
  for (const name of ['fast', 'faster'])
    door.databases.behaviours.set(name, { complete: rowBatch(0, 1, `of ${name}`) });
  door.databases.behaviours.set('slow', {
    complete: rowBatch(0, 1, 'of slow'),
    before: async (_statement, { signal }) => {
      signal.addEventListener('abort', () => finished?.resolve());
      started?.resolve();
      await finished?.promise;
      if (!signal.aborted) return;
      aborted?.resolve();
      throw new TypeError('ended');
    },
  });
  return {
    door,
    started: started?.promise,
    aborted: aborted?.promise,
    finish: () => finished?.resolve(),
  };
}

/** @returns the connection, and what carries it: the same without TLS */
async function open(
  { port, server }: DoorFixture,
  isSecure: boolean,
): Promise<{ readonly socket: Socket; readonly carrier: Socket }> {
  const carrier = connect({ port: (isSecure ? server.securePort : port) ?? 0, host: '127.0.0.1' });
  const socket = isSecure ? connectTls({ socket: carrier, rejectUnauthorized: false }) : carrier;
  carrier.on('error', () => {});
  socket.on('error', () => {});
  await once(socket, isSecure ? 'secureConnect' : 'connect');
  return { socket, carrier };
}

function secureSettings(context: TestContext): Readonly<Record<string, string>> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-pipelined-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  makeCertificate(directory, 'tls');
  return { 'ssl.keyStore': directory };
}

const shortly = () => new Promise((resolve) => setTimeout(resolve, 50));

/** Collects what the server sends. */
function answersOf(socket: Socket): { readonly until: (text: string) => Promise<string> } {
  let text = '';
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
    socket.emit('more');
  });
  const until = async (wanted: string) => {
    while (!text.includes(wanted)) await once(socket, 'more');
    return text;
  };
  return { until };
}

for (const isSecure of [false, true])
  for (const leaves of ['ends', 'resets'] as const)
    test(`a client that ${leaves}${isSecure ? ' TLS' : ''} behind a body that is not read ends its statement`, async (context) => {
      const settings = isSecure ? secureSettings(context) : {};
      for (const next of [
        command('fast', { bytes: 70_000 }),
        command('fast', { bytes: 32_000_000 }),
        command('fast', { bytes: 200_000, isChunked: true }),
        command('fast') + command('fast', { bytes: 200_000 }) + command('fast'),
      ]) {
        const { door, started, aborted } = await start(context, settings);
        const { socket, carrier } = await open(door, isSecure);
        socket.write(command('slow'));
        await started;
        socket.write(next);
        await shortly();
        if (leaves === 'ends') carrier.destroy();
        else carrier.resetAndDestroy();
        await aborted;
        assert.equal(door.databases.seen.length, 1);
      }
    });

for (const isSecure of [false, true])
  test(`a client that stays${isSecure ? ' with TLS' : ''} gets its answers in order, and its bodies arrive as sent`, async (context) => {
    const { door, started, finish } = await start(context, isSecure ? secureSettings(context) : {});
    const { socket } = await open(door, isSecure);
    const { until } = answersOf(socket);
    const bytes = 32_000_000;
    socket.write(command('slow'));
    await started;
    socket.write(command('fast', { bytes }));
    socket.write(command('faster', { bytes: 200_000, isChunked: true }));
    await until('HTTP/1.1 102 Processing');
    // The server takes 64 KiB of it, the systems of both sides hold some MB.
    assert.ok(socket.writableLength > 0);
    finish();
    const text = await until('of faster');
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
    assert.deepEqual(
      statuses.filter((status) => status !== '102'),
      ['200', '200', '200'],
    );
    assert.deepEqual(text.match(/of \w+/g), ['of slow', 'of fast', 'of faster']);
    const { seen } = door.databases;
    for (const [at, length] of [bytes, 200_000].entries())
      assert.ok(seen[at + 1]?.statement.parameters.get('p') === textOf(length), `body ${at + 1}`);
    // Nothing more is written in between once it is read.
    const before = text.length;
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert.equal((await until('')).length, before);
    socket.destroy();
  });
