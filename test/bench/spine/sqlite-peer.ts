import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SpinePart } from './data.ts';

/** The same data and the same questions in SQLite, in process, with the same indexes. */
export class SqlitePeer {
  readonly #database: DatabaseSync;
  readonly #byId: StatementSync;
  readonly #hops: readonly StatementSync[];
  readonly #group: StatementSync;

  /** @param synchronous FULL for the durable commits; the load commits once at its end with the same setting */
  constructor(directory: string, name: string) {
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `${name}.sqlite`);
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true });
    this.#database = new DatabaseSync(file);
    this.#database.exec(`
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -200000;
      CREATE TABLE person (rowid INTEGER PRIMARY KEY, id INTEGER NOT NULL, name TEXT, age INTEGER, city TEXT, score REAL);
      CREATE UNIQUE INDEX person_id ON person (id);
      CREATE TABLE knows (src INTEGER NOT NULL, dst INTEGER NOT NULL, since INTEGER);
      CREATE INDEX knows_src ON knows (src, dst);
      CREATE INDEX knows_dst ON knows (dst, src);
      CREATE TABLE log (n INTEGER PRIMARY KEY, text TEXT);`);
    this.#byId = this.#database.prepare('SELECT name, age FROM person WHERE id = ?');
    this.#hops = [
      'SELECT DISTINCT dst FROM knows WHERE src = ?',
      'SELECT DISTINCT b.dst FROM knows a JOIN knows b ON b.src = a.dst WHERE a.src = ?',
      'SELECT DISTINCT c.dst FROM knows a JOIN knows b ON b.src = a.dst JOIN knows c ON c.src = b.dst WHERE a.src = ?',
    ].map((sql) => this.#database.prepare(sql));
    for (const hop of this.#hops) hop.setReturnArrays(true);
    this.#group = this.#database.prepare(
      'SELECT city, count(*) AS n, avg(score) AS s FROM person WHERE age > 40 GROUP BY city ORDER BY city',
    );
  }

  /** Everything in one transaction with the indexes in place, checkpointed into the database file at the end. */
  load(parts: Iterable<SpinePart>): void {
    const database = this.#database;
    database.exec('BEGIN');
    const person = database.prepare(
      'INSERT INTO person (id, name, age, city, score) VALUES (?, ?, ?, ?, ?)',
    );
    const knows = database.prepare('INSERT INTO knows (src, dst, since) VALUES (?, ?, ?)');
    for (const part of parts) {
      if (part.kind === 'persons') {
        for (const { id, name, age, city, score } of part.persons)
          person.run(id, name, age, city, score);
      } else {
        const { from, to, since } = part;
        for (let edge = 0; edge < from.length; edge += 1)
          knows.run(from[edge] ?? 0, to[edge] ?? 0, since[edge] ?? 0);
      }
    }
    database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE);');
  }

  pointRead(id: number): { name: string; age: number } | undefined {
    return this.#byId.get(id) as { name: string; age: number } | undefined;
  }

  /** Ids of the distinct persons reached by walks of exactly `hops` KNOWS edges. */
  neighbours(hops: number, person: number): readonly number[] {
    const rows = (this.#hops[hops - 1]?.all(person) ?? []) as unknown as number[][];
    return rows.map((row) => row[0] ?? 0);
  }

  groupByCity(): readonly { city: string; n: number; s: number }[] {
    return this.#group.all() as unknown as { city: string; n: number; s: number }[];
  }

  /** The values of any statement, row-major. */
  values(text: string): readonly unknown[] {
    const statement = this.#database.prepare(text);
    statement.setReturnArrays(true);
    return (statement.all() as unknown as unknown[][]).flat();
  }

  /** Commits of one small record each, synchronous = FULL, one writer. @returns commits per second */
  durableCommits(count: number): number {
    const insert = this.#database.prepare('INSERT INTO log (text) VALUES (?)');
    const start = performance.now();
    for (let n = 0; n < count; n += 1) insert.run(`entry ${n}`);
    return (count * 1000) / (performance.now() - start);
  }

  close(): void {
    this.#database.close();
  }
}
