import type { TriggerDefinition } from '#catalog/definitions.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type LogIndex, noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { Transaction } from '../transaction.ts';

/** The record that a trigger fires for. */
export interface TriggerSubject {
  /** As it is to be, or is; undefined before it is read. */
  readonly record: StoredRecord | undefined;
  /** Before an update: as it was. */
  readonly oldRecord: StoredRecord | undefined;
  readonly rid: Rid;
}

/** False: the trigger vetoes. Properties: as it left those of a record that is not yet written. */
export type TriggerVerdict = boolean | ValueMap;

/**
 * The run of the action of a trigger, inside the transaction; handed in from the floor of statements.
 * @throws DatabaseError whatever the action raises; `IllegalArgument` when triggers fire each other too deep
 */
export type TriggerRunner = (
  trigger: TriggerDefinition,
  subject: TriggerSubject,
  transaction: Transaction,
) => PausingWork<TriggerVerdict>;

/** What a write gives in place of a record that a trigger has vetoed: nothing was written (sql.md 14.1). */
export const vetoed: StoredRecord = Object.freeze({
  valueKind: 'record',
  kind: 'document',
  rid: noRid,
  type: 0 as TypeId,
  typeName: '',
  version: 0 as LogIndex,
  out: noRid,
  in: noRid,
  get: () => undefined,
  propertyNames: () => [],
});
