import { isMap, isRecord, type EmbeddedDocument, type Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { ridOf } from '../record-identity.ts';
import type { RowOfValue } from './unwind.ts';

/**
 * SQL `expand()` (sql.md 7.9): each value becomes rows. Records and record ids give the record (a gone one gives nothing), maps
 * and embedded documents a row of their keys, lists one row per element, where scalars and null stand under
 * `scalarName`; a scalar or null that is no element gives nothing.
 */
export function expandedRow(as: Slot, scalarName: string): RowOfValue {
  return (value, place, { frame, view }) => {
    if (value === null && place !== 'element') return false;
    if (isRecord(value) || isMap(value)) {
      frame[as] = value;
      return true;
    }
    const tagged = typeof value === 'object' ? (value as EmbeddedDocument) : undefined;
    if (tagged?.valueKind === 'embedded') {
      frame[as] = new Map<string, Value>([
        ['@type', tagged.typeName],
        ['@cat', 'd'],
        ...tagged.properties,
      ]);
      return true;
    }
    // Text that looks like a record id is text here: a list of strings gives rows of strings.
    const rid = typeof value === 'string' ? undefined : ridOf(value);
    if (rid !== undefined) {
      const record = view.record(rid);
      if (record === undefined) return false;
      frame[as] = record;
      return true;
    }
    if (place === 'whole') return false;
    frame[as] = new Map([[scalarName, value]]);
    return true;
  };
}
