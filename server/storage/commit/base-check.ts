import { DatabaseError } from '#core/errors.ts';
import { formatRid, type Rid } from '#core/value/rid.ts';
import type { RowOperation } from '../format/row-operations.ts';
import type { RowRecord } from '../format/row-record.ts';

/**
 * What an entry was made from must be what stands here (ha.md 5.7): else this copy differs from the one that made it.
 * @param base version of the record; 0: there is none
 * @throws DatabaseError `CorruptedRecord`
 */
export function requireBase(
  operation: RowOperation,
  base: number,
  recordOf: (rid: Rid) => RowRecord | undefined,
): void {
  const { op } = operation;
  if (op !== 'put-row' && op !== 'patch-cells' && op !== 'delete-row') return;
  const version = recordOf(operation.rid)?.version ?? 0;
  if (version === base) return;
  throw new DatabaseError(
    'CorruptedRecord',
    `record ${formatRid(operation.rid)} has version ${version} in this copy, the log was written for version ${base}`,
  );
}
