import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fastify from 'fastify';
import { open } from 'lmdb';
import { makeSpineData } from './data.ts';

// The floor: a bare fastify + lmdb program that moves the same bytes with no language, planner or transaction.
// Routes: POST /point {id} -> the record as our answer has it; GET /rows -> NDJSON of two columns; POST /commit -> one durable put.

const directory = mkdtempSync(join(tmpdir(), 'floor-'));
const database = open({ path: directory, overlappingSync: false, maxDbs: 4 });
const persons = database.openDB<Buffer, number>({
  name: 'person',
  encoding: 'binary',
  keyEncoding: 'uint32',
});
const log = database.openDB<Buffer, number>({
  name: 'log',
  encoding: 'binary',
  keyEncoding: 'uint32',
});

const data = makeSpineData(Number(process.argv[2] ?? 100_000), 0);
await persons.transaction(() => {
  for (const person of data.persons) {
    void persons.put(
      person.id,
      Buffer.from(JSON.stringify({ name: person.name, age: person.age })),
    );
  }
});

const app = fastify({ logger: false });
const head = Buffer.from('{"user":"root","result":[');
const tail = Buffer.from('],"limit":20000,"returned":1,"truncated":false}');

app.post<{ Body: { params: { id: number } } }>('/point', (request, reply) => {
  const stored = persons.getBinary(request.body.params.id);
  const body = Buffer.concat([head, stored ?? Buffer.alloc(0), tail]);
  reply.header('content-type', 'application/json').send(body);
});

let sequence = 0;
app.post('/commit', async (_request, reply) => {
  await log.put(sequence++, Buffer.from('{"text":"entry"}'));
  reply.header('content-type', 'application/json').send(Buffer.concat([head, tail]));
});

app.get<{ Querystring: { count: string } }>('/rows', (request, reply) => {
  const count = Number(request.query.count);
  reply
    .header('content-type', 'application/x-ndjson')
    .send(Readable.from(rows(count), { objectMode: false }));
});

/** Chunks of about 64 KB; record after record is read from LMDB and cut into its two columns. */
function* rows(count: number): Generator<Buffer> {
  let chunk = '';
  for (let n = 0; n < count; n += 1) {
    const stored = persons.getBinaryFast(n % data.persons.length);
    chunk += `{"record":${stored === undefined ? '{}' : stored.toString('latin1', 0, stored.length)}}\n`;
    if (chunk.length > 65_536) {
      yield Buffer.from(chunk, 'latin1');
      chunk = '';
    }
  }
  yield Buffer.from(chunk, 'latin1');
}

await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.stdout.write(`listening ${typeof address === 'object' && address ? address.port : 0}\n`);
process.on('SIGTERM', async () => {
  await app.close();
  await database.close();
  rmSync(directory, { recursive: true, force: true });
  process.exit(0);
});
