import { decimalText } from '#core/value/decimal.ts';
import { formatRid } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { doubleText, nonFiniteText, textOf } from '#core/text/text-form.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { Float, isList, isMap, isRecord, type Value } from '#core/value/value.ts';

/** A row as a test writes it down. */
export type PlainRow = Readonly<Record<string, unknown>>;

const categories = { document: 'd', vertex: 'v', edge: 'e' } as const;

/** Values as plain JavaScript: numbers, texts, arrays and objects. Doubles and integers look alike here; see `printValue`. */
export function plainValue(value: Value): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Float) return value.number;
  if (isList(value)) return value.map(plainValue);
  if (isMap(value)) return Object.fromEntries([...value].map(([k, v]) => [k, plainValue(v)]));
  if (value instanceof Uint8Array) return [...value];
  if (isRecord(value)) return plainRecord(value);
  if ('valueKind' in value && value.valueKind === 'embedded') {
    const own = [...value.properties].map(([k, v]) => [k, plainValue(v)]);
    return { '@type': value.typeName, ...Object.fromEntries(own) };
  }
  return textOf(value, defaultTemporalFormats);
}

function plainRecord(record: StoredRecord): PlainRow {
  const plain: Record<string, unknown> = {
    '@rid': formatRid(record.rid),
    '@type': record.typeName,
    '@cat': categories[record.kind],
  };
  if (record.kind === 'edge') {
    plain['@in'] = formatRid(record.in);
    plain['@out'] = formatRid(record.out);
  }
  for (const name of record.propertyNames()) plain[name] = plainValue(record.get(name) ?? null);
  return plain;
}

/** One line of text: JSON in which doubles keep their `.0`, decimals end in `m`, and other kinds show what they are. */
export function printValue(value: Value): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') {
    return Number.isFinite(value) ? String(value) : nonFiniteText(value);
  }
  if (value instanceof Float) return doubleText(value.number);
  if (isList(value)) return `[${value.map(printValue).join(', ')}]`;
  if (isMap(value)) return printEntries([...value]);
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (isRecord(value)) {
    const { '@cat': _category, ...shown } = plainRecord(value);
    const system = Object.entries(shown).filter(([name]) => name.startsWith('@'));
    const own = value
      .propertyNames()
      .map((name): [string, Value] => [name, value.get(name) ?? null]);
    return printEntries([...(system as [string, Value][]), ...own]);
  }
  switch (value.valueKind) {
    case 'decimal':
      return `${decimalText(value)}m`;
    case 'link':
      return formatRid(value.rid);
    case 'embedded':
      return printEntries([['@type', value.typeName], ...value.properties]);
    default:
      return `${value.valueKind} ${textOf(value, defaultTemporalFormats)}`;
  }
}

function printEntries(entries: readonly (readonly [string, Value])[]): string {
  return `{${entries.map(([name, value]) => `${name}: ${printValue(value)}`).join(', ')}}`;
}
