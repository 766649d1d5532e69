import type { IndexSearchNode, LogicalPlan } from './plan.ts';

/** The scan of all records among which an index finds some, in the order in which they are to come. */
export function scanInPlaceOf(
  search: Pick<IndexSearchNode, 'types' | 'as' | 'ridOrder'>,
): LogicalPlan {
  const { types, as, ridOrder } = search;
  return { op: 'TypeScan', types, as, ...(ridOrder && { order: ridOrder }) };
}
