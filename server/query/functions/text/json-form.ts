import { parseJsonInTurns } from '#core/value/json-slices.ts';
import { parseJson } from '#core/value/json-value.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { formatRid } from '#core/value/rid.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { textOf } from '#core/text/text-form.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { refusal } from '../arguments.ts';

type Formatting = Pick<EvaluationContext, 'formats'>;

/** Deeper values are refused; a list can hold itself only by nesting, so this ends. */
const depthMax = 512;

/**
 * What `.toJSON()` gives: records as maps with `@rid`, `@type`, `@cat` first, bytes as base64, dates as text; text is
 * parsed, an empty one is `{}`.
 * @throws DatabaseError `IllegalArgument` for text that is no JSON
 */
export function jsonValueOf(value: Value, context: EvaluationContext): Value {
  if (typeof value !== 'string') return plain(value, context, 0);
  return value.trim() === '' ? new Map<string, Value>() : parseJson(value);
}

/** As `jsonValueOf`, in turns. */
export function* jsonValueInTurns(
  value: Value,
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  if (typeof value !== 'string') return yield* jsonFormInTurns(value, context, meter);
  return isBlank(value) ? new Map<string, Value>() : yield* parseJsonInTurns(value, meter);
}

function isBlank(text: string): boolean {
  return text.length < 1_024 ? text.trim() === '' : !/\S/.test(text);
}

/** As `jsonFormOf`, in turns: for a list or map of many elements, and for those of few that are large. */
export function* jsonFormInTurns(
  value: Value,
  context: Formatting,
  meter: WorkMeter,
  depth = 0,
): PausingWork<Value> {
  if (isList(value)) {
    const list: Value[] = [];
    for (let i = 0; i < value.length; i += 1) {
      const element = value[i] as Value;
      list.push(
        value.length < fewElements
          ? yield* jsonFormInTurns(element, context, meter, depth + 1)
          : plain(element, context, depth + 1),
      );
      if ((i & elementsMask) === elementsMask && meter.isSpent(unitsPerLook)) yield;
    }
    return list;
  }
  if (!isMap(value)) return plain(value, context, depth);
  const target = new Map<string, Value>();
  let count = 0;
  for (const [key, entry] of value) {
    target.set(
      key,
      value.size < fewElements
        ? yield* jsonFormInTurns(entry, context, meter, depth + 1)
        : plain(entry, context, depth + 1),
    );
    count += 1;
    if ((count & elementsMask) === elementsMask && meter.isSpent(unitsPerLook)) yield;
  }
  return target;
}

const fewElements = 256;
const elementsMask = 255;
const unitsPerLook = 32;

/** As `jsonValueOf`, texts as they are. */
export function jsonFormOf(value: Value, context: Formatting): Value {
  return plain(value, context, 0);
}

function plain(value: Value, context: Formatting, depth: number): Value {
  if (value === null || typeof value !== 'object') return value;
  if (depth > depthMax) throw refusal(`value nested deeper than ${depthMax} levels`);
  if (isList(value)) return value.map((element) => plain(element, context, depth + 1));
  if (isMap(value)) return plainEntries(value, new Map(), context, depth);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof EmbeddedDocument)
    return plainEntries(value.properties, new Map([['@type', value.typeName]]), context, depth);
  if (isRecord(value)) return plainRecord(value, context, depth);
  if (value instanceof Link) return formatRid(value.rid);
  if (value instanceof DateTime || value instanceof LocalDate)
    return textOf(value, context.formats);
  return value;
}

function plainEntries(
  entries: ReadonlyMap<string, Value>,
  target: Map<string, Value>,
  context: Formatting,
  depth: number,
): Value {
  for (const [key, entry] of entries) target.set(key, plain(entry, context, depth + 1));
  return target;
}

const categories = { document: 'd', vertex: 'v', edge: 'e' } as const;

function plainRecord(record: StoredRecord, context: Formatting, depth: number): Value {
  const target = metadataOf(record);
  for (const name of record.propertyNames())
    target.set(name, plain(record.get(name) ?? null, context, depth + 1));
  return target;
}

/** `@rid` (not of LIGHTWEIGHT edges), `@type`, `@cat`, and for edges `@in` and `@out`, as texts. */
export function metadataOf(record: StoredRecord): Map<string, Value> {
  const metadata = new Map<string, Value>();
  if (record.kind !== 'edge' || record.isLightweight !== true)
    metadata.set('@rid', formatRid(record.rid));
  metadata.set('@type', record.typeName);
  metadata.set('@cat', categories[record.kind]);
  if (record.kind === 'edge') {
    metadata.set('@in', formatRid(record.in));
    metadata.set('@out', formatRid(record.out));
  }
  return metadata;
}
