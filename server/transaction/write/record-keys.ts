import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import type { IndexKeys } from '#index/ordered/index-keys.ts';
import type { KeyHolders, UniqueClaims } from './unique-claims.ts';
import type { WriteRules } from './write-rules.ts';

// The keys of one record as it is written: those that an index refuses, and those that nobody else may have.

/** A record before a write of the transaction and after it. */
export interface WrittenKeys {
  readonly rid: Rid;
  readonly before: StoredRecord | undefined;
  readonly after: StoredRecord;
}

/** Who claims keys for a transaction. */
export interface KeyClaimer extends KeyHolders {
  readonly claims: UniqueClaims;
  /** Whether the transaction has changed the record before. */
  hasChanged(rid: Rid): boolean;
}

/**
 * Checks and claims the keys of a record that is new or stays of its type.
 * @returns whether some were claimed
 * @throws DatabaseError `DuplicatedKey`, and what an index refuses; nothing is claimed then
 */
export function claimKeys(rules: WriteRules, written: WrittenKeys, claimer: KeyClaimer): boolean {
  const { rid, before, after } = written;
  for (const keys of rules.refusing) keys.requireAllowed(after);
  for (const keys of rules.longKeyed) keys.keysOf(after);
  if (rules.uniqueIndexes.length === 0) return false;
  try {
    for (const keys of rules.uniqueIndexes)
      claimer.claims.claim(keys, rid, { before, after }, claimer);
  } catch (error) {
    takeBack(rules, written, claimer);
    throw error;
  }
  return true;
}

/** A key of the record was taken: its other keys must be free again, since the transaction may go on without it. */
function takeBack(
  rules: WriteRules,
  { rid, before, after }: WrittenKeys,
  claimer: KeyClaimer,
): void {
  const isChanged = claimer.hasChanged(rid);
  for (const keys of rules.uniqueIndexes) {
    claimer.claims.release(keys, rid, after);
    if (before === undefined || !isChanged) continue;
    claimer.claims.claim(keys, rid, { before: undefined, after: before }, claimer);
  }
}

/**
 * As `claimKeys` for a record that changes its type: its keys in indexes of the former type alone are free, those in indexes of
 * the new one alone are claimed.
 */
export function claimRetyped(
  former: WriteRules,
  rules: WriteRules,
  { rid, before, after }: WrittenKeys,
  claimer: KeyClaimer,
): void {
  for (const keys of rules.refusing) keys.requireAllowed(after);
  for (const keys of rules.longKeyed) keys.keysOf(after);
  const claimed: IndexKeys[] = [];
  try {
    for (const keys of rules.uniqueIndexes) {
      const wasIn = holds(former, keys);
      if (!wasIn) claimed.push(keys);
      claimer.claims.claim(keys, rid, { before: wasIn ? before : undefined, after }, claimer);
    }
  } catch (error) {
    for (const keys of claimed) claimer.claims.release(keys, rid, after);
    throw error;
  }
  if (before === undefined) return;
  for (const keys of former.uniqueIndexes)
    if (!holds(rules, keys)) claimer.claims.release(keys, rid, before);
}

function holds({ uniqueIndexes }: WriteRules, { definition }: IndexKeys): boolean {
  return uniqueIndexes.some((keys) => keys.definition.id === definition.id);
}
