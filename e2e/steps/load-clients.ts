import { existsSync, readFileSync } from 'node:fs';

/*
 * Runs in a pod of its own and imports nothing of the tests: writers and readers that go through the Service of a Cluster until a
 * file says stop. A write is tried again, as the documents say, until it is known to be stored; a unique key tells a write that was
 * stored although its answer was lost. Every event is a line of JSON in the pod's log.
 */

const [, host = '', writers = '4'] = process.argv;
const password = readFileSync('/secret/password', 'utf8').trim();
const headers = {
  authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
  'content-type': 'application/json',
};
const patienceMs = 3_000;
const giveUpMs = 60_000;

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

interface Answer {
  readonly rows: readonly { readonly n: number }[];
  readonly index: number;
}

async function post(path: string, body: object, more: object = {}): Promise<Answer> {
  const answer = await fetch(`http://${host}:2480/api/v1${path}`, {
    method: 'POST',
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(patienceMs),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Refusal(answer.status, text);
  const { result } = JSON.parse(text) as { result: Answer['rows'] };
  return { rows: result, index: Number(answer.headers.get('x-service-commit-index') ?? 0) };
}

const sql = (command: string, params: object = {}, more: object = {}): Promise<Answer> =>
  post('/command/load', { language: 'sql', command, params }, more);
const rest = (ms: number): Promise<void> => new Promise((over) => setTimeout(over, ms));
const isOver = (): boolean => existsSync('/tmp/stop');
const say = (event: object): void => console.log(JSON.stringify({ at: Date.now(), ...event }));

function wordsOf(error: unknown): { readonly status: number; readonly message: string } {
  const { cause, message = String(error) } = error as Partial<Error>;
  const code = (cause as { readonly code?: string } | undefined)?.code;
  return {
    status: error instanceof Refusal ? error.status : 0,
    message: (code ?? message).slice(0, 200),
  };
}

let next = 0;
let stored = 0;

/** @returns whether it is stored; false for one that may or may not be */
async function write(n: number): Promise<void> {
  const start = Date.now();
  for (let tries = 0; ; tries += 1) {
    try {
      await sql('INSERT INTO Entry SET n = :n', { n });
      break;
    } catch (error) {
      // An earlier try was stored, and its answer was lost.
      if (tries > 0 && error instanceof Error && error.message.includes('DuplicatedKey')) break;
      if (isOver()) return say({ abandoned: n });
      const { status, message } = wordsOf(error);
      const isLasting = status >= 400 && status < 500 && status !== 408 && status !== 409;
      if (isLasting || Date.now() - start > giveUpMs) return say({ failed: n, status, message });
      say({ retried: n, status, message });
      await rest(100);
    }
  }
  stored += 1;
  say({ acknowledged: n, ms: Date.now() - start });
}

async function writer(): Promise<void> {
  while (!isOver()) {
    next += 1;
    await write(next - 1);
    await rest(40);
  }
}

/** Follows its bookmark, so that it never sees less than before, whichever member answers. */
async function reader(): Promise<void> {
  for (let seen = 0, bookmark = 0; !isOver(); await rest(200)) {
    const after = bookmark > 0 ? { 'x-service-read-after': String(bookmark) } : {};
    try {
      const { rows, index } = await sql('SELECT count(*) AS n FROM Entry', {}, after);
      const n = rows[0]?.n ?? 0;
      if (n < seen) say({ vanished: seen - n });
      seen = Math.max(seen, n);
      bookmark = Math.max(bookmark, index);
    } catch {
      // Asked again: only what an answer shows counts.
    }
  }
}

/** Sees all that was acknowledged before it asked. */
async function strictReader(): Promise<void> {
  const level = { 'x-service-read-consistency': 'linearizable' };
  for (; !isOver(); await rest(300)) {
    const before = stored;
    try {
      const { rows } = await sql('SELECT count(*) AS n FROM Entry', {}, level);
      const n = rows[0]?.n ?? 0;
      if (n < before) say({ vanished: before - n });
    } catch {
      // Asked again.
    }
  }
}

async function prepare(): Promise<void> {
  const isThere = (error: unknown): void => {
    if (!/exists/i.test(String(error))) throw error;
  };
  await post('/server', { command: 'create database load' }).catch(isThere);
  await sql('CREATE DOCUMENT TYPE Entry IF NOT EXISTS');
  await sql('CREATE PROPERTY Entry.n IF NOT EXISTS LONG');
  await sql('CREATE INDEX IF NOT EXISTS ON Entry (n) UNIQUE');
}

for (let isReady = false; !isReady; ) {
  try {
    await prepare();
    isReady = true;
  } catch (error) {
    say({ waiting: wordsOf(error).message });
    await rest(300);
  }
}
const all = Array.from({ length: Number(writers) }, writer);
await Promise.all([...all, reader(), reader(), strictReader()]);
say({ over: true });
setInterval(() => {}, 1000);
