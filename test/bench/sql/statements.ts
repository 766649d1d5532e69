import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Value } from '#core/value/value.ts';
import {
  openTestDatabase,
  root,
  type TestDatabase,
} from '../../database/support/open-test-database.ts';
import { alternate, type Comparison, elapsedMs, median, requireEqual } from '../measure.ts';

const recordCount = 1_000_000;
const updateCount = 100_000;
/** Rounds of updates that nobody measures, ours or theirs: the code for them is made in the first two or three. */
const warmUpRounds = 3;
/** Doors make a signal when somebody asks for it, which short statements do not. */
const neverAborted = new AbortController().signal;
const plain = { principal: root, mustBeIdempotent: false, signal: neverAborted };

/** Parsing and planning, what indexes save, and many updates in one transaction. */
export async function benchStatements(rounds: number): Promise<Comparison[]> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-sql-'));
  const test = await openTestDatabase();
  try {
    await fill(test);
    return [
      await cachedStatement(test, rounds),
      await newStatement(test, rounds),
      ...(await byIndex(test, rounds)),
      await updates(test, directory, rounds),
    ];
  } finally {
    await test.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A million records with an indexed number that does not follow the record ids. */
async function fill(test: TestDatabase): Promise<void> {
  await test.run('CREATE DOCUMENT TYPE Item');
  await test.run('CREATE PROPERTY Item.id INTEGER');
  await test.run('CREATE PROPERTY Item.rank INTEGER');
  await test.run('CREATE INDEX ON Item (id) UNIQUE');
  await test.run('CREATE INDEX ON Item (rank) NOTUNIQUE');
  const loader = test.database.bulkLoader();
  const step = 10_000;
  for (let start = 0; start < recordCount; start += step) {
    const values: Value[] = [];
    for (let id = start; id < start + step; id += 1)
      values.push(id, (id * 7919) % recordCount, `item ${id}`);
    await loader.addRecords({
      type: 'Item',
      columns: ['id', 'rank', 'name'],
      values,
      rowCount: step,
    });
  }
  await loader.finish();
}

async function run(
  test: TestDatabase,
  text: string,
  parameters: ReadonlyMap<string, Value> = new Map(),
): Promise<readonly Value[]> {
  const result = await test.database.run({ language: 'sql', text, parameters }, plain);
  const values: Value[] = [...(result.complete?.values ?? [])];
  if (result.complete === undefined)
    for (let batch = await result.nextBatch(); batch; batch = await result.nextBatch())
      values.push(...batch.values);
  result.close();
  return values;
}

function limited(
  name: string,
  medians: Map<string, number>,
  unit: string,
  limit: number,
  remarks = '',
): Comparison {
  const ours = medians.get('ours') ?? Number.NaN;
  return {
    name,
    medians,
    unit,
    ratio: ours / limit,
    target: `<= ${limit} ${unit}`,
    isReached: ours <= limit,
    remarks,
  };
}

/** The whole statement, of which looking the plan up is a part: an upper bound. */
async function cachedStatement(test: TestDatabase, rounds: number): Promise<Comparison> {
  const count = 20_000;
  const text = 'SELECT name FROM Item WHERE id = :id';
  const medians = await alternate(
    {
      ours: async () =>
        ((await elapsedMs(async () => {
          for (let at = 0; at < count; at += 1) await run(test, text, new Map([['id', -1 - at]]));
        })) *
          1000) /
        count,
    },
    rounds,
  );
  return limited('cached statement with parameter', medians, 'us', 10, 'execution included');
}

/**
 * A statement that nobody has sent before, in a server that runs: parser, analyzer, optimizer and planner are compiled by then,
 * which takes the engine some 15,000 statements, each of the first of them three times as long. So these are not measured.
 */
async function newStatement(test: TestDatabase, rounds: number): Promise<Comparison> {
  const count = 2_000;
  const warmUpCount = 16_000;
  let fresh = 0;
  const runFresh = async (): Promise<void> => {
    fresh += 1;
    await run(
      test,
      `SELECT name, rank + 1 AS next FROM Item WHERE id = -${fresh} AND name LIKE 'item%' LIMIT 10`,
    );
  };
  while (fresh < warmUpCount) await runFresh();
  const medians = await alternate(
    {
      ours: async () =>
        ((await elapsedMs(async () => {
          for (let at = 0; at < count; at += 1) await runFresh();
        })) *
          1000) /
        count,
    },
    rounds,
  );
  return limited('new statement of 20 tokens', medians, 'us', 150, 'warm, execution included');
}

async function byIndex(test: TestDatabase, rounds: number): Promise<Comparison[]> {
  const questions: readonly [string, readonly Value[]][] = [
    ['SELECT rank FROM Item ORDER BY rank LIMIT 10', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ['SELECT count(*) AS n FROM Item', [recordCount]],
    ['SELECT min(rank) AS low FROM Item', [0]],
    ['SELECT max(rank) AS high FROM Item', [recordCount - 1]],
  ];
  const comparisons: Comparison[] = [];
  for (const [text, answer] of questions) {
    requireEqual(text, await run(test, text), answer);
    const count = 200;
    const medians = await alternate(
      {
        ours: async () =>
          (await elapsedMs(async () => {
            for (let at = 0; at < count; at += 1) await run(test, text);
          })) / count,
      },
      rounds,
    );
    comparisons.push(limited(text, medians, 'ms', 1));
  }
  return comparisons;
}

/** 100,000 updates by key in one durable transaction. */
async function updates(test: TestDatabase, directory: string, rounds: number): Promise<Comparison> {
  const sqlite = new DatabaseSync(join(directory, 'updates.sqlite'));
  sqlite.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE item (id INTEGER PRIMARY KEY, rank INTEGER, name TEXT); BEGIN',
  );
  const insert = sqlite.prepare('INSERT INTO item VALUES (?, ?, ?)');
  for (let id = 0; id < recordCount; id += 1)
    insert.run(id, (id * 7919) % recordCount, `item ${id}`);
  // The same indexes as ours: the key, and the rank.
  sqlite.exec('COMMIT; CREATE INDEX rank ON item (rank)');
  const change = sqlite.prepare('UPDATE item SET name = ? WHERE id = ?');
  const keyOf = (at: number): number => (at * 6_101) % recordCount;
  const text = 'UPDATE Item SET name = :name WHERE id = :id';
  // Both sides: one prepared statement, new values in each round, one durable commit.
  let oursRound = 0;
  let theirRound = 0;
  const commits: number[] = [];
  const medians = await alternate(
    {
      ours: () =>
        elapsedMs(async () => {
          const round = ++oursRound;
          const sessionId = test.database.begin(root, 'READ_COMMITTED');
          const options = { ...plain, sessionId };
          for (let at = 0; at < updateCount; at += 1) {
            const parameters = new Map<string, Value>([
              ['id', keyOf(at)],
              ['name', `changed ${round} ${at}`],
            ]);
            // As the doors do: what a short statement gives at once is not waited for.
            const given = test.database.runNow({ language: 'sql', text, parameters }, options);
            const result = given instanceof Promise ? await given : given;
            result.close();
          }
          commits.push(await elapsedMs(() => test.database.commit(root, sessionId)));
        }),
      sqlite: () =>
        elapsedMs(() => {
          const round = ++theirRound;
          sqlite.exec('BEGIN');
          for (let at = 0; at < updateCount; at += 1)
            change.run(`changed ${round} ${at}`, keyOf(at));
          sqlite.exec('COMMIT');
        }),
    },
    rounds,
    warmUpRounds,
  );
  const theirs = sqlite.prepare('SELECT name FROM item WHERE id = ?');
  for (let at = 0; at < updateCount; at += 9_973)
    requireEqual(
      `name of ${keyOf(at)}`,
      await run(test, 'SELECT name FROM Item WHERE id = :id', new Map([['id', keyOf(at)]])),
      [theirs.get(keyOf(at))?.['name']],
    );
  sqlite.close();
  const ratio = (medians.get('ours') ?? Number.NaN) / (medians.get('sqlite') ?? Number.NaN);
  return {
    name: '100,000 updates in one transaction',
    medians,
    unit: 'ms',
    ratio,
    target: '<= 1.5',
    isReached: ratio <= 1.5,
    remarks: `of which the commit ${median(commits).toFixed(0)} ms`,
  };
}
