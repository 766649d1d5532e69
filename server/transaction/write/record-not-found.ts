import { DatabaseError } from '#core/errors.ts';
import { formatRid, noRid, type Rid } from '#core/value/rid.ts';

/** http-api.md 3.2: 404. */
export function recordNotFound(rid: Rid): DatabaseError {
  const shown = rid === noRid ? '#-1:-1' : formatRid(rid);
  return new DatabaseError('RecordNotFound', `Record ${shown} not found`);
}
