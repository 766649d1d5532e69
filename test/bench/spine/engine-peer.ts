import { double } from '#core/value/value.ts';
import type { Link } from '#core/value/record.ts';
import type { Value } from '#core/value/value.ts';
import type { ResultStream, RunOptions } from '#database/session.ts';
import {
  openTestDatabase,
  root,
  type TestDatabase,
} from '../../database/support/open-test-database.ts';
import type { SpinePart } from './data.ts';
import { spineSchema } from './upload.ts';

/** One text per number of hops: what is prepared is not put together anew for each question. */
const hopTexts: readonly string[] = [1, 2, 3].map((hops) => {
  const steps = Array.from({ length: hops }, (_, hop) => `-KNOWS->{as: h${hop}}`).join('');
  return `MATCH {type: Person, as: a, where: (id = :id)}${steps} RETURN DISTINCT h${hops - 1}.@rid AS rid`;
});

/** Row-major values; a promise when the statement outlived its first slice. */
export type Answer = readonly Value[] | Promise<readonly Value[]>;

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
  async load(parts: Iterable<SpinePart>): Promise<void> {
    const loader = this.#test.database.bulkLoader();
    for (const part of parts) {
      if (part.kind === 'persons') {
        const { persons } = part;
        const values: Value[] = [];
        for (const { id, name, age, city, score } of persons)
          values.push(id, name, age, city, double(score));
        await loader.addRecords({
          type: 'Person',
          columns: ['id', 'name', 'age', 'city', 'score'],
          values,
          rowCount: persons.length,
          ids: persons.map(({ id }) => id),
        });
      } else {
        await loader.addEdges({
          type: 'KNOWS',
          columns: ['since'],
          values: Array.from(part.since),
          rowCount: part.from.length,
          from: Array.from(part.from),
          to: Array.from(part.to),
        });
      }
    }
    await loader.finish();
  }

  /** The rows of a short statement at once, without a promise, as the peer gives them. */
  #rows(text: string, parameters: ReadonlyMap<string, Value>): Answer {
    const result = this.#test.database.runNow({ language: 'sql', text, parameters }, this.#options);
    if (result instanceof Promise) return result.then(allValues);
    const { complete } = result;
    if (complete === undefined) return allValues(result);
    result.close();
    return complete.values;
  }

  /** name, age */
  pointRead(id: number): Answer {
    return this.#rows('SELECT name, age FROM Person WHERE id = :id', withId(id));
  }

  /** Record ids of the distinct persons reached by walks of exactly `hops` KNOWS edges. */
  neighbours(hops: number, id: number): Answer {
    const text = hopTexts[hops - 1] ?? '';
    return this.#rows(text, withId(id));
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
  groupByCity(): Answer {
    return this.#rows(
      'SELECT city, count(*) AS n, avg(score) AS s FROM Person WHERE age > 40 GROUP BY city ORDER BY city',
      new Map(),
    );
  }

  /** The values of any statement, row-major. */
  values(text: string): Answer {
    return this.#rows(text, new Map());
  }

  /** @returns commits per second of `clients` concurrent writers of one small record each */
  async durableCommits(count: number, clients: number): Promise<number> {
    let next = 0;
    const start = performance.now();
    const writer = async () => {
      while (next < count) {
        next += 1;
        const parameters = new Map([['text', `entry ${next}`]]);
        const text = 'INSERT INTO Log SET text = :text';
        const result = await this.#test.database.run(
          { language: 'sql', text, parameters },
          this.#options,
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

/** A list of pairs would be walked with its iterator, which costs a tenth of a point read. */
function withId(id: number): ReadonlyMap<string, Value> {
  return new Map<string, Value>().set('id', id);
}

async function allValues(result: ResultStream): Promise<readonly Value[]> {
  const rows: Value[] = [];
  for (let batch = await result.nextBatch(); batch; batch = await result.nextBatch()) {
    for (const value of batch.values) rows.push(value);
  }
  result.close();
  return rows;
}
