import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from '../../database/support/open-test-database.ts';
import {
  alternate,
  type Comparison,
  median,
  percentile,
  processorMs,
  requireEqual,
} from '../measure.ts';
import { mulberry32 } from '../spine/data.ts';
import { type BenchStatement, besideSql, valuesOf, withinLimit } from './statement.ts';

const nodeCount = 100_000;
const edgeCount = 1_000_000;
const chunkLength = 5_000;
/** Of a text that is compiled again and again. */
const textCalls = 400;

/** Everyday work in Cypher over 100,000 nodes and a million relationships, by processor time: reads beside SQL, paths, algorithms, writes. */
export async function benchCypherWork(rounds: number): Promise<Comparison[]> {
  const engine = await openTestDatabase();
  try {
    await fill(engine);
    return [
      ...(await reads(engine, rounds)),
      ...(await texts(engine, rounds)),
      await shortestPaths(engine),
      ...(await algorithms(engine)),
      ...(await writes(engine, rounds)),
    ];
  } finally {
    await engine.close();
  }
}

async function fill(engine: TestDatabase): Promise<void> {
  await engine.run('CREATE VERTEX TYPE Node');
  await engine.run('CREATE PROPERTY Node.id INTEGER');
  await engine.run('CREATE INDEX ON Node (id) UNIQUE');
  await engine.run('CREATE EDGE TYPE Link');
  const loader = engine.database.bulkLoader();
  for (let start = 0; start < nodeCount; start += chunkLength) {
    const ids = Array.from({ length: chunkLength }, (_, at) => start + at);
    await loader.addRecords({
      type: 'Node',
      columns: ['id'],
      values: ids,
      rowCount: ids.length,
      ids,
    });
  }
  const random = mulberry32(22);
  const anyNode = () => Math.floor(random() * nodeCount);
  for (let start = 0; start < edgeCount; start += chunkLength)
    await loader.addEdges({
      type: 'Link',
      columns: [],
      values: [],
      rowCount: chunkLength,
      from: Array.from({ length: chunkLength }, anyNode),
      to: Array.from({ length: chunkLength }, anyNode),
    });
  await loader.finish();
}

/** Short reads are timed in their steady state: code is compiled after thousands of calls. */
const pairs: readonly { name: string; calls: number; cypher: string; sql: string }[] = [
  {
    calls: 4_000,
    name: 'point read by a unique property',
    cypher: 'MATCH (n:Node {id: $id}) RETURN n.id AS id',
    sql: 'SELECT id FROM Node WHERE id = :id',
  },
  ...[1, 2, 3].map((hops) => ({
    name: `${hops} ${hops === 1 ? 'hop' : 'hops'}, counted`,
    calls: [4_000, 1_000, 200][hops - 1] ?? 0,
    cypher: `MATCH (n:Node {id: $id})${'-[:Link]->()'.repeat(hops)} RETURN count(*) AS n`,
    sql: `MATCH {type: Node, where: (id = :id)}${'-Link->{}'.repeat(hops)} RETURN count(*) AS n`,
  })),
];

async function reads(engine: TestDatabase, rounds: number): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const { name, calls, cypher, sql } of pairs) {
    const ask = (statement: Omit<BenchStatement, 'parameters'>, id: number) =>
      valuesOf(engine, { ...statement, parameters: new Map([['id', id]]) });
    for (const id of [7, 4_711])
      requireEqual(
        name,
        (await ask({ language: 'cypher', text: cypher }, id)).map(String),
        (await ask({ language: 'sql', text: sql }, id)).map(String),
      );
    const timed = (statement: Omit<BenchStatement, 'parameters'>) => async () => {
      const ms = await processorMs(async () => {
        for (let at = 0; at < calls; at += 1) await ask(statement, (at * 7_919) % nodeCount);
      });
      return (ms * 1_000) / calls;
    };
    const medians = await alternate(
      {
        cypher: timed({ language: 'cypher', text: cypher }),
        sql: timed({ language: 'sql', text: sql }),
      },
      rounds * 3,
      2,
    );
    comparisons.push(besideSql(name, medians, { most: 1.1, unit: 'us' }));
  }
  return comparisons;
}

/** A whole call of a statement that does next to nothing: an upper bound of what parsing and planning take. */
async function texts(engine: TestDatabase, rounds: number): Promise<Comparison[]> {
  let serial = 0;
  const known: BenchStatement = {
    language: 'cypher',
    text: 'RETURN $x AS x',
    parameters: new Map([['x', 1]]),
  };
  const unknown = (): BenchStatement => {
    serial += 1;
    const text = `MATCH (n:Node {id: 7}) WHERE n.id < 100 RETURN n.id + 1 AS c${serial}`;
    return { language: 'cypher', text };
  };
  const perCall = (statement: () => BenchStatement) => async () => {
    const ms = await processorMs(async () => {
      for (let at = 0; at < textCalls; at += 1) await valuesOf(engine, statement());
    });
    return (ms * 1_000) / textCalls;
  };
  const cached = await alternate({ call: perCall(() => known) }, rounds * 3, 3);
  const uncached = await alternate({ call: perCall(unknown) }, rounds * 3, 3);
  return [
    withinLimit('a call by a text that is known', cached, { of: 'call', most: 10, unit: 'us' }),
    withinLimit('a call by a new text of 20 tokens', uncached, {
      of: 'call',
      most: 200,
      unit: 'us',
    }),
  ];
}

async function shortestPaths(engine: TestDatabase): Promise<Comparison> {
  const random = mulberry32(7);
  const times: number[] = [];
  for (let at = -20; at < 200; at += 1) {
    const parameters = new Map<string, Value>([
      ['a', Math.floor(random() * nodeCount)],
      ['b', Math.floor(random() * nodeCount)],
    ]);
    const text =
      'MATCH (a:Node {id: $a}), (b:Node {id: $b}) MATCH p = shortestPath((a)-[:Link*]-(b)) RETURN length(p) AS n';
    const ms = await processorMs(() => valuesOf(engine, { language: 'cypher', text, parameters }));
    if (at >= 0) times.push(ms);
  }
  const medians = new Map([
    ['p50', median(times)],
    ['p95', percentile(times, 0.95)],
  ]);
  return withinLimit('shortestPath of random pairs', medians, { of: 'p50', most: 1, unit: 'ms' });
}

const algorithmCalls: readonly (readonly [string, string, number])[] = [
  [
    'PageRank, 20 rounds, first call',
    'CALL algo.pagerank({maxIterations: 20, tolerance: 0.0}) YIELD score RETURN count(score) AS n',
    1_000,
  ],
  ['WCC', 'CALL algo.wcc() YIELD componentId RETURN count(componentId) AS n', 500],
  ['triangles', 'CALL algo.triangleCount() YIELD triangles RETURN sum(triangles) AS n', 2_000],
  ['Louvain', 'CALL algo.louvain() YIELD communityId RETURN count(communityId) AS n', 3_000],
];

async function algorithms(engine: TestDatabase): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const [name, text, most] of algorithmCalls) {
    const ms = await processorMs(() => valuesOf(engine, { language: 'cypher', text }));
    comparisons.push(withinLimit(name, new Map([['call', ms]]), { of: 'call', most, unit: 'ms' }));
  }
  return comparisons;
}

/** Ten thousand rows at a time into types that begin empty. */
async function writes(engine: TestDatabase, rounds: number): Promise<Comparison[]> {
  for (const type of ['Made', 'Merged', 'Inserted']) await engine.run(`CREATE VERTEX TYPE ${type}`);
  for (const type of ['Merged', 'Inserted', 'Made']) {
    await engine.run(`CREATE PROPERTY ${type}.k INTEGER`);
    await engine.run(`CREATE INDEX ON ${type} (k) UNIQUE`);
  }
  const numbers = Array.from({ length: 10_000 }, (_, k) => k);
  const parameters = new Map<string, Value>([
    [
      'rows',
      numbers.map(
        (k) =>
          new Map<string, Value>([
            ['k', k],
            ['name', `name ${k}`],
          ]),
      ),
    ],
  ]);
  const timed = (type: string, statement: Omit<BenchStatement, 'parameters'>) => async () => {
    await engine.run(`DELETE FROM ${type}`);
    const ms = await processorMs(() => valuesOf(engine, { ...statement, parameters }));
    const [row] = await engine.run(`SELECT count(*) AS n FROM ${type}`);
    requireEqual(type, row, { n: numbers.length });
    return ms;
  };
  const sql = timed('Inserted', { language: 'sql', text: 'INSERT INTO Inserted CONTENT :rows' });
  const created = await alternate(
    {
      cypher: timed('Made', {
        language: 'cypher',
        text: 'UNWIND $rows AS r CREATE (:Made {k: r.k, name: r.name})',
      }),
      sql,
    },
    rounds,
    2,
  );
  const merged = await alternate(
    {
      cypher: timed('Merged', {
        language: 'cypher',
        text: 'UNWIND $rows AS r MERGE (n:Merged {k: r.k}) ON CREATE SET n.name = r.name',
      }),
      sql,
    },
    rounds,
    2,
  );
  return [
    besideSql('UNWIND CREATE of 10,000 nodes', created, { most: 1.5, unit: 'ms' }),
    besideSql('MERGE of 10,000 by a unique key', merged, { most: 3, unit: 'ms' }),
  ];
}
