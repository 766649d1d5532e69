import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { databaseName } from './rows.ts';

/*
 * What many clients hold at once beside statements: headers, bodies, lines and transactions that do not end (limits.md 33). Each
 * of these ended a server in 512 MiB from outside.
 */

const MiB = 1024 * 1024;
const credentials = `Basic ${Buffer.from('root:memory-test').toString('base64')}`;
/** How long clients that never finish wait for what the server does. */
const patienceMs = 5000;

/** @returns the status of each answer; 0 for connections that only ended, or are held still */
export type Killer = (port: number) => Promise<readonly number[]>;

function sendAll(port: number, count: number, pieces: readonly (string | Uint8Array)[]) {
  return Promise.all(Array.from({ length: count }, () => send(port, pieces)));
}

/** Sends what is given and no more; the status of whatever comes back. */
function send(port: number, pieces: readonly (string | Uint8Array)[]): Promise<number> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1');
    let text = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d{3})/u.exec(text)?.[1] ?? 0));
    };
    const timer = setTimeout(end, patienceMs);
    socket.on('data', (piece) => {
      if (text.length < 4096) text += piece.toString('latin1').slice(0, 4096);
      if (/\r\n\r\n./su.test(text) && !text.startsWith('HTTP/1.1 100')) end();
    });
    socket.on('error', end);
    socket.on('close', end);
    for (const piece of pieces) socket.write(piece);
  });
}

function head(path: string, length: number, more = ''): string {
  return `POST /api/v1/${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${credentials}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`;
}

const statementPath = `command/${databaseName}`;

/** A body of this many bytes, and what of it is sent. */
function bodies(count: number, bytes: number, sentBytes: number): Killer {
  const start = '{"language":"sql","command":"SELECT 1","params":{"a":"';
  const whole = `${start}${'x'.repeat(bytes - start.length - 3)}"}}`;
  const pieces = [head(statementPath, whole.length), whole.slice(0, sentBytes)];
  return (port) => sendAll(port, count, pieces);
}

function smallValues(count: number, bytes: number): Killer {
  const start = '{"language":"sql","command":"SELECT 1","params":{"a":[';
  const whole = `${start}${'1,'.repeat((bytes - start.length) / 2)}1]}}`;
  return (port) => sendAll(port, count, [head(statementPath, whole.length), whole]);
}

function packedBodies(count: number, bytes: number): Killer {
  const packed = gzipSync(`{"language":"sql","command":"${' '.repeat(bytes)}"}`);
  const start = head(statementPath, packed.length, 'Content-Encoding: gzip\r\n');
  return (port) => sendAll(port, count, [start, packed]);
}

function endlessLines(count: number, bytes: number): Killer {
  const line = `{"@type":"v","@class":"T","name":"${'x'.repeat(bytes)}`;
  const start = head(`batch/${databaseName}`, line.length * 2).replace(
    'application/json',
    'application/x-ndjson',
  );
  return (port) => sendAll(port, count, [start, line]);
}

function scripts(count: number): Killer {
  const command = 'LET l = (SELECT FROM T); RETURN [$l, $l, $l, $l, $l, $l, $l, $l, $l, $l];';
  return (port) =>
    Promise.all(Array.from({ length: count }, () => ask(port, { language: 'sqlscript', command })));
}

function jsScripts(count: number): Killer {
  const body =
    "const a = []; for (let i = 0; i < 500; i++) a.push('x'.repeat(1048576) + i); return a;";
  const define = `DEFINE FUNCTION memory.big "${body}" LANGUAGE js`;
  return async (port) => {
    await ask(port, { language: 'sql', command: define });
    const command = 'SELECT `memory.big`() AS a';
    return Promise.all(
      Array.from({ length: count }, () => ask(port, { language: 'sql', command })),
    );
  };
}

async function ask(port: number, body: object, headers: Record<string, string> = {}) {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${statementPath}`, {
      method: 'POST',
      headers: { authorization: credentials, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    for await (const _ of answer.body ?? []);
    return answer.status;
  } catch {
    return 0;
  }
}

function sessions(count: number, bytes: number): Killer {
  return async (port) => {
    const post = (action: string, headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${port}/api/v1/${action}/${databaseName}`, {
        method: 'POST',
        headers: { authorization: credentials, ...headers },
      }).catch(() => undefined);
    const command = 'INSERT INTO T SET text = :t';
    const params = { t: 'x'.repeat(Math.min(bytes, MiB)) };
    const statuses: number[] = [];
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const begun = await post('begin', {});
      const id = begun?.headers.get('service-session-id');
      statuses.push(begun?.status ?? 0);
      if (begun === undefined) break;
      if (id === null || id === undefined) continue;
      ids.push(id);
      const session = { 'service-session-id': id };
      for (let held = 0; held < bytes; held += MiB)
        statuses.push(await ask(port, { language: 'sql', command, params }, session));
    }
    for (const id of ids) await post('rollback', { 'service-session-id': id });
    return statuses;
  };
}

/** Messages of `/ws` without an end; their codes of closing, 0 for connections that are held still. */
function endlessMessages(count: number, bytes: number): Killer {
  const piece = 'x'.repeat(MiB);
  const sendOne = (port: number) =>
    new Promise<number>((resolve) => {
      const headers = { authorization: credentials };
      const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers });
      const timer = setTimeout(() => socket.terminate(), patienceMs);
      socket.on('open', () => {
        for (let sent = 0; sent < bytes; sent += MiB) socket.send(piece, { fin: false });
      });
      socket.on('error', () => socket.terminate());
      socket.on('close', (code) => {
        clearTimeout(timer);
        resolve(code === 1006 ? 0 : code);
      });
    });
  return (port) => Promise.all(Array.from({ length: count }, () => sendOne(port)));
}

interface TitledKiller {
  readonly title: string;
  readonly run: Killer;
}

const headersWithoutEnd: TitledKiller = {
  title: '600 x 1 MB of headers without end',
  run: (port) => sendAll(port, 600, [`GET / HTTP/1.1\r\nX: ${'x'.repeat(1_000_000)}`]),
};

/** What needs no credentials: a fresh server takes a few MB more for all of it. */
export const strangers: readonly TitledKiller[] = [
  headersWithoutEnd,
  {
    title: '3,000 x 4 KB of headers without end',
    run: (port) => sendAll(port, 3000, [`GET / HTTP/1.1\r\nX: ${'x'.repeat(4000)}`]),
  },
];

export const killers: readonly TitledKiller[] = [
  { title: '60 sessions with 40 MB', run: sessions(60, 40 * MiB) },
  { title: '2,000 sessions with 100 KB', run: sessions(2000, 100 * 1024) },
  headersWithoutEnd,
  { title: '20 unfinished bodies of 95 MB', run: bodies(20, 95 * MiB, 94 * MiB) },
  { title: '20 bodies of 60 MB', run: bodies(20, 60 * MiB, 60 * MiB) },
  { title: '8 bodies of 30 MB of small values', run: smallValues(8, 30 * MiB) },
  { title: '50 packed bodies of 100 MB', run: packedBodies(50, 100 * MiB) },
  { title: '20 unfinished lines of 60 MB', run: endlessLines(20, 60 * MiB) },
  { title: '60 unfinished messages of 15 MB', run: endlessMessages(60, 15 * MiB) },
  { title: 'four scripts that return 500 MB', run: scripts(4) },
  { title: 'four JavaScripts that return 500 MB', run: jsScripts(4) },
];
