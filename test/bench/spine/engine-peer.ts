import { double } from '#core/value.ts';
import type { Link } from '#core/record.ts';
import type { Value } from '#core/value.ts';
import type { ResultStream, RunOptions } from '#database/session.ts';
import {
  openTestDatabase,
  root,
  type TestDatabase,
} from '../../database/support/open-test-database.ts';
import type { SpineData } from './data.ts';
import { spineSchema } from './upload.ts';

/** One text per number of hops: what is prepared is not put together anew for each question. */
const hopTexts: readonly string[] = [1, 2, 3].map((hops) => {
  const steps = Array.from({ length: hops }, (_, hop) => `-KNOWS->{as: h${hop}}`).join('');
  return `MATCH {type: Person, as: a, where: (id = :id)}${steps} RETURN DISTINCT h${hops - 1}.@rid AS rid`;
});

/** The engine in process: the statement pipeline without a door. */
export class EnginePeer {
  readonly #test: TestDatabase;
  readonly #options: RunOptions = {
    principal: root,
    mustBeIdempotent: false,
    signal: new AbortController().signal,
  };

  private constructor(test: TestDatabase) {
    this.#test = test;
  }

  static async open(): Promise<EnginePeer> {
    const test = await openTestDatabase();
    for (const statement of spineSchema) await test.run(statement);
    return new EnginePeer(test);
  }

  /** Bulk path: unique index on Person.id, adjacency both ways; durable when resolved. */
  async load(data: SpineData): Promise<void> {
    const loader = this.#test.database.bulkLoader();
    const step = 5_000;
    const { persons, from, to, since } = data;
    for (let start = 0; start < persons.length; start += step) {
      const part = persons.slice(start, start + step);
      const values: Value[] = [];
      for (const { id, name, age, city, score } of part)
        values.push(id, name, age, city, double(score));
      await loader.addRecords({
        type: 'Person',
        columns: ['id', 'name', 'age', 'city', 'score'],
        values,
        rowCount: part.length,
        ids: part.map(({ id }) => id),
      });
    }
    for (let start = 0; start < from.length; start += step) {
      await loader.addEdges({
        type: 'KNOWS',
        columns: ['since'],
        values: Array.from(since.subarray(start, start + step)),
        rowCount: Math.min(step, from.length - start),
        from: Array.from(from.subarray(start, start + step)),
        to: Array.from(to.subarray(start, start + step)),
      });
    }
    await loader.finish();
  }

  #run(text: string, parameters: ReadonlyMap<string, Value>): Promise<ResultStream> {
    return this.#test.database.run({ language: 'sql', text, parameters }, this.#options);
  }

  async #rows(text: string, parameters: ReadonlyMap<string, Value>): Promise<readonly Value[]> {
    const result = await this.#run(text, parameters);
    const rows: Value[] = [];
    if (result.complete !== undefined) rows.push(...result.complete.values);
    else {
      for (let batch = await result.nextBatch(); batch; batch = await result.nextBatch())
        rows.push(...batch.values);
    }
    result.close();
    return rows;
  }

  /** name, age */
  async pointRead(id: number): Promise<readonly Value[]> {
    return this.#rows('SELECT name, age FROM Person WHERE id = :id', new Map([['id', id]]));
  }

  /** Record ids of the distinct persons reached by walks of exactly `hops` KNOWS edges. */
  neighbours(hops: number, id: number): Promise<readonly Value[]> {
    const text = hopTexts[hops - 1] ?? '';
    return this.#rows(text, new Map([['id', id]]));
  }

  /** Person.id by record id, to compare answers. */
  async personIds(): Promise<ReadonlyMap<number, Value>> {
    const rows = await this.#rows('SELECT @rid AS rid, id FROM Person', new Map());
    const ids = new Map<number, Value>();
    for (let at = 0; at < rows.length; at += 2)
      ids.set((rows[at] as Link).rid, rows[at + 1] ?? null);
    return ids;
  }

  /** city, n, s by city */
  async groupByCity(): Promise<readonly Value[]> {
    return this.#rows(
      'SELECT city, count(*) AS n, avg(score) AS s FROM Person WHERE age > 40 GROUP BY city ORDER BY city',
      new Map(),
    );
  }

  /** @returns commits per second of `clients` concurrent writers of one small record each */
  async durableCommits(count: number, clients: number): Promise<number> {
    let next = 0;
    const start = performance.now();
    const writer = async () => {
      while (next < count) {
        next += 1;
        const result = await this.#run(
          'INSERT INTO Log SET text = :text',
          new Map([['text', `entry ${next}`]]),
        );
        result.close();
      }
    };
    await Promise.all(Array.from({ length: clients }, writer));
    return (count * 1000) / (performance.now() - start);
  }

  /** See `StorageEngine.flushCount`. */
  flushCount(): number {
    return this.#test.database.engine.flushCount();
  }

  close(): Promise<void> {
    return this.#test.close();
  }
}
