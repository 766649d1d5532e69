import { DatabaseError, errorSpecs } from '#core/errors.ts';
import type { BulkWriter } from '#storage/bulk/writer.ts';

/** Conflicts that pass, found before anything was handed to storage. */
export function isWorthRetrying(error: unknown, writer: BulkWriter): boolean {
  if (!(error instanceof DatabaseError) || writer.pendingBytes === 0) return false;
  const isDefinite = error.code === 'DuplicatedKey' || error.code === 'ConcurrentModification';
  return !isDefinite && errorSpecs[error.code].retry !== 'never';
}
