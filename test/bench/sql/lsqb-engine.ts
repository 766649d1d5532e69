import {
  openTestDatabase,
  root,
  type TestDatabase,
} from '../../database/support/open-test-database.ts';
import { type LsqbData, lsqbEdgeTypes, type LsqbVertexType, lsqbVertexTypes } from './lsqb-data.ts';

const subtypesOfMessage: ReadonlySet<LsqbVertexType> = new Set(['Post', 'Comment']);
const chunkLength = 5_000;

export const lsqbSchema: readonly string[] = [
  'CREATE VERTEX TYPE Message',
  ...lsqbVertexTypes.map(
    (type) => `CREATE VERTEX TYPE ${type}${subtypesOfMessage.has(type) ? ' EXTENDS Message' : ''}`,
  ),
  ...lsqbEdgeTypes.map(([name]) => `CREATE EDGE TYPE ${name}`),
];

/** The engine in process with the LSQB graph. */
export async function openLsqbEngine(data: LsqbData): Promise<TestDatabase> {
  const test = await openTestDatabase();
  for (const statement of lsqbSchema) await test.run(statement);
  const loader = test.database.bulkLoader();
  for (const type of lsqbVertexTypes) {
    const first = data.first[type];
    const ids = Array.from({ length: data.count[type] }, (_, rank) => first + rank);
    for (let start = 0; start < ids.length; start += chunkLength) {
      const part = ids.slice(start, start + chunkLength);
      await loader.addRecords({
        type,
        columns: ['id'],
        values: part,
        rowCount: part.length,
        ids: part,
      });
    }
  }
  for (const [name] of lsqbEdgeTypes) {
    const { from, to } = data.edges[name];
    for (let start = 0; start < from.length; start += chunkLength) {
      await loader.addEdges({
        type: name,
        columns: [],
        values: [],
        rowCount: Math.min(chunkLength, from.length - start),
        from: Array.from(from.subarray(start, start + chunkLength)),
        to: Array.from(to.subarray(start, start + chunkLength)),
      });
    }
  }
  await loader.finish();
  return test;
}

/** The only value of the only row. */
export async function countOf(test: TestDatabase, text: string): Promise<number> {
  const result = await test.database.run(
    { language: 'sql', text, parameters: new Map() },
    { principal: root, mustBeIdempotent: true, signal: new AbortController().signal },
  );
  try {
    const batch = result.complete ?? (await result.nextBatch());
    return Number(batch?.values[0]);
  } finally {
    result.close();
  }
}
