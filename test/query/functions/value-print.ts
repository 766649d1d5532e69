import { decimalText } from '#core/value/decimal.ts';
import { formatRid } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import {
  type EmbeddedDocument,
  isList,
  isMap,
  isRecord,
  kindOf,
  type Value,
} from '#core/value/value.ts';

/** A value with its kind visible: `1`, `1.0`, `1.50m`, `'a'`, `Person#1:0`, `datetime 1970-01-01 00:00:00`. */
export function printValue(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `'${value.replaceAll('\n', '\\n')}'`;
  if (isList(value)) return `[${value.map(printValue).join(', ')}]`;
  if (isMap(value)) return printMap(value);
  if (isRecord(value)) return `${value.typeName}${formatRid(value.rid)}`;
  if (value instanceof Uint8Array) return `bytes[${value.join(', ')}]`;
  const kind = kindOf(value);
  if (kind === 'decimal') return `${decimalText(value as Parameters<typeof decimalText>[0])}m`;
  if (kind === 'embedded') {
    const embedded = value as EmbeddedDocument;
    return `${embedded.typeName}${printMap(embedded.properties)}`;
  }
  const text = textOf(value, defaultTemporalFormats);
  return kind === 'date' || kind === 'datetime' || kind === 'duration' ? `${kind} ${text}` : text;
}

function printMap(map: ReadonlyMap<string, Value>): string {
  return `{${[...map].map(([key, value]) => `${key}: ${printValue(value)}`).join(', ')}}`;
}
