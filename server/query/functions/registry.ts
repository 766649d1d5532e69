import { foldAscii } from '#core/text/case-folding.ts';
import type {
  AggregateFunction,
  FunctionRegistry,
  ScalarFunction,
} from '../evaluate/function-definition.ts';
import { collectingAggregates } from './aggregates/collecting.ts';
import { logicalAggregates } from './aggregates/logical.ts';
import { numericAggregates } from './aggregates/numeric.ts';
import { scalarForms } from './aggregates/scalar-forms.ts';
import { timeSeriesAggregates } from './aggregates/time-series.ts';
import { vectorAggregates } from './aggregates/vectors.ts';
import { collectionFunctions, collectionMethods } from './list/collections.ts';
import { conditionalFunctions, conditionalMethods } from './value/conditional.ts';
import { conversionMethods } from './value/conversion.ts';
import { cypherAggregates } from './cypher/aggregates.ts';
import { cypherConversions } from './cypher/conversions.ts';
import { cypherGeneral } from './cypher/general.ts';
import { cypherNumbers } from './cypher/numbers.ts';
import { cypherTexts } from './cypher/texts.ts';
import { cypherTypeTest } from './cypher/type-test.ts';
import { cypherVectors } from './cypher/vectors.ts';
import { entityFunctions } from './cypher/entities.ts';
import { formatting } from './cypher/formatting.ts';
import { listFunctions } from './cypher/lists.ts';
import { pathParts } from './cypher/path-parts.ts';
import { virtualRecords } from './cypher/virtual-records.ts';
import { walkedPaths } from './cypher/walked-paths.ts';
import { rowCountFunctions } from './cypher/row-count.ts';
import { instantsFunctions } from './instants/functions.ts';
import { pointFunctions } from './instants/points.ts';
import { encodingFunctions, encodingMethods } from './text/encoding.ts';
import { selectionMethods } from './graph/field-selection.ts';
import { alias } from './define.ts';
import { geoFunctions, geoMethods } from './geo/functions.ts';
import { graphFunctions, graphMethods } from './graph/graph.ts';
import { mathLibrary } from './number/math-library.ts';
import { mathFunctions } from './number/math.ts';
import { collFunctions } from './namespaced/collections.ts';
import { convertFunctions } from './namespaced/convert.ts';
import { namespacedDateFunctions } from './namespaced/date.ts';
import { graphHelpers } from './namespaced/graph-helpers.ts';
import { listStatistics } from './namespaced/list-statistics.ts';
import { mapFunctions } from './namespaced/maps.ts';
import { namespacedMathFunctions } from './namespaced/math.ts';
import { textFunctions } from './namespaced/text.ts';
import { utilityFunctions } from './namespaced/utilities.ts';
import { notYetFunctions } from './not-yet.ts';
import { pathFunctions } from './paths/functions.ts';
import { geoSearchFunctions } from './search/geo-functions.ts';
import { sparseSearchFunctions } from './search/sparse-functions.ts';
import { textSearchFunctions } from './search/text-functions.ts';
import { vectorSearchFunctions } from './search/vector-functions.ts';
import { closestName } from './text/spelling.ts';
import { temporalFunctions, temporalMethods } from './temporal/temporal.ts';
import { textMethods } from './text/text.ts';
import { timeBucketFunctions } from './temporal/time-bucket.ts';
import { transformMethod } from './list/transform.ts';
import { userFunctions } from './user-function.ts';
import { typeMethods } from './value/type-of.ts';
import { vectorFunctions, vectorMethods } from './vector/functions.ts';
import { rankingFunctions } from './vector/ranking.ts';
import { scoreFunctions } from './vector/scores.ts';

/** One row of the documentation of functions; methods are listed without the leading dot. */
export interface FunctionDocumentation {
  readonly name: string;
  readonly syntax: string;
  readonly kind: 'function' | 'aggregate' | 'method';
  readonly isDeterministic: boolean;
}

const scalars = new Map<string, ScalarFunction>();
const aggregates = new Map<string, AggregateFunction>();

for (const family of [
  numericAggregates,
  collectingAggregates,
  logicalAggregates,
  timeSeriesAggregates,
  vectorAggregates,
]) {
  for (const definition of family) {
    aggregates.set(foldAscii(definition.name), definition);
    const joined = withoutDot(definition.name);
    if (joined) aggregates.set(foldAscii(joined), alias(joined, definition));
  }
}

register(scalarForms([...aggregates.values()]));
for (const definition of cypherAggregates) aggregates.set(foldAscii(definition.name), definition);
for (const family of [
  userFunctions,
  mathFunctions,
  mathLibrary,
  conditionalFunctions,
  conditionalMethods,
  encodingFunctions,
  encodingMethods,
  collectionFunctions,
  collectionMethods,
  selectionMethods,
  conversionMethods,
  textMethods,
  temporalFunctions,
  temporalMethods,
  typeMethods,
  graphFunctions,
  graphMethods,
  pathFunctions,
  timeBucketFunctions,
  geoFunctions,
  geoMethods,
  vectorFunctions,
  scoreFunctions,
  rankingFunctions,
  textSearchFunctions,
  vectorSearchFunctions,
  sparseSearchFunctions,
  geoSearchFunctions,
  vectorMethods,
  textFunctions,
  namespacedMathFunctions,
  namespacedDateFunctions,
  convertFunctions,
  collFunctions,
  mapFunctions,
  listStatistics,
  utilityFunctions,
  graphHelpers,
  rowCountFunctions,
  instantsFunctions,
  pointFunctions,
  cypherTexts,
  cypherNumbers,
  cypherConversions,
  cypherGeneral,
  cypherVectors,
  cypherTypeTest,
  entityFunctions,
  formatting,
  pathParts,
  walkedPaths,
  virtualRecords,
  listFunctions,
  notYetFunctions,
  [transformMethod((name) => scalars.get(`.${foldAscii(name)}`))],
])
  register(family);

function register(definitions: readonly ScalarFunction[]): void {
  for (const definition of definitions) {
    scalars.set(foldAscii(definition.name), definition);
    const joined = withoutDot(definition.name);
    if (joined) scalars.set(foldAscii(joined), alias(joined, definition));
  }
}

/** Every `vector.x` is also called `vectorX` (sql-functions.md 8). */
function withoutDot(name: string): string | undefined {
  if (!name.startsWith('vector.')) return undefined;
  const rest = name.slice('vector.'.length);
  return `vector${rest.charAt(0).toUpperCase()}${rest.slice(1)}`;
}

/** Namespaced names may carry this prefix (sql-functions.md 0.1). */
const optionalPrefix = 'apoc.';

function keyOf(name: string): string {
  const key = foldAscii(name);
  return key.startsWith(optionalPrefix) ? key.slice(optionalPrefix.length) : key;
}

/** All built-in functions, aggregates and methods. Shared: definitions have no state. */
export const functionRegistry: FunctionRegistry = {
  scalar: (name) => scalars.get(keyOf(name)),
  aggregate: (name) => aggregates.get(keyOf(name)),
  suggest: (name) => closestName(keyOf(name), knownNames()),
};

/** What only analyzers call. */
function isInternal(name: string): boolean {
  return name.startsWith('#');
}

/** Canonical names; of methods with the leading dot. A `sum` of two arguments and of rows is one name. */
function knownNames(): readonly string[] {
  const names = [...scalars.values(), ...aggregates.values()].map(({ name }) => name);
  return [...new Set(names)].filter((name) => !isInternal(name));
}

const cypherPrefix = '#cypher.';

/** openCypher has a function of this name that is its own. */
function isOwn(name: string): boolean {
  return scalars.has(foldAscii(`${cypherPrefix}${name}`));
}

/** Everything that is registered, sorted by kind and name, for documentation and its tests. */
export function documentedFunctions(
  language: 'sql' | 'cypher' = 'sql',
): readonly FunctionDocumentation[] {
  const rows: FunctionDocumentation[] = [];
  for (const { name, syntax, isDeterministic } of scalars.values()) {
    if (isInternal(name)) {
      if (language === 'sql' || !name.startsWith(cypherPrefix)) continue;
      const own = (text: string) => text.replace(cypherPrefix, '');
      rows.push({ name: own(name), syntax: own(syntax), kind: 'function', isDeterministic });
      continue;
    }
    if (language === 'cypher' && (name.startsWith('.') || isOwn(name))) continue;
    const isMethod = name.startsWith('.');
    rows.push({
      name: isMethod ? name.slice(1) : name,
      syntax: isMethod && syntax.startsWith('.') ? syntax.slice(1) : syntax,
      kind: isMethod ? 'method' : 'function',
      isDeterministic,
    });
  }
  for (const { name, syntax } of aggregates.values())
    if (!isInternal(name)) rows.push({ name, syntax, kind: 'aggregate', isDeterministic: true });
  const order = (row: FunctionDocumentation) => `${row.kind} ${row.name.toLowerCase()}`;
  return rows.sort((a, b) => (order(a) < order(b) ? -1 : 1));
}
