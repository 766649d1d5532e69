import {
  type LabelChange,
  MissingTypes,
  missingForLabels,
  relabelled,
  typeOfLabels,
} from '#catalog/labels.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { bucketOf, type Rid } from '#core/value/rid.ts';
import type { Transaction } from '../transaction.ts';
import { recordNotFound } from './record-writer.ts';

/** The vertex afterwards, and how many labels it gained or lost. */
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
  const { catalog } = transaction;
  const { labels, count } = relabelled(catalog, current.type, change);
  if (count === 0) return { record: current, count };
  const missing = missingForLabels(catalog, labels, bucketOf(rid));
  const type = typeOfLabels(catalog, labels);
  if (missing.length > 0 || type === undefined) throw new MissingTypes(missing);
  return { record: transaction.setType(rid, type.id), count };
}
