import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { open } from 'lmdb';
import {
  type BucketId,
  type IndexId,
  type LogIndex,
  makeRid,
  type TypeId,
} from '#core/value/rid.ts';
import { cellKind } from '#storage/format/cell.ts';
import type { IndexDeriver } from '#storage/engine.ts';
import { type LmdbEngine, openLmdbEngine } from '#storage/lmdb-engine.ts';
import { encodeKey } from '#storage/format/ordered-key.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { readNumber } from '#storage/format/row-record.ts';
import { makeSpineData, type SpineData } from './spine/data.ts';

// The storage engine alone, against bare LMDB and SQLite in the same process: node test/bench/storage-micro.ts [persons] [edges].
// Figures are of one run each; repeat before believing them.

const personType = 1 as TypeId;
const knowsType = 2 as TypeId;
const personBucket = 1 as BucketId;
const knowsBucket = 2 as BucketId;
const idIndex = { id: 1 as IndexId, isUnique: true, isBuilding: false };

const deriver: IndexDeriver = {
  schemaChanged() {},
  isIndexed: (type) => type === personType,
  derive(before, after, changes) {
    const old = before?.get('id');
    const now = after?.get('id');
    if (before && old !== undefined && old !== now)
      changes.remove(idIndex, encodeKey([old]), before.rid);
    if (after && now !== undefined && old !== now)
      changes.add(idIndex, encodeKey([now]), after.rid);
  },
};

const directory = mkdtempSync(join(tmpdir(), 'polyad-storage-'));
const persons = Number(process.argv[2] ?? 100_000);
const edges = Number(process.argv[3] ?? 1_000_000);

function seconds(start: bigint): number {
  return Number(process.hrtime.bigint() - start) / 1e9;
}

function report(name: string, value: number, unit: string): void {
  console.log(`${name.padEnd(52)} ${value.toFixed(value < 10 ? 3 : 0).padStart(12)} ${unit}`);
}

function openEngine(): LmdbEngine {
  return openLmdbEngine({
    directory: join(directory, 'engine'),
    labels: (type) => ({ name: 'T', kind: type === knowsType ? 'edge' : 'vertex' }),
    deriver,
    timers: systemRuntime.timers,
    cacheBytes: 256 * 1024 * 1024,
  });
}

async function load(engine: LmdbEngine, data: SpineData): Promise<void> {
  const start = process.hrtime.bigint();
  const bulk = engine.bulk();
  const shape = engine.shapes.forColumns(personType, false, [
    { name: 'id', kind: cellKind.number },
    { name: 'name', kind: cellKind.string },
    { name: 'age', kind: cellKind.number },
    { name: 'city', kind: cellKind.string },
    { name: 'score', kind: cellKind.number },
  ]);
  const knows = engine.shapes.forColumns(knowsType, true, [
    { name: 'since', kind: cellKind.number },
  ]);
  data.persons.forEach((person, at) => {
    const { id, name, age, city, score } = person;
    bulk.addColumns(shape, personBucket, at, [id, name, age, city, score]);
  });
  for (let at = 0; at < data.from.length; at++) {
    const from = makeRid(personBucket, data.from[at] as number);
    const to = makeRid(personBucket, data.to[at] as number);
    const edge = { type: knowsType, bucket: knowsBucket, position: at, from, to, both: true };
    bulk.addEdgeColumns(knows, edge, [data.since[at] as number]);
  }
  report('bulk: rows laid out', seconds(start), 's');
  await bulk.flush({ index: 1 as LogIndex, term: 1, txId: 1 });
  report('bulk: durable', seconds(start), 's');
  report('bulk: peak resident', process.resourceUsage().maxRSS / 1024, 'MB');
  report('file', engine.sizeBytes() / 2 ** 20, 'MiB');
}

function loadSqlite(data: SpineData): DatabaseSync {
  const database = new DatabaseSync(join(directory, 'peer.db'));
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -200000',
  );
  const start = process.hrtime.bigint();
  database.exec(`CREATE TABLE person (id INTEGER, name TEXT, age INTEGER, city TEXT, score REAL);
    CREATE UNIQUE INDEX person_id ON person (id);
    CREATE TABLE knows (source INTEGER, target INTEGER, since INTEGER);
    CREATE INDEX knows_source ON knows (source); CREATE INDEX knows_target ON knows (target); BEGIN`);
  const insert = database.prepare('INSERT INTO person VALUES (?, ?, ?, ?, ?)');
  for (const { id, name, age, city, score } of data.persons) insert.run(id, name, age, city, score);
  const knows = database.prepare('INSERT INTO knows VALUES (?, ?, ?)');
  for (let at = 0; at < data.from.length; at++) {
    knows.run(data.from[at] as number, data.to[at] as number, data.since[at] as number);
  }
  database.exec('COMMIT');
  report('sqlite: load', seconds(start), 's');
  return database;
}

function measure(name: string, count: number, unit: string, work: () => void, scale = 1e9): void {
  work();
  const start = process.hrtime.bigint();
  work();
  report(name, (seconds(start) * scale) / count, unit);
}

function pointReads(engine: LmdbEngine, database: DatabaseSync): void {
  const count = 100_000;
  using snapshot = engine.snapshot();
  let sum = 0;
  measure('point: unique key, record, one property', count, 'ns', () => {
    for (let i = 0; i < count; i++) {
      const rid = snapshot.uniqueEntry(idIndex.id, encodeKey([(i * 7919) % persons]));
      sum += snapshot.record(rid ?? makeRid(0, 0))?.get('age') as number;
    }
  });
  const select = database.prepare('SELECT age FROM person WHERE id = ?');
  measure('point: sqlite, prepared', count, 'ns', () => {
    for (let i = 0; i < count; i++) {
      sum += (select.get((i * 7919) % persons) as { age: number }).age;
    }
  });
  if (sum === 0) throw new Error('nothing was read');
}

async function bareLmdb(): Promise<void> {
  const store = open({ path: join(directory, 'bare'), encoding: 'binary', keyEncoding: 'uint32' });
  await store.transaction(() => {
    for (let i = 0; i < persons; i++) void store.put(i, Buffer.alloc(100, i));
  });
  measure('point: bare LMDB get of 100 bytes', 100_000, 'ns', () => {
    for (let i = 0; i < 100_000; i++) store.getBinaryFast((i * 7919) % persons);
  });
  await store.close();
}

function scans(engine: LmdbEngine): void {
  using snapshot = engine.snapshot();
  let sum = 0;
  const blocks = snapshot.blockCount(personBucket);
  measure('scan: one number cell by its reader', persons, 'ns/row', () => {
    for (let number = 0; number < blocks; number++) {
      const block = snapshot.block(personBucket, number);
      if (block === undefined) continue;
      for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
        const row = block.rowOffset(slot);
        const shape = engine.shapes.shape(block.view.getUint16(row + 4, true));
        sum += readNumber(block.view, row + (shape.column('age')?.fixedOffset ?? 0));
      }
    }
  });
  measure('scan: records, two properties', persons, 'ns/row', () => {
    for (let number = 0; number < blocks; number++) {
      const block = snapshot.block(personBucket, number);
      if (block === undefined) continue;
      for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
        const record = snapshot.recordAt(block, slot);
        sum += (record.get('age') as number) + (record.get('city') as string).length;
      }
    }
  });
  if (sum === 0) throw new Error('nothing was read');
}

function hops(engine: LmdbEngine): void {
  using snapshot = engine.snapshot();
  let sum = 0;
  for (const depth of [1, 2, 3]) {
    const rounds = depth === 3 ? 20 : 200;
    measure(
      `hops: ${depth}, distinct neighbours`,
      rounds,
      'us',
      () => {
        for (let round = 0; round < rounds; round++) {
          const seen = new Set<number>();
          let frontier: number[] = [makeRid(personBucket, (round * 7919) % persons)];
          for (let hop = 0; hop < depth; hop++) {
            const next: number[] = [];
            for (const vertex of frontier) {
              const list = snapshot.adjacency(vertex as never, 'out', knowsType);
              for (let i = 0; i < list.count; i++) {
                const neighbour = list.vertices[i] as number;
                if (seen.has(neighbour)) continue;
                seen.add(neighbour);
                next.push(neighbour);
              }
            }
            frontier = next;
          }
          sum += seen.size;
        }
      },
      1e6,
    );
  }
  measure('adjacency: cached list', 1_000_000, 'ns', () => {
    for (let i = 0; i < 1_000_000; i++) {
      sum += snapshot.adjacency(makeRid(personBucket, i % 1000), 'out', knowsType).count;
    }
  });
  if (sum === 0) throw new Error('nothing was read');
}

async function commits(engine: LmdbEngine, database: DatabaseSync, clients: number): Promise<void> {
  let index: number = engine.applied().index;
  let position = persons + index * 100_000;
  const count = 4000;
  const client = async () => {
    for (let i = 0; i < count / clients; i++) {
      const row = engine.rows.encode(
        personType,
        new Map<string, number | string>([
          ['id', position],
          ['text', 'entry'],
        ]),
      );
      const operations = [{ op: 'put-row' as const, rid: makeRid(personBucket, position++), row }];
      index += 1;
      const entry = {
        position: { index: index as LogIndex, term: 1, txId: index },
        operations: [...engine.shapes.definitionsFor(operations), ...operations],
      };
      await engine.apply([entry]);
    }
  };
  const start = process.hrtime.bigint();
  await Promise.all(Array.from({ length: clients }, client));
  report(`commits: ${clients} clients`, count / seconds(start), '/s');
  const insert = database.prepare('INSERT INTO person (id, name) VALUES (?, ?)');
  const startPeer = process.hrtime.bigint();
  for (let i = 0; i < 2000; i++) insert.run(10_000_000 + position++, 'entry');
  report('commits: sqlite FULL, one writer', 2000 / seconds(startPeer), '/s');
}

try {
  const data = makeSpineData(persons, edges);
  const engine = openEngine();
  await load(engine, data);
  const database = loadSqlite(data);
  await bareLmdb();
  pointReads(engine, database);
  scans(engine);
  hops(engine);
  await commits(engine, database, 1);
  await commits(engine, database, 16);
  await engine.close();
  database.close();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
