import type { IndexDefinition } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../../../algebra/expression.ts';
import { conjunctsOf } from '../../../algebra/walk.ts';
import { nearestFunction, nearFunction } from '../../../functions/search/geo-functions.ts';
import { isFixed } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Predicates that hold only of shapes that share a point; `disjoint` and `dWithin` are none (sql-functions.md 7). */
const predicates: ReadonlySet<string> = new Set([
  'geo.within',
  'geo.contains',
  'geo.intersects',
  'geo.crosses',
  'geo.equals',
  'geo.overlaps',
  'geo.touches',
  '.iswithin',
  '.intersectswith',
]);

/** A geo predicate of an indexed property looks at what lies near the other shape; it stays, since cells are coarser. */
export const geoSearch: OptimizerRule = {
  name: 'geo-search',
  needs: ['Filter'],
  why: 'WHERE geo.within(place, :area) would compare every shape of the type',
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'TypeScan') return undefined;
    const scan = plan.input;
    if (scan.range !== undefined || scan.order === 'descending') return undefined;
    for (const conjunct of conjunctsOf(plan.predicate)) {
      const rids = nearSource(conjunct, scan.as, scan.types, context);
      if (rids === undefined) continue;
      const { as, types } = scan;
      return {
        ...plan,
        input: { op: 'RecordLookup', rids, as, types, isSet: true, areNumbers: true },
      };
    }
    return undefined;
  },
};

/** `ORDER BY geo.distance(place, :p) LIMIT k` looks at growing rings around the place. */
export const nearestPlaces: OptimizerRule = {
  name: 'nearest-places',
  needs: ['Sort'],
  why: 'the ten nearest places would be found by the distance of every record',
  apply(plan, context) {
    if (plan.op !== 'Sort' || plan.limit === undefined || plan.input.op !== 'TypeScan')
      return undefined;
    const scan = plan.input;
    const [key] = plan.keys;
    if (scan.range !== undefined || scan.order !== undefined || plan.keys.length !== 1)
      return undefined;
    if (key === undefined || key.descending !== false || key.value.op !== 'Call') return undefined;
    if (!/^(?:geo\.)?distance$/iu.test(key.value.function)) return undefined;
    const { arguments: args } = key.value;
    const [first, second, unit] = args;
    if (first === undefined || second === undefined) return undefined;
    // Another unit changes no order, an unknown one is an error.
    if (unit !== undefined && !(unit.op === 'Constant' && isUnit(unit.value))) return undefined;
    const [place, other] = isProperty(first, scan.as) ? [first, second] : [second, first];
    const index = indexOn(place, scan.as, scan.types, context);
    if (index === undefined || !isFixed(other, scan.as, context)) return undefined;
    const type = context.catalog.typeWithId(index.type);
    if (!holdsOnly(index, scan.types, context)) return undefined;
    const rids: Expression = {
      op: 'Call',
      function: nearestFunction,
      arguments: [plan.limit, constant(index.name), other, constant(type.name)],
    };
    return { op: 'RecordLookup', rids, as: scan.as, types: scan.types, areNumbers: true };
  },
};

function isUnit(value: unknown): boolean {
  return typeof value === 'string' && ['m', 'km', 'mi', 'nmi'].includes(value.toLowerCase());
}

function constant(value: string): Expression {
  return { op: 'Constant', value };
}

/** The ids of what lies near the other shape of a predicate; undefined: no index answers it. */
export function nearSource(
  conjunct: Expression,
  record: Slot,
  types: readonly TypeId[],
  context: OptimizerContext,
): Expression | undefined {
  const call = comparedWithTrue(conjunct);
  if (call.op !== 'Call' || !predicates.has(call.function.toLowerCase())) return undefined;
  const [place, other] = call.arguments;
  if (place === undefined || other === undefined || !isFixed(other, record, context))
    return undefined;
  const index = indexOn(place, record, types, context);
  return index && { op: 'Call', function: nearFunction, arguments: [constant(index.name), other] };
}

function comparedWithTrue(conjunct: Expression): Expression {
  if (conjunct.op !== 'Compare' || conjunct.operator !== '=') return conjunct;
  const { left, right } = conjunct;
  if (right.op === 'Constant' && right.value === true) return left;
  return left.op === 'Constant' && left.value === true ? right : conjunct;
}

function isProperty(expression: Expression, record: Slot): boolean {
  return (
    expression.op === 'Property' && expression.of.op === 'Slot' && expression.of.slot === record
  );
}

/** A geospatial index of the property that holds the records of all the types. */
function indexOn(
  place: Expression,
  record: Slot,
  types: readonly TypeId[],
  { catalog }: OptimizerContext,
): IndexDefinition | undefined {
  const [first] = types;
  if (place.op !== 'Property' || !isProperty(place, record) || first === undefined)
    return undefined;
  return catalog
    .indexesOn(first)
    .find(
      (index) =>
        index.kind === 'GEOSPATIAL' &&
        index.state === 'READY' &&
        index.components[0]?.property === place.name &&
        types.every((type) => catalog.isSubtype(type, index.type)),
    );
}

/** All records of the index are of these types, and no trigger hides one. */
function holdsOnly(
  index: IndexDefinition,
  types: readonly TypeId[],
  { catalog }: OptimizerContext,
): boolean {
  return catalog.withSubtypes(index.type).every((type) => {
    const hooks = catalog.definitions.hooks(type);
    const isWatched = hooks !== undefined && hooks.beforeRead.length + hooks.afterRead.length > 0;
    return !isWatched && types.includes(type);
  });
}
