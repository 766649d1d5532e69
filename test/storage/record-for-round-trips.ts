import type { StoredRecord } from '#core/value/record.ts';
import { type LogIndex, noRid, type Rid, type TypeId } from '#core/value/rid.ts';

/** A record of nothing but an id. */
export function recordForRoundTrips(rid: Rid): StoredRecord {
  return {
    valueKind: 'record',
    kind: 'vertex',
    rid,
    type: 1 as TypeId,
    typeName: 'T',
    version: 1 as LogIndex,
    out: noRid,
    in: noRid,
    get: () => undefined,
    propertyNames: () => [],
  };
}
