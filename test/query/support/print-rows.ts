import { formatRid } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { StatementResult } from './sql-database.ts';

/** Rows as text, one per line: `a=1, b='x'` for columns, the value itself otherwise. */
export function printRows(result: StatementResult): string {
  const lines = result.rows.map((row) =>
    result.columns.length === 0
      ? printValue(row[0] ?? null)
      : result.columns.map((name, at) => `${name}=${printValue(row[at] ?? null)}`).join(', '),
  );
  return lines.length === 0 ? '(no rows)' : lines.join('\n');
}

export function printValue(value: Value): string {
  if (typeof value === 'string') return `'${value}'`;
  if (value === null || typeof value !== 'object') return String(value);
  if (isList(value)) return `[${value.map(printValue).join(', ')}]`;
  if (isMap(value))
    return `{${[...value].map(([key, item]) => `${key}: ${printValue(item)}`).join(', ')}}`;
  if (isRecord(value)) {
    const ends = value.kind === 'edge' ? ` ${formatRid(value.out)}->${formatRid(value.in)}` : '';
    const properties = value
      .propertyNames()
      .map((name) => ` ${name}=${printValue(value.get(name) ?? null)}`);
    return `${value.typeName}${formatRid(value.rid)}${ends}${properties.join('')}`;
  }
  return textOf(value, defaultTemporalFormats);
}
