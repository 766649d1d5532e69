import type { Catalog } from '#catalog/catalog.ts';
import type { Expression } from '../algebra/expression.ts';
import type { IndexSearchNode, LogicalPlan } from '../algebra/plan.ts';
import { scanInPlaceOf } from '../algebra/scan-in-place.ts';

/** What an index search stands for, written as scan and filter. */
export function fallbackScan(
  search: Pick<IndexSearchNode, 'types' | 'as' | 'covers' | 'ridOrder'>,
): LogicalPlan {
  const scan = scanInPlaceOf(search);
  return search.covers ? { op: 'Filter', input: scan, predicate: search.covers } : scan;
}

/** The records of a search that its index skips since `property`, the last component, is null in them. */
export function scanOfNulls(search: IndexSearchNode, property: string): LogicalPlan {
  const operand: Expression = {
    op: 'Property',
    of: { op: 'Slot', slot: search.as },
    name: property,
    dialect: 'sql',
  };
  return { op: 'Filter', input: fallbackScan(search), predicate: { op: 'IsNull', operand } };
}

/**
 * What an ordered index search stands for, written as scan, filter and sort: used when the index cannot serve it at run time.
 */
export function fallbackSort(search: IndexSearchNode, catalog: Catalog): LogicalPlan {
  const definition = catalog.indexWithId(search.index);
  const record: Expression = { op: 'Slot', slot: search.as };
  return {
    op: 'Sort',
    input: fallbackScan(search),
    keys: definition.components.slice(search.bounds.equals.length).map((component) => ({
      value: { op: 'Property', of: record, name: component.property, dialect: 'sql' },
      descending: search.order === 'descending',
    })),
    ...(search.limit && { limit: search.limit }),
  };
}
