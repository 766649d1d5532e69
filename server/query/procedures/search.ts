import type { IndexKind } from '#catalog/catalog.ts';
import type { Rid } from '#core/value/rid.ts';
import { double, isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { best } from '#index/text/matches.ts';
import { vectorSettings } from '#index/vector/vector-settings.ts';
import { indexNamed } from '../functions/search/index-named.ts';
import { hitsInTurns, textRequest } from '../functions/search/text-hits.ts';
import { vectorNeighbours } from '../functions/search/vector-functions.ts';
import { isNumeric, toDouble } from '../functions/arguments.ts';
import type { ExecutionContext } from '../operators/operator.ts';
import { argumentFault, reading, rowWith } from './define.ts';
import { turnMeter } from './paths/shortest.ts';
import type { Procedure } from './procedure.ts';

/** `db.index.*` and `vector.neighbors` as procedures (cypher.md 10): searches of the functions that SQL has, as rows. */

type Rows = Generator<ValueMap | 'pause', void, undefined>;

function* pausing<T>(work: PausingWork<T>): Generator<'pause', T, undefined> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    yield 'pause';
  }
}

function* textRows(
  [index = null, query = null]: readonly Value[],
  column: string,
  context: ExecutionContext,
): Rows {
  requireKind(index, 'FULL_TEXT', column, context);
  const request = textRequest('search_index', [index, query], undefined, context);
  const hits = yield* pausing(hitsInTurns(request, context, turnMeter()));
  for (const at of best(hits, hits.count)) {
    const record = context.view.record(hits.rids[at] as Rid);
    if (record !== undefined)
      yield rowWith({ [column]: record, score: double(hits.scores[at] as number) });
  }
}

/** @throws DatabaseError `ArgumentError` for an index on the other kind of entity */
function requireKind(
  name: Value,
  kind: IndexKind,
  column: string,
  { view: { catalog } }: ExecutionContext,
): void {
  const family = kind === 'FULL_TEXT' ? 'fulltext' : 'vector';
  const procedure = `db.index.${family}.query${column === 'node' ? 'Nodes' : 'Relationships'}()`;
  const { index } = indexNamed(catalog, name, kind, procedure);
  const holds = catalog.typeWithId(index.type).kind === 'edge' ? 'relationship' : 'node';
  if (holds !== column) throw argumentFault(`index '${index.name}' is one of ${holds}s`);
}

function* neighbours(
  args: readonly Value[],
  context: ExecutionContext,
): Generator<'pause', readonly ValueMap[], undefined> {
  const found = yield* pausing(vectorNeighbours(args, context, turnMeter()));
  return found !== null && isList(found) ? found.filter((row) => row !== null && isMap(row)) : [];
}

/** Higher is better: what the functions `vector.similarity.*` would give. */
function similarityOf(distance: Value, index: Value, { view }: ExecutionContext): Value {
  if (!isNumeric(distance)) return null;
  const far = toDouble(distance);
  const found = indexNamed(view.catalog, index, 'LSM_VECTOR', 'db.index.vector.queryNodes()');
  switch (vectorSettings(found.index).similarity) {
    case 'COSINE':
      return double(1 - far);
    case 'EUCLIDEAN':
      return double(1 / (1 + far));
    case 'DOT_PRODUCT':
      return double(-far);
  }
}

function* vectorRows(
  [index = null, k = null, vector = null]: readonly Value[],
  column: string,
  context: ExecutionContext,
): Rows {
  requireKind(index, 'LSM_VECTOR', column, context);
  for (const row of yield* neighbours([index, vector, k], context))
    yield rowWith({
      [column]: row.get('record') ?? null,
      score: similarityOf(row.get('distance') ?? null, index, context),
    });
}

const vectorParameters = [
  { name: 'index', type: 'STRING' },
  { name: 'k', type: 'INTEGER' },
  { name: 'vector', type: 'LIST' },
];
const textParameters = [
  { name: 'index', type: 'STRING' },
  { name: 'query', type: 'STRING' },
];

export const searchProcedures: readonly Procedure[] = [
  reading({
    name: 'db.index.fulltext.queryNodes',
    description: 'Nodes that a full-text index finds, best first',
    parameters: textParameters,
    columns: { node: 'NODE', score: 'FLOAT' },
    rows: (args, context) => textRows(args, 'node', context),
  }),
  reading({
    name: 'db.index.fulltext.queryRelationships',
    description: 'Relationships that a full-text index finds, best first',
    parameters: textParameters,
    columns: { relationship: 'RELATIONSHIP', score: 'FLOAT' },
    rows: (args, context) => textRows(args, 'relationship', context),
  }),
  reading({
    name: 'db.index.vector.queryNodes',
    description: 'The k nodes whose vectors are most alike',
    parameters: vectorParameters,
    columns: { node: 'NODE', score: 'FLOAT' },
    rows: (args, context) => vectorRows(args, 'node', context),
  }),
  reading({
    name: 'db.index.vector.queryRelationships',
    description: 'The k relationships whose vectors are most alike',
    parameters: vectorParameters,
    columns: { relationship: 'RELATIONSHIP', score: 'FLOAT' },
    rows: (args, context) => vectorRows(args, 'relationship', context),
  }),
  reading({
    name: 'vector.neighbors',
    description: 'The k records whose vectors are nearest',
    parameters: [
      { name: 'index', type: 'STRING' },
      { name: 'vector', type: 'ANY' },
      { name: 'k', type: 'INTEGER' },
    ],
    columns: { record: 'ANY', distance: 'FLOAT' },
    hasMoreColumns: true,
    *rows(args, context) {
      yield* yield* neighbours(args, context);
    },
  }),
];
