import { DatabaseError } from '#core/errors.ts';
import type { IndexDefinition, PropertyTypeName } from '#catalog/catalog.ts';
import type {
  IndexBounds,
  IndexSearchNode,
  LogicalPlan,
  PlanNode,
  RidRange,
} from '../algebra/plan.ts';
import { ArgumentOperator } from '../operators/flow/argument.ts';
import { FindReferencesOperator } from '../operators/scan/find-references.ts';
import { DynamicSourceOperator } from '../operators/scan/dynamic-source.ts';
import type { CompiledBounds } from '../operators/index-read/index-bounds.ts';
import { IndexEntriesOperator } from '../operators/index-read/index-entries.ts';
import type { KeyComponent } from '../operators/index-read/index-key.ts';
import {
  IndexSearchOperator,
  type IndexSearchOptions,
} from '../operators/index-read/index-search.ts';
import { OrderedIndexSearchOperator } from '../operators/index-read/ordered-index-search.ts';
import { RecordCountOperator } from '../operators/scan/record-count.ts';
import { RecordLookupOperator } from '../operators/scan/record-lookup.ts';
import { SchemaScanOperator } from '../operators/scan/schema-scan.ts';
import { pathThrough, type ScanPath } from '../operators/scan/scan-path.ts';
import { RecordScanOperator, type CompiledRidRange } from '../operators/scan/type-scan.ts';
import {
  bucketsOf,
  compileValue,
  descriptionOf,
  loweredOnDemand,
  optionalFilter,
  type Lowering,
  type OperatorFactory,
} from './lowering.ts';
import { rowsInTurnOf } from './row-work.ts';
import { fallbackScan, fallbackSort, scanOfNulls } from './fallback.ts';

export type SourceOp =
  | 'Argument'
  | 'TypeScan'
  | 'BucketScan'
  | 'RecordLookup'
  | 'DynamicSource'
  | 'IndexSearch'
  | 'IndexUnion'
  | 'RecordCount'
  | 'IndexEntries'
  | 'SchemaScan'
  | 'FindReferences';

/** Operators for the nodes without inputs. */
export function lowerSource(plan: PlanNode<SourceOp>, lowering: Lowering): OperatorFactory {
  const description = descriptionOf(lowering, plan);
  const { catalog } = lowering;
  switch (plan.op) {
    case 'Argument':
      return () => new ArgumentOperator();
    case 'TypeScan':
    case 'BucketScan':
      return lowerScan(plan, lowering);
    case 'RecordLookup': {
      const rids = compileValue(lowering, plan.rids);
      const { as, types, isSet, areNumbers = false } = plan;
      const scanOrder = isSet ? bucketsOf(catalog, types ?? []) : undefined;
      const options = { rids, as, types, scanOrder, areNumbers, description };
      return () => new RecordLookupOperator(options);
    }
    case 'DynamicSource': {
      const value = compileValue(lowering, plan.value);
      const { as } = plan;
      const names = plan.names ?? 'type';
      // A client's maps are no rows (sql.md 7.3).
      const takesMaps = plan.value.op !== 'Parameter';
      return () => new DynamicSourceOperator({ value, as, names, takesMaps, description });
    }
    case 'IndexSearch':
      return plan.order ? lowerOrderedSearch(plan, lowering) : lowerSearch(plan, lowering);
    case 'IndexUnion': {
      const searches = plan.searches.map((search) => ({
        index: search.index,
        bounds: compileBounds(search.index, search.bounds, lowering),
        isWhole: search.covers !== undefined,
        needsEveryRecord: search.needsEveryRecord ?? false,
      }));
      const covers = optionalFilter(lowering, plan.covers);
      const { buckets, isByRid } = searchPath(plan, lowering);
      const { as } = plan;
      const fallback = loweredOnDemand(() => lowering.lower(fallbackScan(plan), new Set([as])));
      const givesBareIds = false;
      const rowsPerTurn = rowsInTurnOf(plan);
      const options = { searches, buckets, isByRid, as, givesBareIds, covers, rowsPerTurn };
      return () => new IndexSearchOperator({ ...options, description, fallback });
    }
    case 'RecordCount': {
      const buckets = plan.buckets ?? bucketsOf(catalog, plan.types);
      const { as } = plan;
      return () => new RecordCountOperator(buckets, as, description);
    }
    case 'IndexEntries': {
      const { index, order, as } = plan;
      const bounds = plan.bounds && compileBounds(index, plan.bounds, lowering);
      return () => new IndexEntriesOperator({ index, order, as, bounds, description });
    }
    case 'FindReferences': {
      const { buckets, target, referrer, fields } = plan;
      const targets = compileValue(lowering, plan.targets);
      const options = { targets, buckets, target, referrer, fields, description };
      return () => new FindReferencesOperator(options);
    }
    default: {
      const { kind, name, as } = plan;
      return () => new SchemaScanOperator(kind, name, as);
    }
  }
}

/** What a scan goes through, and how. */
export function scanPath(
  plan: PlanNode<'TypeScan' | 'BucketScan'>,
  { catalog }: Pick<Lowering, 'catalog'>,
): ScanPath {
  const buckets = plan.op === 'TypeScan' ? bucketsOf(catalog, plan.types) : plan.buckets;
  return pathThrough(buckets, plan.order);
}

function lowerScan(plan: PlanNode<'TypeScan' | 'BucketScan'>, lowering: Lowering): OperatorFactory {
  const options = {
    path: scanPath(plan, lowering),
    as: plan.as,
    range: plan.range && compileRange(plan.range, lowering),
    description: descriptionOf(lowering, plan),
  };
  return () => new RecordScanOperator(options);
}

function compileRange(range: RidRange, lowering: Lowering): CompiledRidRange {
  const { low, high } = range;
  return {
    low: low && { value: compileValue(lowering, low.value), inclusive: low.inclusive },
    high: high && { value: compileValue(lowering, high.value), inclusive: high.inclusive },
  };
}

/** The buckets whose records a search may find, in their order in it. */
function searchPath(
  { types, ridOrder }: Pick<IndexSearchNode, 'types' | 'ridOrder'>,
  { catalog }: Lowering,
): Pick<IndexSearchOptions, 'buckets' | 'isByRid'> {
  const { buckets } = pathThrough(bucketsOf(catalog, types), ridOrder);
  return { buckets, isByRid: ridOrder !== undefined };
}

function lowerSearch(plan: IndexSearchNode, lowering: Lowering): OperatorFactory {
  const options = {
    searches: [
      {
        index: plan.index,
        bounds: compileBounds(plan.index, plan.bounds, lowering),
        isWhole: true,
        needsEveryRecord: plan.needsEveryRecord ?? false,
      },
    ],
    ...searchPath(plan, lowering),
    as: plan.as,
    givesBareIds: lowering.bareIds.has(plan.as),
    covers: optionalFilter(lowering, plan.covers),
    rowsPerTurn: rowsInTurnOf(plan),
    description: descriptionOf(lowering, plan),
  };
  const fallback =
    plan.covers && loweredOnDemand(() => lowering.lower(fallbackScan(plan), new Set([plan.as])));
  return () => new IndexSearchOperator({ ...options, fallback });
}

function lowerOrderedSearch(plan: IndexSearchNode, lowering: Lowering): OperatorFactory {
  const { index, order = 'ascending', as } = plan;
  const fallback = loweredOnDemand(() =>
    lowering.lower(fallbackSort(plan, lowering.catalog), new Set([as])),
  );
  const { bounds } = plan;
  const definition = lowering.catalog.indexWithId(index);
  const openCount = definition.components.length - bounds.equals.length;
  const hasRange = (bounds.low ?? bounds.high ?? bounds.prefix) !== undefined;
  const skipsNulls =
    definition.nullStrategy === 'INDEX' ||
    plan.skipsNulls === true ||
    (hasRange && openCount === 1);
  const last = definition.components.at(-1);
  const comesLast = order === 'descending' && openCount === 1 && last?.by === 'value';
  const rest =
    !skipsNulls && comesLast
      ? loweredOnDemand(() => lowering.lower(scanOfNulls(plan, last.property), new Set([as])))
      : undefined;
  const options = {
    index,
    bounds: compileBounds(index, bounds, lowering),
    buckets: bucketsOf(lowering.catalog, plan.types),
    as,
    order,
    covers: optionalFilter(lowering, plan.covers),
    coversMore: plan.skipsNulls === true,
    // A range on the last component leaves out nulls by itself.
    needsEveryRecord: !skipsNulls && rest === undefined,
    rest,
    description: descriptionOf(lowering, plan),
  };
  return () => new OrderedIndexSearchOperator({ ...options, fallback });
}

function compileBounds(
  index: IndexSearchNode['index'],
  bounds: IndexBounds,
  lowering: Lowering,
): CompiledBounds {
  const definition = lowering.catalog.indexWithId(index);
  const bound = (part: IndexBounds['low']): CompiledBounds['low'] =>
    part && {
      value: compileValue(lowering, part.value),
      inclusive: part.inclusive,
      isFlipped: part.isFlipped ?? false,
      isOfCypher: false,
    };
  return {
    components: definition.components.map((_, at) => componentOf(definition, at, lowering)),
    isUnique: definition.unique,
    holdsNulls: definition.nullStrategy === 'INDEX',
    equals: bounds.equals.map((part) => ({
      value: compileValue(lowering, part.value),
      kind: part.kind,
      isFlipped: part.isFlipped ?? false,
      findsMore: part.findsMore ?? false,
      isOfCypher: part.dialect === 'cypher',
    })),
    low: bound(bounds.low),
    high: bound(bounds.high),
    prefix: bounds.prefix && compileValue(lowering, bounds.prefix),
    prefixIsPattern: bounds.prefixIsPattern,
  };
}

/** The declared type of what one component of an index holds. */
export function componentOf(
  definition: IndexDefinition,
  at: number,
  lowering: Pick<Lowering, 'catalog'>,
): KeyComponent {
  const component = definition.components[at];
  if (component === undefined)
    throw new DatabaseError('Internal', `index '${definition.name}' has no component ${at}`);
  const { caseInsensitive, property: name, by } = component;
  if (name === '@out' || name === '@in') return { type: 'LINK', caseInsensitive: false };
  const property = lowering.catalog.property(definition.type, name);
  const type = property?.type === 'ANY' ? undefined : property?.type;
  if (by === 'value') return { type, caseInsensitive };
  if (by === 'mapKey') return { type: 'STRING', caseInsensitive };
  return { type: elementType(property?.ofType), caseInsensitive };
}

const elementTypes: ReadonlySet<string> = new Set<PropertyTypeName>([
  'BOOLEAN',
  'INTEGER',
  'SHORT',
  'LONG',
  'FLOAT',
  'DOUBLE',
  'DATETIME',
  'STRING',
  'LINK',
  'BYTE',
  'DATE',
  'DECIMAL',
]);

function elementType(ofType: string | undefined): PropertyTypeName | undefined {
  const name = ofType?.toUpperCase();
  return name !== undefined && elementTypes.has(name) ? (name as PropertyTypeName) : undefined;
}

export function isSource(plan: LogicalPlan): plan is PlanNode<SourceOp> {
  return sourceOps.has(plan.op);
}

const sourceOps: ReadonlySet<string> = new Set<SourceOp>([
  'Argument',
  'TypeScan',
  'BucketScan',
  'RecordLookup',
  'DynamicSource',
  'IndexSearch',
  'IndexUnion',
  'RecordCount',
  'IndexEntries',
  'SchemaScan',
  'FindReferences',
]);
