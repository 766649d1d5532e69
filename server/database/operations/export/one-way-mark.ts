import type { TypeDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { TargetLists } from '#transaction/write/target-lists.ts';

/**
 * The property of an edge, in formats that carry no schema, which says that only its source lists it (http-api.md 10.2,
 * `bidirectional=false`): false then, and absent otherwise. Names with `@` are no user's.
 */
export const bidirectionalMark = '@bidirectional';

/** Whether an edge is to be marked: by its type, or since it was loaded so. */
export function isOneWay(
  record: StoredRecord,
  type: TypeDefinition,
  targets: TargetLists,
): boolean {
  return record.kind === 'edge' && (!type.bidirectional || targets.isOneWay(record, type));
}
