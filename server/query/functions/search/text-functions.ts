import { double, isRecord, type Value } from '#core/value/value.ts';
import { best, type Matches, placeOf } from '#index/text/matches.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { alias, longScalar, scalar } from '../define.ts';
import { refusal, ridArgument, textArgument } from '../arguments.ts';
import { indexNamed } from './index-named.ts';
import {
  hitsInTurns,
  hitsOf,
  type SearchCall,
  type TextHits,
  type TextRequest,
  textRequest,
  wordsRequest,
} from './text-hits.ts';

/**
 * Full-text search (sql-functions.md 6). The analyzer passes the current record first. A request is searched once for a
 * statement; then each record is looked up in what was found.
 */
const searches: readonly ScalarFunction[] = [
  search('search_index', "search_index('Type[fields]', query)", [3, 3]),
  search('search_fields', 'search_fields([fields], query)', [3, 3]),
  search('search_index_more', "search_index_more('Type[fields]', [rids] [, {options}])", [3, 4]),
  search('search_fields_more', 'search_fields_more([fields], [rids] [, {options}])', [3, 4]),
];

const fullNames: readonly (readonly [string, SearchCall])[] = [
  ['fulltext.searchIndex', 'search_index'],
  ['fulltext.searchFields', 'search_fields'],
  ['fulltext.searchIndexMore', 'search_index_more'],
  ['fulltext.searchFieldsMore', 'search_fields_more'],
];

/** The search that a function of this canonical name does. */
export function searchCallNamed(name: string): SearchCall | undefined {
  const lower = name.toLowerCase();
  const known = searches.find((own) => own.name === lower)?.name as SearchCall | undefined;
  return known ?? fullNames.find(([full]) => full.toLowerCase() === lower)?.[1];
}

/** Lower-case names of the functions that get the current record from the analyzer. */
export const textSearchNames: readonly string[] = [
  ...searches.map(({ name }) => name),
  ...fullNames.map(([name]) => name.toLowerCase()),
];

/** `$score` of one call: what the record scored, 0 when it was not found. */
export const scoreFunction = '#search_score';
export const similarityFunction = '#search_similarity';
/** Record ids that a call finds, by record id, as numbers: `(call, typeName, ...arguments)`. */
export const foundFunction = '#search_found';
/** The first `count` of them by score: `(count, call, typeName, ...arguments)`. */
export const bestFunction = '#search_best';
/** Record ids with all words of a text in a field, as numbers: `(indexName, field, text)`. */
export const wordsFunction = '#search_words';

export const textSearchFunctions: readonly ScalarFunction[] = [
  ...searches,
  ...fullNames.map(([name, of]) =>
    alias(name, searches.find((own) => own.name === of) as ScalarFunction),
  ),
  scoring(scoreFunction, (hits, at) => hits.scores[at] as number),
  scoring(similarityFunction, (hits, at) =>
    hits.scoreMax > 0 ? (hits.scores[at] as number) / hits.scoreMax : 0,
  ),
  longScalar(
    `${foundFunction}(call, type, ...)`,
    [4, 5],
    function* (args, context, meter): LongWork {
      const hits = yield* hitsInTurns(requestOf(args, 0, context), context, meter);
      return idsOf(hits);
    },
  ),
  longScalar(
    `${bestFunction}(count, call, type, ...)`,
    [5, 6],
    function* (args, context, meter): LongWork {
      // No number, or a negative one: LIMIT says what it means, all may be wanted.
      const wanted = typeof args[0] === 'number' ? args[0] : -1;
      const hits = yield* hitsInTurns(requestOf(args, 1, context), context, meter);
      return Array.from(
        best(hits, wanted < 0 ? hits.count : wanted),
        (at) => hits.rids[at] as number,
      );
    },
  ),
  longScalar(
    `${wordsFunction}(index, field, text)`,
    [3, 3],
    function* (args, context, meter): LongWork {
      const [name, field, text] = args;
      if (typeof text !== 'string') return [];
      const { index } = indexNamed(context.view.catalog, name, 'FULL_TEXT', 'CONTAINSTEXT');
      const request = wordsRequest(index, textArgument(field, 'CONTAINSTEXT'), text);
      return idsOf(yield* hitsInTurns(request, context, meter));
    },
  ),
];

/** For `RecordLookup` of numbers. */
function idsOf({ count, rids }: Matches): Value {
  const found: number[] = new Array(count);
  for (let i = 0; i < count; i += 1) found[i] = rids[i] as number;
  return found;
}

/** The request of `(call, typeName, ...arguments)` from `at` on. */
function requestOf(args: readonly Value[], at: number, context: EvaluationContext): TextRequest {
  const call = args[at] as SearchCall;
  const typeName = args[at + 1];
  const type = typeof typeName === 'string' ? context.view.catalog.typeNamed(typeName) : undefined;
  return textRequest(call, args.slice(at + 2), type?.id, context);
}

function search(
  call: SearchCall,
  syntax: string,
  count: readonly [number, number],
): ScalarFunction {
  const definition = scalar(syntax, count, (args, context) => {
    const hits = hitsFor(call, args, 0, context);
    const rid = ridArgument(args[0] ?? null);
    return rid !== undefined && hits !== undefined && placeOf(hits, rid) >= 0;
  });
  return { ...definition, worksInTurns: true, takesRecord: true };
}

/** Arguments: the call, the record, and what the call was given. */
function scoring(name: string, value: (hits: TextHits, at: number) => number): ScalarFunction {
  const definition = scalar(`${name}(call, record, ...)`, [4, 5], (args, context) => {
    const hits = hitsFor(args[0] as SearchCall, args, 1, context);
    const rid = ridArgument(args[1] ?? null);
    const at = rid === undefined || hits === undefined ? -1 : placeOf(hits, rid);
    return double(at < 0 || hits === undefined ? 0 : value(hits, at));
  });
  return { ...definition, worksInTurns: true };
}

/** What the call finds for the record at `at`. */
function hitsFor(
  call: SearchCall,
  args: readonly Value[],
  at: number,
  context: EvaluationContext,
): TextHits | undefined {
  const row = args[at] ?? null;
  const byFields = call === 'search_fields' || call === 'search_fields_more';
  if (byFields && !isRecord(row)) {
    if (row === null) throw refusal(`${call}() needs a record`);
    return undefined;
  }
  const type = isRecord(row) ? row.type : undefined;
  return hitsOf(textRequest(call, args.slice(at + 1), type, context), context);
}
