import type { Catalog } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, PlanNode } from '../../../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../../../algebra/walk.ts';
import {
  bestFunction,
  foundFunction,
  scoreFunction,
  searchCallNamed,
  wordsFunction,
} from '../../../functions/search/text-functions.ts';
import { fieldIndex } from '../../../functions/search/text-hits.ts';
import { isFixed } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** A full-text search in WHERE gives the records, instead of being asked about each record of the type. */
export const fullTextSearch: OptimizerRule = {
  name: 'full-text-search',
  needs: ['Filter'],
  why: "WHERE search_index('A[text]', 'word') would read the whole type",
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'TypeScan') return undefined;
    const scan = plan.input;
    if (scan.range !== undefined || scan.order === 'descending') return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    for (const conjunct of conjuncts) {
      const rids = textSource(conjunct, scan, context);
      if (rids === undefined) continue;
      const source: LogicalPlan = {
        op: 'RecordLookup',
        rids,
        as: scan.as,
        types: scan.types,
        isSet: true,
        areNumbers: true,
      };
      const predicate = conjunctionOf(conjuncts.filter((other) => other !== conjunct));
      return predicate === undefined ? source : { op: 'Filter', input: source, predicate };
    }
    return undefined;
  },
};

/** `ORDER BY $score DESC LIMIT k` takes the best of what was found and looks at no other record. */
export const bestScores: OptimizerRule = {
  name: 'best-scores',
  needs: ['Sort'],
  why: 'the ten best of a search would read all records that it finds',
  apply(plan, context) {
    if (plan.op !== 'Sort' || plan.limit === undefined) return undefined;
    // The score may be a column of the rows already.
    const project = plan.input.op === 'Project' ? plan.input : undefined;
    const source = project?.input ?? plan.input;
    if (source.op !== 'RecordLookup') return undefined;
    const { rids, as, types } = source;
    const [key] = plan.keys;
    if (plan.keys.length !== 1 || key === undefined || key.descending !== true) return undefined;
    if (rids.op !== 'Call' || rids.function !== foundFunction || types === undefined)
      return undefined;
    if (!isScoreOf(sortedValue(key.value, project), rids.arguments, as)) return undefined;
    // Every record that is found must be one of the rows.
    if (!holdsOnly(rids.arguments, types, context.catalog)) return undefined;
    const best: Expression = {
      op: 'Call',
      function: bestFunction,
      arguments: [plan.limit, ...rids.arguments],
    };
    const found: LogicalPlan = { op: 'RecordLookup', rids: best, as, types, areNumbers: true };
    return project === undefined ? found : { ...project, input: found };
  },
};

function sortedValue(key: Expression, project: PlanNode<'Project'> | undefined): Expression {
  if (key.op !== 'Slot') return key;
  return project?.columns.find(({ slot }) => slot === key.slot)?.value ?? key;
}

type Scan = Pick<PlanNode<'TypeScan'>, 'as' | 'types'>;

/** The ids that an index gives for a condition on the scanned record; undefined: none answers it. */
export function textSource(
  conjunct: Expression,
  scan: Scan,
  context: OptimizerContext,
): Expression | undefined {
  return searchSource(conjunct, scan, context) ?? wordsSource(conjunct, scan, context);
}

/** The ids that a `search_...()` of the scanned record finds. */
function searchSource(
  conjunct: Expression,
  scan: Scan,
  context: OptimizerContext,
): Expression | undefined {
  const search = comparedWithTrue(conjunct);
  if (search.op !== 'Call') return undefined;
  const call = searchCallNamed(search.function);
  const [record, ...args] = search.arguments;
  if (call === undefined || record?.op !== 'Slot' || record.slot !== scan.as) return undefined;
  if (!args.every((argument) => isFixed(argument, scan.as, context))) return undefined;
  const byFields = call === 'search_fields' || call === 'search_fields_more';
  // Subtypes may have an index of their own that the search would prefer.
  if (byFields && !haveOneIndex(args[0], scan.types, context.catalog)) return undefined;
  const [type] = scan.types;
  const typeName = type === undefined ? null : context.catalog.typeWithId(type).name;
  return {
    op: 'Call',
    function: foundFunction,
    arguments: [{ op: 'Constant', value: call }, { op: 'Constant', value: typeName }, ...args],
  };
}

function comparedWithTrue(conjunct: Expression): Expression {
  if (conjunct.op !== 'Compare' || conjunct.operator !== '=') return conjunct;
  const { left, right } = conjunct;
  if (right.op === 'Constant' && right.value === true) return left;
  return left.op === 'Constant' && left.value === true ? right : conjunct;
}

function haveOneIndex(
  fields: Expression | undefined,
  types: readonly TypeId[],
  catalog: Catalog,
): boolean {
  if (fields?.op !== 'Constant') return false;
  const value = Array.isArray(fields.value) ? fields.value : [fields.value];
  const names = value.map(String);
  const found = new Set(types.map((type) => fieldIndex(catalog, type, names)));
  return found.size === 1 && !found.has(undefined);
}

/** `property CONTAINSTEXT text` finds words where there is an index (sql.md 6.4). */
function wordsSource(
  conjunct: Expression,
  scan: Scan,
  context: OptimizerContext,
): Expression | undefined {
  if (conjunct.op !== 'Contains' || conjunct.kind !== 'text') return undefined;
  const { collection, value } = conjunct;
  if (collection.op !== 'Property' || collection.of.op !== 'Slot') return undefined;
  if (collection.of.slot !== scan.as || !isFixed(value, scan.as, context)) return undefined;
  const { catalog } = context;
  const found = new Set(scan.types.map((type) => fieldIndex(catalog, type, [collection.name])));
  const [index] = found;
  if (found.size !== 1 || index === undefined || index.state !== 'READY') return undefined;
  const constant = (name: string): Expression => ({ op: 'Constant', value: name });
  return {
    op: 'Call',
    function: wordsFunction,
    arguments: [constant(index.name), constant(collection.name), value],
  };
}

/** The score of the record in `record` by the search with these arguments. */
function isScoreOf(value: Expression, search: readonly Expression[], record: Slot): boolean {
  if (value.op !== 'Call' || value.function !== scoreFunction) return false;
  const [call, row, ...args] = value.arguments;
  const [wantedCall, , ...wanted] = search;
  return (
    row?.op === 'Slot' &&
    row.slot === record &&
    isSame(call, wantedCall) &&
    args.length === wanted.length &&
    args.every((argument, i) => isSame(argument, wanted[i]))
  );
}

function isSame(a: Expression | undefined, b: Expression | undefined): boolean {
  if (a === b) return true;
  if (a?.op === 'Constant' && b?.op === 'Constant') return a.value === b.value;
  return a?.op === 'Parameter' && b?.op === 'Parameter' && a.name === b.name;
}

/** All records of the index are of these types, and no trigger hides one. */
function holdsOnly(
  search: readonly Expression[],
  types: readonly TypeId[],
  catalog: Catalog,
): boolean {
  const [call, , name] = search;
  if (call?.op !== 'Constant' || name?.op !== 'Constant' || typeof name.value !== 'string')
    return false;
  const index = String(call.value).startsWith('search_index')
    ? catalog.indexNamed(name.value)
    : undefined;
  if (index === undefined) return false;
  return catalog.withSubtypes(index.type).every((type) => {
    const hooks = catalog.definitions.hooks(type);
    const isWatched = hooks !== undefined && hooks.beforeRead.length + hooks.afterRead.length > 0;
    return !isWatched && types.includes(type);
  });
}
