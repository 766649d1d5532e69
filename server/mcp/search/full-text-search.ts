import { quotedName } from '../tools/arguments.ts';
import { rowsAllowed } from '../tools/statement-rows.ts';
import { ToolFailure } from '../tools/tool-failure.ts';
import {
  databaseArgument,
  objectSchema,
  reads,
  type Tool,
  type ToolCall,
  tellRows,
} from '../tools/tool.ts';
import { type Hit, hitsOf } from './hit.ts';
import {
  indexesOf,
  metadataWord,
  quotedText,
  requireIndex,
  type SearchIndex,
} from './search-index.ts';

const limitBounds = { min: 1, max: 1000 };
const limitDefault = 10;

export const fullTextSearch: Tool = {
  name: 'full_text_search',
  description:
    'Records that match words, by relevance. +a both, -a not, "a b" all of them, a* prefix, a~ alike, property:a, a^2 counts double.',
  inputSchema: objectSchema(
    {
      database: databaseArgument,
      indexName: { type: 'string', description: 'Name of the full-text index' },
      typeName: { type: 'string', description: 'Instead of an index: the type that it is on' },
      properties: {
        type: 'array',
        items: { type: 'string' },
        description: 'With typeName: the properties of the index, in its order',
      },
      queryText: { type: 'string', description: 'What to look for' },
      limit: {
        type: 'integer',
        minimum: limitBounds.min,
        maximum: limitBounds.max,
        default: limitDefault,
      },
    },
    ['database', 'queryText'],
  ),
  annotations: reads,
  needs: ['allowReads'],
  run: async (call) => {
    const given = call.arguments;
    const database = given.requiredText('database');
    const queryText = given.requiredText('queryText');
    const limit = given.integer('limit', limitBounds) ?? limitDefault;
    const wanted = {
      indexName: given.filledText('indexName'),
      typeName: given.filledText('typeName'),
      properties: given.texts('properties') ?? [],
    };
    call.server.policy.requireDatabase(call.caller.principal, database, ['allowReads']);
    const indexName = wanted.indexName ?? (await indexNameOf(call, database, wanted));
    const leg = await fullTextLeg(call, database, { indexName, queryText, count: limit });
    const results = leg.hits
      .slice(0, rowsAllowed(call, database, limit))
      .map(
        ({ rid, measure, properties }) =>
          `{"rid":"${rid}","score":${measure},"properties":${properties}}`,
      );
    tellRows(call, results.length);
    const head = JSON.stringify({
      indexName: leg.index.name,
      similarity: leg.similarity,
      count: results.length,
    });
    return `${head.slice(0, -1)},"results":[${results.join(',')}]}`;
  },
};

/** The one index that a type and its properties mean. @throws ToolFailure that lists what there is */
async function indexNameOf(
  call: ToolCall,
  database: string,
  wanted: {
    readonly typeName: string | undefined;
    readonly properties: readonly string[];
  },
): Promise<string> {
  const { typeName, properties } = wanted;
  const all = (await indexesOf(call, database)).filter(({ kind }) => kind === 'FULL_TEXT');
  const listed = (indexes: readonly SearchIndex[]) =>
    indexes.length === 0 ? 'there is none' : indexes.map(({ name }) => name).join(', ');
  if (typeName === undefined)
    throw new ToolFailure(
      `'indexName' or 'typeName' is required; full-text indexes: ${listed(all)}`,
    );
  const ofType = all.filter((index) => index.typeName === typeName);
  const named =
    properties.length === 0
      ? ofType
      : ofType.filter((index) => index.properties.join() === properties.join());
  const [only] = named;
  if (only !== undefined && named.length === 1) return only.name;
  throw new ToolFailure(
    named.length === 0
      ? `Type '${typeName}' has no such full-text index; its full-text indexes: ${listed(ofType)}`
      : `Type '${typeName}' has several full-text indexes: ${listed(named)}; name one by 'indexName' or 'properties'`,
  );
}

export interface FullTextLeg {
  readonly index: SearchIndex;
  readonly hits: readonly Hit[];
  readonly similarity: string;
}

/** The best hits, ties by record id. @throws ToolFailure, DatabaseError for a query that is none */
export async function fullTextLeg(
  call: ToolCall,
  database: string,
  asked: { readonly indexName: string; readonly queryText: string; readonly count: number },
): Promise<FullTextLeg> {
  const { indexName, queryText, count } = asked;
  const index = await requireIndex(call, database, { name: indexName, kind: 'FULL_TEXT' });
  const type = quotedName(index.typeName, 'typeName');
  const text = `SELECT @rid AS rid, @type AS type, $score AS measure, @this AS record FROM ${type} WHERE search_index(${quotedText(index.name)}, :query) ORDER BY $score DESC, @rid LIMIT ${count}`;
  const parameters = new Map([['query', queryText]]);
  const hits = await hitsOf(call, { database, text, parameters, rowCountMax: count });
  return { index, hits, similarity: metadataWord(index, 'similarity', 'BM25') };
}
