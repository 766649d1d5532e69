import { formatRid, isRidShaped, noRid, parseRid, type Rid } from '#core/value/rid.ts';
import { isMap, type Value } from '#core/value/value.ts';

/**
 * The record that a value stands for: a record, a link, RID-shaped text, or a row map with a record id under `@rid`.
 * @returns undefined for anything else
 */
export function ridOf(value: Value | undefined): Rid | undefined {
  if (typeof value === 'string') return isRidShaped(value) ? parseRid(value) : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (isMap(value)) {
    const rid = value.get('@rid');
    return rid === undefined ? undefined : ridOf(rid);
  }
  const tagged = value as { readonly valueKind?: string; readonly rid?: Rid };
  return tagged.valueKind === 'record' || tagged.valueKind === 'link' ? tagged.rid : undefined;
}

/** For messages: the record id of records and links, the text of scalars, the kind of the rest. */
export function describeValue(value: Value): string {
  const rid = typeof value === 'string' ? undefined : ridOf(value);
  if (rid !== undefined && rid !== noRid) return formatRid(rid);
  if (value === null || typeof value !== 'object') {
    const text = String(value);
    return text.length > 100 ? `${text.slice(0, 100)}…` : text;
  }
  if (Array.isArray(value)) return 'a list';
  return isMap(value) ? 'a map' : ((value as { valueKind?: string }).valueKind ?? 'bytes');
}
