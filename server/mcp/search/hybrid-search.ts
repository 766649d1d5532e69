import { requireType } from '../content/schema-document.ts';
import { isObject, numberOf } from '../protocol/json-rpc.ts';
import type { Arguments } from '../tools/arguments.ts';
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
import { type Expanded, type Expansion, expanded, expansionOf } from './expansion.ts';
import { type FullTextLeg, fullTextLeg } from './full-text-search.ts';
import {
  fuse,
  type Fused,
  type FusionLeg,
  type LegName,
  legNames,
  type Strategy,
  strategies,
} from './fusion.ts';
import { hitsOf } from './hit.ts';
import { type VectorLeg, vectorLeg, vectorProperties, vectorQuestion } from './vector-leg.ts';
import type { VectorQuestion } from './vector-leg.ts';

const weightDefaults = { vector: 1, fulltext: 1, expand: 0.5 } as const satisfies Record<
  LegName,
  number
>;
const legSizeMax = 1000;

export const hybridSearch: Tool = {
  name: 'hybrid_search',
  description:
    'Search by vector, by words and along the graph at once; the ranks of the legs are fused into one.',
  inputSchema: objectSchema(
    {
      database: databaseArgument,
      vectorIndexName: { type: 'string', description: 'Name of the vector index' },
      ...vectorProperties,
      fulltextIndexName: { type: 'string', description: 'Name of a full-text index' },
      fulltextQuery: { type: 'string', description: 'What to look for in it' },
      expand: {
        type: 'object',
        properties: {
          edgeTypes: { type: 'array', items: { type: 'string' } },
          direction: { type: 'string', enum: ['out', 'in', 'both'], default: 'out' },
          maxDepth: { type: 'integer', minimum: 1, maximum: 3, default: 1 },
        },
        description: 'Also takes what stands around the best hits',
      },
      fusionStrategy: { type: 'string', enum: strategies, default: 'RRF' },
      weights: {
        type: 'object',
        properties: Object.fromEntries(
          legNames.map((name) => [name, { type: 'number', minimum: 0 }]),
        ),
        description: 'How much each leg counts; default vector 1, fulltext 1, expand 0.5',
      },
    },
    ['database', 'vectorIndexName', 'queryVector', 'k'],
  ),
  annotations: reads,
  needs: ['allowReads'],
  run: async (call) => {
    const question = questionOf(call.arguments);
    const { database } = question;
    call.server.policy.requireDatabase(call.caller.principal, database, ['allowReads']);
    const legs = await legsOf(call, question);
    const isFused = question.fullText !== undefined || question.expansion !== undefined;
    return isFused ? fusedAnswer(call, question, legs) : plainAnswer(call, question, legs.vector);
  },
};

interface Question {
  readonly database: string;
  readonly vector: VectorQuestion;
  readonly fullText: { readonly indexName: string; readonly queryText: string } | undefined;
  readonly expansion: Expansion | undefined;
  readonly strategy: Strategy;
  readonly weights: Readonly<Record<LegName, number>>;
}

/** @throws ToolFailure */
function questionOf(given: Arguments): Question {
  const database = given.requiredText('database');
  const vector = vectorQuestion(given, 'vectorIndexName');
  const indexName = given.filledText('fulltextIndexName');
  const queryText = given.filledText('fulltextQuery');
  if ((indexName === undefined) !== (queryText === undefined))
    throw new ToolFailure("'fulltextIndexName' and 'fulltextQuery' go together: one is missing");
  const fullText =
    indexName === undefined || queryText === undefined ? undefined : { indexName, queryText };
  const expansion = expansionOf(given);
  const strategy = strategyOf(given);
  if (strategy !== 'RRF' && expansion !== undefined)
    throw new ToolFailure(
      `fusionStrategy ${strategy} needs a score on every row and cannot be combined with 'expand'`,
    );
  const requested = new Set<LegName>(['vector']);
  if (fullText !== undefined) requested.add('fulltext');
  if (expansion !== undefined) requested.add('expand');
  const weights = weightsOf(given, requested);
  return { database, vector, fullText, expansion, strategy, weights };
}

function strategyOf(given: Arguments): Strategy {
  const name = given.filledText('fusionStrategy')?.toUpperCase() ?? 'RRF';
  const known = strategies.find((strategy) => strategy === name);
  if (known !== undefined) return known;
  throw new ToolFailure(`'fusionStrategy' must be one of ${strategies.join(', ')}`);
}

function weightsOf(
  given: Arguments,
  requested: ReadonlySet<LegName>,
): Readonly<Record<LegName, number>> {
  const value = given.value('weights');
  if (value === undefined) return weightDefaults;
  if (!isObject(value)) throw new ToolFailure("'weights' must be an object");
  const weights: Record<LegName, number> = { ...weightDefaults };
  for (const [key, entry] of value) {
    const leg = legNames.find((name) => name === key);
    if (leg === undefined)
      throw new ToolFailure(`'weights' has no '${key.slice(0, 60)}': ${legNames.join(', ')}`);
    if (!requested.has(leg)) throw new ToolFailure(`'weights.${leg}': that leg is not requested`);
    const weight = numberOf(entry);
    if (weight === undefined || weight < 0)
      throw new ToolFailure(`'weights.${leg}' must be a number, 0 or more`);
    weights[leg] = weight;
  }
  return weights;
}

interface Legs {
  readonly vector: VectorLeg;
  readonly fullText: FullTextLeg | undefined;
  readonly expand: Expanded | undefined;
}

async function legsOf(call: ToolCall, question: Question): Promise<Legs> {
  const { database, expansion } = question;
  const count = Math.min(4 * question.vector.k, legSizeMax);
  const vector = await vectorLeg(call, database, { question: question.vector, count });
  const fullText =
    question.fullText && (await fullTextLeg(call, database, { ...question.fullText, count }));
  if (expansion === undefined) return { vector, fullText, expand: undefined };
  for (const { index } of [vector, ...(fullText ? [fullText] : [])]) {
    const type = await requireType(call, database, index.typeName);
    if (type.category !== 'vertex')
      throw new ToolFailure(
        `'expand' needs a vertex type; '${type.name}' of index '${index.name}' is a ${type.category} type`,
      );
  }
  const ranks = [vector.hits, fullText?.hits ?? []].map((hits) => hits.map(({ rid }) => rid));
  return { vector, fullText, expand: await expanded(call, database, { expansion, ranks }) };
}

/** Nothing but the vector leg was asked for: its own distances or scores. */
function plainAnswer(
  call: ToolCall,
  { database, vector: { k, isSparse } }: Question,
  leg: VectorLeg,
): string {
  const most = rowsAllowed(call, database, k);
  const hits = leg.hits.slice(0, most);
  const measure = isSparse ? 'score' : 'distance';
  const results = hits.map(
    (hit) =>
      `{"rid":"${hit.rid}","${measure}":${hit.measure},"sources":["vector"],"properties":${hit.properties}}`,
  );
  tellRows(call, results.length);
  const head = JSON.stringify({
    vectorIndexName: leg.index.name,
    sparse: isSparse,
    scoring: leg.scoring,
    fused: false,
    legs: { vector: { count: leg.hits.length } },
    truncated: results.length === most,
    count: results.length,
  });
  return `${head.slice(0, -1)},"results":[${results.join(',')}]}`;
}

async function fusedAnswer(call: ToolCall, question: Question, legs: Legs): Promise<string> {
  const { k, isSparse } = question.vector;
  const { vector, fullText, expand } = legs;
  const most = rowsAllowed(call, question.database, k);
  const best = fuse(fusionLegs(question, legs), question.strategy).slice(0, most);
  const records = await recordsOf(call, question.database, { best, legs });
  const results = best.flatMap(({ rid, score, sources }) => {
    const properties = records.get(rid);
    // Deleted since its leg was searched: others do not fill its place.
    if (properties === undefined) return [];
    const path = sources.includes('expand') ? expand?.paths.get(rid) : undefined;
    const way =
      path === undefined ? '' : `,"depth":${path.length - 1},"path":${JSON.stringify(path)}`;
    return `{"rid":"${rid}","fusedScore":${score},"sources":${JSON.stringify(sources)}${way},"properties":${properties}}`;
  });
  tellRows(call, results.length);
  const head = JSON.stringify({
    vectorIndexName: vector.index.name,
    sparse: isSparse,
    scoring: vector.scoring,
    fused: true,
    fusionStrategy: question.strategy,
    fulltextIndexName: fullText?.index.name,
    legs: {
      vector: { count: vector.hits.length },
      fulltext: fullText && {
        indexName: fullText.index.name,
        similarity: fullText.similarity,
        count: fullText.hits.length,
      },
      expand: expand && {
        direction: question.expansion?.direction,
        edgeTypes: question.expansion?.edgeTypes,
        maxDepth: question.expansion?.maxDepth,
        truncated: expand.truncated,
        seedCount: expand.seedCount,
        seedsTruncated: expand.seedsTruncated,
        count: expand.rids.length,
      },
    },
    truncated: results.length === most,
    count: results.length,
  });
  return `${head.slice(0, -1)},"results":[${results.join(',')}]}`;
}

function fusionLegs({ weights, vector }: Question, legs: Legs): readonly FusionLeg[] {
  const ridsOf = (hits: readonly { readonly rid: string }[]) => hits.map(({ rid }) => rid);
  const sign = vector.isSparse ? 1 : -1;
  const all: FusionLeg[] = [
    {
      name: 'vector',
      weight: weights.vector,
      rids: ridsOf(legs.vector.hits),
      scores: legs.vector.hits.map(({ measure }) => sign * measure),
    },
  ];
  if (legs.fullText)
    all.push({
      name: 'fulltext',
      weight: weights.fulltext,
      rids: ridsOf(legs.fullText.hits),
      scores: legs.fullText.hits.map(({ measure }) => measure),
    });
  if (legs.expand)
    all.push({ name: 'expand', weight: weights.expand, rids: legs.expand.rids, scores: [] });
  return all.filter(({ rids }) => rids.length > 0);
}

/** The records of the results as JSON; those that only the expansion found are read now. */
async function recordsOf(
  call: ToolCall,
  database: string,
  { best, legs }: { readonly best: readonly Fused[]; readonly legs: Legs },
): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  for (const hit of [...legs.vector.hits, ...(legs.fullText?.hits ?? [])])
    known.set(hit.rid, hit.properties);
  const missing = best.map(({ rid }) => rid).filter((rid) => !known.has(rid));
  if (missing.length === 0) return known;
  const text = `SELECT @rid AS rid, @type AS type, 0 AS measure, @this AS record FROM [${missing.join(', ')}]`;
  const hits = await hitsOf(call, { database, text, rowCountMax: missing.length });
  for (const hit of hits) known.set(hit.rid, hit.properties);
  return known;
}
