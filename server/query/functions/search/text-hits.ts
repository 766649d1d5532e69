import type { IndexDefinition } from '#catalog/catalog.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { valueKey } from '#core/value/equality.ts';
import type { TypeId } from '#core/value/rid.ts';
import { isList, type Value, type ValueList } from '#core/value/value.ts';
import { type Matches, noMatches } from '#index/text/matches.ts';
import { moreLikeOptions, searchMoreLike } from '#index/text/more-like.ts';
import { type TextLimits, defaultTextLimits, searchText } from '#index/text/text-search.ts';
import { textSettings } from '#index/text/text-keys.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { pausingValue } from '../../evaluate/turns/long-calls.ts';
import { describe, listArgument, optionsArgument, refusal } from '../arguments.ts';
import { DatabaseError } from '#core/errors.ts';
import { ridIn } from './search-rows.ts';
import { indexNamed, requireKind } from './index-named.ts';

/** What one call searches for. */
export interface TextRequest {
  readonly index: IndexDefinition;
  /** Where words without a field are searched; undefined: in all fields of the index. */
  readonly fields: readonly string[] | undefined;
  /** Makes two requests of a statement the same one. */
  readonly key: string;
  readonly begin: (context: EvaluationContext, meter: WorkMeter) => PausingWork<Matches>;
}

/** Functions of the first name that search, with what they take first. */
export type SearchCall =
  | 'search_index'
  | 'search_fields'
  | 'search_index_more'
  | 'search_fields_more';

/** The request of a call for a record of the type. @throws DatabaseError for arguments it cannot take */
export function textRequest(
  call: SearchCall,
  args: readonly Value[],
  type: TypeId | undefined,
  context: EvaluationContext,
): TextRequest {
  const what = `${call}()`;
  const byFields = call === 'search_fields' || call === 'search_fields_more';
  if (args[0] === null || args[0] === undefined || args[1] === null || args[1] === undefined)
    throw refusal(`${what} does not take null`);
  const { index, fields } = byFields
    ? indexOfFields(args[0], type, what, context)
    : {
        index: indexNamed(context.view.catalog, args[0], 'FULL_TEXT', what).index,
        fields: undefined,
      };
  const isMore = call === 'search_index_more' || call === 'search_fields_more';
  return isMore
    ? moreRequest(index, fields, args, what)
    : queryRequest(index, fields, args[1], what);
}

function queryRequest(
  index: IndexDefinition,
  fields: readonly string[] | undefined,
  query: Value,
  what: string,
): TextRequest {
  if (typeof query !== 'string')
    throw refusal(`${what} requires a query as text, not ${describe(query)}`);
  return {
    index,
    fields,
    key: `${index.id} ${fields?.join() ?? ''} ${query}`,
    begin: (context, meter) =>
      searchText(context.view.index(index.id).entries, query, meter, {
        limits: limitsOf(context),
        ...(fields && { fields }),
      }),
  };
}

function moreRequest(
  index: IndexDefinition,
  fields: readonly string[] | undefined,
  args: readonly Value[],
  what: string,
): TextRequest {
  const rids = listArgument(args[1], what).map((item) => ridIn(item, what));
  if (rids.length === 0) throw refusal(`${what} requires at least one record id`);
  const given = args[2] ?? null;
  const options = moreLikeOptions(
    given === null ? new Map() : optionsArgument(given, what, moreOptionNames),
    what,
  );
  return {
    index,
    fields,
    key: `more ${index.id} ${fields?.join() ?? ''} ${rids.join()} ${String(valueKey(given))}`,
    begin: (context, meter) =>
      searchMoreLike(context.view.index(index.id).entries, rids, options, meter, fields),
  };
}

const moreOptionNames = [
  'minTermFreq',
  'minDocFreq',
  'maxDocFreqPercent',
  'maxQueryTerms',
  'minWordLen',
  'maxWordLen',
  'boostByScore',
  'excludeSource',
  'stopWords',
];

/** A full-text index of the type that has all the fields; the one with the fewest others. */
function indexOfFields(
  value: Value,
  type: TypeId | undefined,
  what: string,
  context: EvaluationContext,
): { readonly index: IndexDefinition; readonly fields: readonly string[] } {
  const names: ValueList = isList(value) ? value : [value];
  const fields = names.map((name) => {
    if (typeof name !== 'string')
      throw refusal(`${what} requires names of fields, not ${describe(name)}`);
    return name;
  });
  const { catalog } = context.view;
  const index = type === undefined ? undefined : fieldIndex(catalog, type, fields);
  if (fields.length === 0 || index === undefined)
    throw new DatabaseError('Schema', `No full-text index found for fields: ${fields.join(', ')}`);
  return { index: requireKind(index, 'FULL_TEXT', what), fields };
}

export function fieldIndex(
  catalog: EvaluationContext['view']['catalog'],
  type: TypeId,
  fields: readonly string[],
): IndexDefinition | undefined {
  const [best] = catalog
    .indexesOn(type)
    .filter((index) => index.kind === 'FULL_TEXT' && index.replaces === undefined)
    .filter((index) =>
      fields.every((field) => index.components.some(({ property }) => property === field)),
    )
    .sort((a, b) => a.components.length - b.components.length);
  return best;
}

/** All words of a text in one field (CONTAINSTEXT by an index). */
export function wordsRequest(index: IndexDefinition, field: string, text: string): TextRequest {
  const quoted = `"${text.replaceAll(/["\\]/gu, ' ')}"`;
  const hasWords = text.trim() !== '';
  return {
    index,
    fields: [field],
    key: `${index.id} ${field} ${quoted}`,
    begin: function* (context, meter) {
      if (!hasWords) return noMatches;
      const { entries } = context.view.index(index.id);
      return yield* searchText(entries, quoted, meter, { fields: [field] });
    },
  };
}

function limitsOf({ limits }: EvaluationContext): TextLimits {
  return {
    ...defaultTextLimits,
    clauseCountMax: limits.textClausesMax ?? defaultTextLimits.clauseCountMax,
    expandedTermsMax: limits.textTermsMax ?? defaultTextLimits.expandedTermsMax,
  };
}

export interface TextHits extends Matches {
  /** The highest score. */
  readonly scoreMax: number;
}

const hitsOfExecution = new WeakMap<object, Map<string, TextHits>>();

/** What the request finds; searched once in an execution, in turns where that can be. */
export function hitsOf(request: TextRequest, context: EvaluationContext): TextHits {
  const { regexBudget } = context;
  let known = hitsOfExecution.get(regexBudget);
  if (known === undefined) {
    known = new Map();
    hitsOfExecution.set(regexBudget, known);
  }
  const found = known.get(request.key);
  if (found !== undefined) return found;
  const matches = pausingValue(context, searchSite, (meter) => request.begin(context, meter));
  const hits = withMax(matches);
  known.set(request.key, hits);
  return hits;
}

/** As `hitsOf` for who works in turns itself. */
export function* hitsInTurns(
  request: TextRequest,
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<TextHits> {
  const known = hitsOfExecution.get(context.regexBudget)?.get(request.key);
  if (known !== undefined) return known;
  const hits = withMax(yield* request.begin(context, meter));
  const all = hitsOfExecution.get(context.regexBudget) ?? new Map<string, TextHits>();
  all.set(request.key, hits);
  hitsOfExecution.set(context.regexBudget, all);
  return hits;
}

const searchSite = {};

function withMax(matches: Matches): TextHits {
  let scoreMax = 0;
  for (let i = 0; i < matches.count; i += 1)
    if ((matches.scores[i] as number) > scoreMax) scoreMax = matches.scores[i] as number;
  return { ...matches, scoreMax };
}

/** Whether the index searches the fields that a text of settings names; for EXPLAIN and rules. */
export function isFieldOf(index: IndexDefinition, field: string): boolean {
  return textSettings(index).fields.some(({ name }) => name === field);
}
