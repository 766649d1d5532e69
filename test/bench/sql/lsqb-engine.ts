import {
  openTestDatabase,
  root,
  type TestDatabase,
} from '../../database/support/open-test-database.ts';
import type { Value } from '#core/value/value.ts';
import {
  type LsqbData,
  type LsqbEdgeType,
  lsqbEdgeTypes,
  type LsqbVertexType,
  lsqbVertexTypes,
} from './lsqb-data.ts';

const subtypesOfMessage: ReadonlySet<LsqbVertexType> = new Set(['Post', 'Comment']);
const chunkLength = 5_000;

export const lsqbSchema: readonly string[] = [
  'CREATE VERTEX TYPE Message',
  ...lsqbVertexTypes.map(
    (type) => `CREATE VERTEX TYPE ${type}${subtypesOfMessage.has(type) ? ' EXTENDS Message' : ''}`,
  ),
  ...lsqbEdgeTypes.map(([name]) => `CREATE EDGE TYPE ${name}`),
];

/** Properties beside the ids. */
export interface LsqbProperties {
  vertex(type: LsqbVertexType, id: number): Readonly<Record<string, Value>>;
  edge(name: LsqbEdgeType, from: number, to: number): Readonly<Record<string, Value>>;
}

const idsOnly: LsqbProperties = { vertex: () => ({}), edge: () => ({}) };

/** The engine in process with the LSQB graph. */
export async function openLsqbEngine(
  data: LsqbData,
  properties: LsqbProperties = idsOnly,
): Promise<TestDatabase> {
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
        columns: ['id', ...Object.keys(properties.vertex(type, first))],
        values: part.flatMap((id) => [id, ...Object.values(properties.vertex(type, id))]),
        rowCount: part.length,
        ids: part,
      });
    }
  }
  for (const [name] of lsqbEdgeTypes) {
    const { from, to } = data.edges[name];
    for (let start = 0; start < from.length; start += chunkLength) {
      const sources = Array.from(from.subarray(start, start + chunkLength));
      const targets = Array.from(to.subarray(start, start + chunkLength));
      await loader.addEdges({
        type: name,
        columns: Object.keys(properties.edge(name, 0, 0)),
        values: sources.flatMap((source, at) =>
          Object.values(properties.edge(name, source, targets[at] as number)),
        ),
        rowCount: sources.length,
        from: sources,
        to: targets,
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
