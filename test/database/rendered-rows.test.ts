import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ResultBatch, ResultStream, RowRenderer } from '#database/session.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: bytes of a result are those of its rows, whatever wire they are for. Method: a renderer of the test's own, of rows with their
// length before them, read back and compared with what `nextBatch` gives.

const rowCount = 3_000;
let db: TestDatabase;

before(async () => {
  db = await openTestDatabase();
  await db.run('CREATE DOCUMENT TYPE D');
  const values = Array.from({ length: rowCount }, (_, n) => `(${n}, 'text ${n}')`);
  await db.run(`INSERT INTO D (n, t) VALUES ${values.join(', ')}`);
});

after(async () => {
  await db.close();
});

/** Rows of a wire: four bytes of length, then the values as JSON; rows of `longest` characters or more come in pieces. */
class WireRows implements RowRenderer {
  #held: Buffer[] = [];
  readonly #width: number;
  readonly #longest: number;

  constructor(width: number, longest: number) {
    this.#width = width;
    this.#longest = longest;
  }

  get length(): number {
    return this.#held.reduce((sum, { length }) => sum + length, 0);
  }

  take(): Buffer {
    const taken = Buffer.concat(this.#held);
    this.#held = [];
    return taken;
  }

  write(batch: ResultBatch, row: number): boolean {
    const bytes = this.#bytesOf(batch, row);
    if (bytes.length > this.#longest) return false;
    this.#held.push(bytes);
    return true;
  }

  *writeInPieces(batch: ResultBatch, row: number): Generator<void> {
    for (const byte of this.#bytesOf(batch, row)) {
      this.#held.push(Buffer.from([byte]));
      yield;
    }
  }

  #bytesOf({ values }: ResultBatch, row: number): Buffer {
    const text = JSON.stringify(values.slice(row * this.#width, (row + 1) * this.#width));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([length, Buffer.from(text)]);
  }
}

function* readWire(bytes: Buffer): Generator<unknown> {
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    yield JSON.parse(bytes.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
  }
}

interface Asked {
  readonly rowCountMax: number;
  readonly bytes: number;
  readonly rows: number;
  readonly longest: number;
}

/** Everything that is written, and what was told on the way. */
async function rendered(stream: ResultStream, asked: Asked) {
  const renderer = new WireRows(2, asked.longest);
  const result = stream.rendered(renderer, asked.rowCountMax);
  const pieces: Buffer[] = [];
  const pauses = new Set<string>();
  for (;;) {
    const pause = result.write(asked);
    pauses.add(pause);
    assert(renderer.length < asked.bytes + asked.longest, 'a piece is as long as was asked for');
    if (pause === 'long') {
      for (const _ of result.longRow()) pieces.push(renderer.take());
    }
    pieces.push(renderer.take());
    if (pause === 'end' || (pause === 'batch' && !(await result.pull()))) break;
  }
  stream.close();
  return { rows: [...readWire(Buffer.concat(pieces))], result, pauses };
}

async function valuesOf(stream: ResultStream, rowCountMax: number): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let batch = await stream.nextBatch(); batch; batch = await stream.nextBatch())
    for (let row = 0; row < batch.rowCount && rows.length < rowCountMax; row += 1)
      rows.push(JSON.parse(JSON.stringify(batch.values.slice(row * 2, row * 2 + 2))));
  stream.close();
  return rows;
}

const statements = {
  'all rows there': 'SELECT n, t FROM D WHERE n < 40 ORDER BY n',
  'rows that are made while they are read': 'SELECT n, t FROM D ORDER BY n',
  'no rows': 'SELECT n, t FROM D WHERE n < 0',
  'a written one': "UPDATE D SET t = 'other' RETURN AFTER n, t WHERE n < 7",
};

for (const [title, statement] of Object.entries(statements))
  test(`bytes and values are the same rows: ${title}`, async () => {
    for (const rowCountMax of [0, 1, 39, 40, 2_999, 3_000, Number.POSITIVE_INFINITY]) {
      const expected = await valuesOf(await db.stream(statement), rowCountMax);
      const total = (await valuesOf(await db.stream(statement), Number.POSITIVE_INFINITY)).length;
      for (const bytes of [1, 100, 1e9])
        for (const rows of [1, 256, Number.POSITIVE_INFINITY]) {
          const asked = { rowCountMax, bytes, rows, longest: 1e6 };
          const given = await rendered(await db.stream(statement), asked);
          assert.deepEqual(given.rows, expected);
          assert.equal(given.result.rowCount, expected.length);
          assert.equal(given.result.isCut, total > rowCountMax);
        }
    }
  });

test('a long row waits until its pieces are taken, and those behind it follow', async () => {
  const statement = 'SELECT n, t FROM D ORDER BY n';
  const all = { rowCountMax: 2_000, bytes: 1e9, rows: 100, longest: 21 };
  const given = await rendered(await db.stream(statement), all);
  assert.deepEqual(given.rows, await valuesOf(await db.stream(statement), 2_000));
  assert(given.pauses.has('long') && given.pauses.has('rows'));
  assert.equal(given.result.isCut, true);
});

test('rows behind those asked for are counted without being written', async () => {
  const stream = await db.stream('SELECT n, t FROM D ORDER BY n');
  const renderer = new WireRows(2, 1e6);
  const result = stream.rendered(renderer, 10);
  while (await result.pull()) result.write({ bytes: 1e9, rows: 1e9 });
  stream.close();
  assert.equal(result.pulledCount, rowCount);
  assert.equal([...readWire(renderer.take())].length, 10);
});
