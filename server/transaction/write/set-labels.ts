import {
  type LabelChange,
  MissingTypes,
  missingForLabels,
  relabelled,
  typeOfLabels,
} from '#catalog/labels.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { bucketOf, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Transaction } from '../transaction.ts';
import { vetoed } from '../trigger/trigger-runner.ts';
import { recordNotFound } from './record-not-found.ts';

/** The vertex afterwards, and how many labels it gained or lost; none when a trigger vetoed. */
export interface LabelsSet {
  readonly record: StoredRecord;
  readonly count: number;
}

/**
 * Adds labels to a vertex or removes them (cypher.md 1.1): it becomes one of another type, where it is.
 * @throws DatabaseError `MissingTypes` with what must be made before, and nothing was done then; and as `Transaction.setType`
 */
export function setLabels(transaction: Transaction, rid: Rid, change: LabelChange): LabelsSet {
  const current = transaction.record(rid);
  if (current === undefined) throw recordNotFound(rid);
  const { type, count } = typeAfter(transaction, current, change);
  const record = count === 0 ? current : transaction.setType(rid, type);
  return record === vetoed ? { record: current, count: 0 } : { record, count };
}

/** What `setLabels` makes of a vertex, and how many labels it gains or loses. @throws as `setLabels` */
export function typeAfter(
  { catalog }: Pick<Transaction, 'catalog'>,
  current: StoredRecord,
  change: LabelChange,
): { readonly type: TypeId; readonly count: number } {
  const { labels, count } = relabelled(catalog, current.type, change);
  if (count === 0) return { type: current.type, count };
  const missing = missingForLabels(catalog, labels, bucketOf(current.rid));
  const type = typeOfLabels(catalog, labels);
  if (missing.length > 0 || type === undefined) throw new MissingTypes(missing);
  return { type: type.id, count };
}
