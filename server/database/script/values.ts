import { parseJson } from '#core/value/json-value.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { jsonFormOf, metadataOf } from '#query/functions/text/json-form.ts';
import type { ScriptOutcome } from '#platform/script/engine.ts';

/*
 * Values as scripts of users see them, and back. They cross as JSON: records and maps are objects, ids and dates texts, numbers
 * numbers. A property that a script leaves as it is keeps its stored value, whatever JSON makes of it.
 */

/** What a script is given, as text. */
export function scriptRequest(
  given: {
    readonly args: readonly Value[];
    readonly record?: StoredRecord | null;
    readonly oldRecord?: StoredRecord | null;
    readonly rid?: Value;
    readonly mayChange: boolean;
  },
  formats: TemporalFormats,
): string {
  const { args, record, oldRecord, rid = null, mayChange } = given;
  return textOf(
    new Map<string, Value>([
      ['args', args.map((value) => jsonFormOf(value, { formats }))],
      ['isTrigger', record !== undefined],
      ['mayChange', mayChange],
      ['record', recordForm(record, formats)],
      ['oldRecord', recordForm(oldRecord, formats)],
      ['rid', jsonFormOf(rid, { formats })],
    ]),
    formats,
  );
}

function recordForm(record: StoredRecord | null | undefined, formats: TemporalFormats): Value {
  if (record === null || record === undefined) return null;
  const properties = new Map<string, Value>();
  for (const name of record.propertyNames())
    properties.set(name, jsonFormOf(record.get(name) ?? null, { formats }));
  return new Map<string, Value>([
    ['properties', properties],
    ['system', metadataOf(record)],
  ]);
}

/** Rows that a script has asked for, or why it gets none, as text. */
export function scriptRows(
  answer: { readonly rows: readonly Value[] } | { readonly error: string },
  formats: TemporalFormats,
): string {
  const entry: readonly [string, Value] =
    'rows' in answer
      ? ['rows', answer.rows.map((row) => jsonFormOf(row, { formats }))]
      : ['error', answer.error];
  return textOf(new Map([entry]), formats);
}

/** A value that a script made. @throws DatabaseError `IllegalArgument` for numbers outside the limits */
export function scriptValue(json: string): Value {
  return parseJson(json);
}

/** Named parameters of a statement that a script runs; undefined when it gave something else. */
export function scriptParameters(json: string): ValueMap | undefined {
  const value = parseJson(json);
  if (Array.isArray(value)) return new Map(value.map((item, at) => [String(at), item as Value]));
  return isMap(value) ? value : undefined;
}

type Changes = Extract<ScriptOutcome, { kind: 'done' }>['changes'];

/** The properties of the record as the script left them; undefined when it changed none. */
export function changedProperties(record: StoredRecord, changes: Changes): ValueMap | undefined {
  if (changes === undefined) return undefined;
  const { set, removed } = changes;
  const names = Object.keys(set);
  if (names.length === 0 && removed.length === 0) return undefined;
  const properties = new Map<string, Value>();
  for (const name of record.propertyNames()) properties.set(name, record.get(name) ?? null);
  for (const name of removed) properties.delete(name);
  for (const name of names) properties.set(name, parseJson(set[name] as string));
  return properties;
}
