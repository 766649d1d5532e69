import { vectorDimensionsMax } from '#catalog/search-index.ts';
import { sqlMaxExpressionDepth, sqlMaxStatementSize } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import { requireLoneCondition } from '#language/sql/lone-condition.ts';
import type { Arguments } from '../tools/arguments.ts';
import { ToolFailure } from '../tools/tool-failure.ts';
import type { ToolCall } from '../tools/tool.ts';
import { type Hit, hitsOf } from './hit.ts';
import {
  metadataInteger,
  metadataWord,
  quotedText,
  requireIndex,
  type SearchIndex,
} from './search-index.ts';

/*
 * The search by a vector: a dense or a sparse index, with a condition over what it finds (contract 2, tool rule 4; mcp.md 4.6).
 */

export const kBounds = { min: 1, max: 1000 };
const filterLengthMax = 4096;
const candidatesMax = 8000;
const indexMax = 2_147_483_647;

/** Properties of both tools that search by a vector. */
export const vectorProperties = {
  queryVector: {
    type: 'array',
    items: { type: 'number' },
    description: 'The embedding of what is looked for; the server makes none',
  },
  queryIndices: {
    type: 'array',
    items: { type: 'integer', minimum: 0 },
    description: 'Dimensions that the numbers of queryVector belong to, for a sparse index',
  },
  k: { type: 'integer', minimum: kBounds.min, maximum: kBounds.max, description: 'Results wanted' },
  efSearch: {
    type: 'integer',
    minimum: 1,
    description: 'Candidates that a dense index looks at; more is slower and more exact',
  },
  filter: {
    type: 'string',
    maxLength: filterLengthMax,
    description:
      'SQL condition over what is found: properties, @rid, @type, record, and distance (dense) or score (sparse)',
  },
  sparse: { type: 'boolean', default: false, description: 'The index is LSM_SPARSE_VECTOR' },
};

export interface VectorQuestion {
  readonly indexName: string;
  readonly vector: readonly number[];
  readonly indices: readonly number[] | undefined;
  readonly k: number;
  readonly efSearch: number | undefined;
  readonly filter: string | undefined;
  readonly isSparse: boolean;
}

/** @param indexArgument name of the argument that names the index. @throws ToolFailure */
export function vectorQuestion(given: Arguments, indexArgument: string): VectorQuestion {
  const indexName = given.requiredText(indexArgument);
  const vector = given.numbers('queryVector', vectorDimensionsMax);
  if (vector === undefined || vector.length === 0)
    throw new ToolFailure("'queryVector' is required");
  const k = given.requiredInteger('k', kBounds);
  const isSparse = given.flag('sparse') ?? false;
  const efSearch = given.integer('efSearch', { min: 1, max: Number.MAX_SAFE_INTEGER });
  if (isSparse && efSearch !== undefined)
    throw new ToolFailure("'efSearch' is not for sparse indexes");
  if (vector.every((number) => number === 0))
    throw new ToolFailure("'queryVector' holds nothing but zeros");
  const indices = indicesOf(given, vector, isSparse);
  return { indexName, vector, indices, k, efSearch, filter: filterOf(given), isSparse };
}

function indicesOf(
  given: Arguments,
  vector: readonly number[],
  isSparse: boolean,
): readonly number[] | undefined {
  const indices = given.numbers('queryIndices', vectorDimensionsMax);
  if (indices === undefined) return undefined;
  if (!isSparse)
    throw new ToolFailure("'queryIndices' is for sparse indexes: set 'sparse' to true");
  if (indices.length !== vector.length)
    throw new ToolFailure(
      `'queryIndices' has ${indices.length} entries and 'queryVector' ${vector.length}`,
    );
  for (const index of indices)
    if (!Number.isInteger(index) || index < 0 || index > indexMax)
      throw new ToolFailure(
        `'queryIndices' holds ${index}: integers from 0 to ${indexMax} are allowed`,
      );
  if (new Set(indices).size < indices.length)
    throw new ToolFailure("'queryIndices' holds a dimension twice");
  return indices;
}

function filterOf(given: Arguments): string | undefined {
  const filter = given.filledText('filter');
  if (filter !== undefined && filter.length > filterLengthMax)
    throw wrongFilter(`it is longer than ${filterLengthMax} characters`);
  return filter;
}

function wrongFilter(why: string): ToolFailure {
  return new ToolFailure(`Invalid vector search or filter expression: ${why}`);
}

/** What a leg gave, and how it is measured. */
export interface VectorLeg {
  readonly index: SearchIndex;
  readonly hits: readonly Hit[];
  /** Of the answer: `distance_lower_is_better:COSINE`, ... */
  readonly scoring: string;
  readonly candidateLimit: number;
}

/** @param count hits wanted; candidates for a filter are eight times as many. @throws ToolFailure */
export async function vectorLeg(
  call: ToolCall,
  database: string,
  asked: { readonly question: VectorQuestion; readonly count: number },
): Promise<VectorLeg> {
  const { question, count } = asked;
  const { indexName, isSparse, filter } = question;
  requireFilter(call, filter);
  const index = await requireIndex(call, database, {
    name: indexName,
    kind: isSparse ? 'LSM_SPARSE_VECTOR' : 'LSM_VECTOR',
    hint: ` ('sparse' is ${isSparse})`,
  });
  const candidateLimit = filter === undefined ? count : Math.min(8 * count, candidatesMax);
  const { source, parameters } = isSparse
    ? sparseSource(question, index, candidateLimit)
    : denseSource(question, index, candidateLimit);
  const measure = isSparse ? 'score' : 'distance';
  const where = filter === undefined ? '' : ` WHERE (${filter}\n)`;
  const text = `SELECT @rid AS rid, @type AS type, ${measure} AS measure, record FROM (SELECT expand(${source}))${where} LIMIT ${count}`;
  try {
    const hits = await hitsOf(call, { database, text, parameters, rowCountMax: count });
    return { index, hits, scoring: scoringOf(index, isSparse), candidateLimit };
  } catch (error) {
    if (error instanceof DatabaseError && filter !== undefined) throw wrongFilter(error.message);
    throw error;
  }
}

function requireFilter({ server }: ToolCall, filter: string | undefined): void {
  if (filter === undefined) return;
  try {
    requireLoneCondition(filter, {
      expressionDepthMax: server.settings.get(sqlMaxExpressionDepth),
      statementBytesMax: server.settings.get(sqlMaxStatementSize),
    });
  } catch (error) {
    if (error instanceof DatabaseError) throw wrongFilter(error.message);
    throw error;
  }
}

interface Source {
  readonly source: string;
  readonly parameters: ReadonlyMap<string, Value>;
}

function denseSource(
  { vector, efSearch }: VectorQuestion,
  index: SearchIndex,
  count: number,
): Source {
  const dimensions = metadataInteger(index, 'dimensions');
  if (dimensions > 0 && vector.length !== dimensions)
    throw new ToolFailure(
      `'queryVector' has ${vector.length} dimensions, index '${index.name}' has ${dimensions}`,
    );
  const options = efSearch === undefined ? '' : `, {efSearch: ${efSearch}}`;
  return {
    source: `vector.neighbors(${quotedText(index.name)}, :vector, ${count}${options})`,
    parameters: new Map([['vector', vector]]),
  };
}

function sparseSource(question: VectorQuestion, index: SearchIndex, count: number): Source {
  const { indices, values } = sparseParts(question, metadataInteger(index, 'dimensions'));
  return {
    source: `vector.sparseNeighbors(${quotedText(index.name)}, :indices, :weights, ${count})`,
    parameters: new Map<string, Value>([
      ['indices', indices],
      ['weights', values],
    ]),
  };
}

/** Without dimensions the vector is a whole one: those of its numbers that are not zero. */
function sparseParts({ vector, indices }: VectorQuestion, dimensions: number) {
  if (indices === undefined && dimensions > 0 && vector.length !== dimensions)
    throw new ToolFailure(
      `'queryVector' has ${vector.length} dimensions, the index has ${dimensions}`,
    );
  const pairs = vector.map((value, at) => ({ index: indices?.[at] ?? at, value }));
  const used = pairs.filter(({ value }) => value !== 0);
  for (const { index } of used)
    if (dimensions > 0 && index >= dimensions)
      throw new ToolFailure(
        `'queryIndices' holds ${index}, the index has ${dimensions} dimensions`,
      );
  return { indices: used.map(({ index }) => index), values: used.map(({ value }) => value) };
}

function scoringOf(index: SearchIndex, isSparse: boolean): string {
  if (!isSparse) return `distance_lower_is_better:${metadataWord(index, 'similarity', 'COSINE')}`;
  const isWeighted = metadataWord(index, 'modifier', 'NONE') === 'IDF';
  return `score_higher_is_better:${isWeighted ? 'idf_weighted_dot_product' : 'dot_product'}`;
}
