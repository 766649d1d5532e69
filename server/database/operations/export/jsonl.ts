import type { SettingsReader } from '#config/effective-settings.ts';
import { dateFormat, dateTimeFormat, timeZone } from '#config/settings.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { formatRid } from '#core/value/rid.ts';
import { TargetLists } from '#transaction/write/target-lists.ts';
import { type ExportSource, recordPieces } from './reader.ts';
import { mapJson, valueJson } from './record-json.ts';
import { schemaValue } from './schema-json.ts';

const kinds = ['document', 'vertex', 'edge'] as const;

/** Settings that decide what values look like; they go with the data. */
export const carriedSettings = [dateFormat, dateTimeFormat, timeZone] as const;

function shapingSettings(settings: SettingsReader): Readonly<Record<string, string>> {
  const changed = carriedSettings.filter((spec) => settings.get(spec) !== spec.default);
  return Object.fromEntries(changed.map((spec) => [spec.key, settings.get(spec)]));
}

/**
 * The server's own format, one JSON object a line (http-api.md 18.5): what wrote it, the database, its schema, then documents,
 * vertices and edges, so that every edge comes after its ends. Carries everything that is stored.
 */
export async function* jsonlPieces(
  source: ExportSource,
  about: {
    readonly createdAt: number;
    readonly serverVersion: string;
    readonly settings: SettingsReader;
  },
): AsyncGenerator<string> {
  const { name, view } = source;
  const { createdAt, serverVersion } = about;
  const info = { description: 'database export', exporterVersion: 1, serverVersion, createdAt };
  yield `${JSON.stringify({ t: 'info', c: info })}\n${JSON.stringify({ t: 'db', c: { name, settings: shapingSettings(about.settings) } })}\n`;
  yield `{"t":"schema","c":${mapJson(schemaValue(view.catalog))}}\n`;
  const targets = new TargetLists(view.snapshot);
  yield* recordPieces(source, kinds, (record, type) =>
    recordLine(record, targets.isOneWay(record, type)),
  );
}

/** @param isOneWay an edge that its target does not list (`w`) */
function recordLine(record: StoredRecord, isOneWay: boolean): string {
  const { kind, typeName, rid } = record;
  const p = propertiesJson(record);
  const ends =
    kind === 'edge'
      ? `,"o":"${formatRid(record.out)}","i":"${formatRid(record.in)}"${isOneWay ? ',"w":true' : ''}`
      : '';
  const letter = kind === 'edge' ? 'e' : kind === 'vertex' ? 'v' : 'd';
  const type = JSON.stringify(typeName);
  return `{"t":"${letter}","c":{"t":${type},"r":"${formatRid(rid)}","p":${p}${ends}${widthsJson(record)}}}\n`;
}

/** How wide integers are that do not show it: `"n":{"age":"LONG"}`. */
function widthsJson({ integerWidths }: StoredRecord): string {
  if (integerWidths === undefined) return '';
  return `,"n":${JSON.stringify(Object.fromEntries(integerWidths))}`;
}

function propertiesJson(record: StoredRecord): string {
  const parts: string[] = [];
  for (const name of record.propertyNames()) {
    if (name.startsWith('$')) return mapJson(valuesOf(record));
    const value = record.get(name);
    if (value !== undefined) parts.push(`${JSON.stringify(name)}:${valueJson(value)}`);
  }
  return `{${parts.join(',')}}`;
}
