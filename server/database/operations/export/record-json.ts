import { decimalText, parseDecimal } from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import { extendedOfParts, partsOfExtended } from '#core/value/extended-parts.ts';
import { Path, pathElements } from '#core/value/path.ts';
import { Link } from '#core/value/record.ts';
import { formatRid, noRid, parseRid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate, type TemporalPrecision } from '#core/temporal/temporal.ts';
import { doubleText } from '#core/text/text-form.ts';
import { double, EmbeddedDocument, isMap, type Value, type ValueMap } from '#core/value/value.ts';

// Values in the lines of an export: JSON that gives back exactly what was stored. What JSON has no notation for is a map with
// one name that begins with `$`; a map that has such names itself is written as a list of pairs.
//
//   decimal {"$decimal":"1.50"}     date {"$date":20484} (days)     datetime {"$datetime":[ms,nanos,"millis"]}
//   duration {"$duration":[s,ns]}   link {"$link":"#1:0"}           bytes {"$bytes":"base64"}
//   times, moments, durations, points, paths of Cypher {"$value":["localTime",ns]} (extended-parts.ts)
//   NaN, infinities {"$double":"NaN"}   embedded {"$embedded":"Type","$properties":{...}}   map {"$map":[[k,v],...]}

/** The JSON text of a stored value. */
export function valueJson(value: Value): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : `{"$double":"${value}"}`;
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      break;
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${(value as readonly Value[]).map(valueJson).join(',')}]`;
  if (value instanceof Map) return mapJson(value as ValueMap);
  if (value instanceof Uint8Array) return `{"$bytes":"${Buffer.from(value).toString('base64')}"}`;
  const tagged = value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>;
  switch (tagged.valueKind) {
    case 'float':
      return Number.isFinite(tagged.number)
        ? doubleText(tagged.number)
        : `{"$double":"${tagged.number}"}`;
    case 'decimal':
      return `{"$decimal":"${decimalText(tagged)}"}`;
    case 'date':
      return `{"$date":${tagged.epochDay}}`;
    case 'datetime':
      return `{"$datetime":[${tagged.epochMs},${tagged.nanosOfMs},"${tagged.precision}"]}`;
    case 'duration':
      return `{"$duration":[${tagged.seconds},${tagged.nanos}]}`;
    case 'link':
    case 'record':
      return `{"$link":"${formatRid(tagged.rid)}"}`;
    case 'embedded':
      return `{"$embedded":${JSON.stringify(tagged.typeName)},"$properties":${mapJson(tagged.properties)}}`;
    default:
      return JSON.stringify({ $value: partsOfExtended(tagged) });
  }
}

/** The JSON text of named values. */
export function mapJson(map: ValueMap): string {
  const parts: string[] = [];
  for (const [name, value] of map) {
    if (name.startsWith('$')) return pairsJson(map);
    parts.push(`${JSON.stringify(name)}:${valueJson(value)}`);
  }
  return `{${parts.join(',')}}`;
}

function pairsJson(map: ValueMap): string {
  const pairs = [...map].map(([name, value]) => `[${JSON.stringify(name)},${valueJson(value)}]`);
  return `{"$map":[${pairs.join(',')}]}`;
}

/** How record ids in values are renamed; called for each link. */
export type LinkSeen = (link: Link) => void;

/**
 * The stored value of parsed JSON, the inverse of `valueJson`.
 * @param seen told of each link; links keep the record ids of the export
 * @throws DatabaseError `Validation` for a notation that is none
 */
export function storedValue(json: Value, seen: LinkSeen): Value {
  if (Array.isArray(json)) return (json as readonly Value[]).map((item) => storedValue(item, seen));
  if (!isMap(json)) return json;
  const [first] = json.keys();
  if (first === undefined || !first.startsWith('$')) return storedMap(json, seen);
  const found = marked(first, json, seen);
  if (found !== undefined) return found;
  throw new DatabaseError('Validation', `the value with '${first.slice(0, 40)}' is not understood`);
}

/** As `storedValue` for named values. */
export function storedMap(json: ValueMap, seen: LinkSeen): ValueMap {
  if (json.size === 1 && json.has('$map')) return pairs(json.get('$map') ?? null, seen);
  const map = new Map<string, Value>();
  for (const [name, value] of json) map.set(name, storedValue(value, seen));
  return map;
}

function pairs(json: Value, seen: LinkSeen): ValueMap {
  const map = new Map<string, Value>();
  for (const pair of listOf(json)) {
    const [name, value = null] = listOf(pair);
    if (typeof name === 'string') map.set(name, storedValue(value, seen));
  }
  return map;
}

function listOf(json: Value): readonly Value[] {
  return Array.isArray(json) ? (json as readonly Value[]) : [];
}

function marked(marker: string, json: ValueMap, seen: LinkSeen): Value | undefined {
  const content = json.get(marker) ?? null;
  const [first, second, third] = listOf(content);
  switch (marker) {
    case '$decimal':
      return typeof content === 'string' ? parseDecimal(content) : undefined;
    case '$double':
      return typeof content === 'string' ? double(Number(content)) : undefined;
    case '$date':
      return typeof content === 'number' ? new LocalDate(content) : undefined;
    case '$datetime':
      if (typeof first !== 'number' || typeof second !== 'number') return undefined;
      return new DateTime(first, second, precisionOf(third));
    case '$duration':
      if (typeof first !== 'number' || typeof second !== 'number') return undefined;
      return new Duration(first, second);
    case '$bytes':
      return typeof content === 'string'
        ? new Uint8Array(Buffer.from(content, 'base64'))
        : undefined;
    case '$link':
      return typeof content === 'string' ? linkOf(content, seen) : undefined;
    case '$map':
      return pairs(content, seen);
    case '$value':
      return extendedOf(content, seen);
    case '$embedded': {
      const properties = json.get('$properties') ?? null;
      if (typeof content !== 'string' || !isMap(properties)) return undefined;
      return new EmbeddedDocument(content, storedMap(properties, seen));
    }
    default:
      return undefined;
  }
}

function extendedOf(content: Value, seen: LinkSeen): Value | undefined {
  const value = extendedOfParts(listOf(content));
  if (value instanceof Path) for (const link of pathElements(value)) seen(new Link(link.rid));
  return value;
}

function linkOf(text: string, seen: LinkSeen): Link | undefined {
  const rid = parseRid(text);
  if (rid === undefined || rid === noRid) return undefined;
  const link = new Link(rid);
  seen(link);
  return link;
}

function precisionOf(json: Value | undefined): TemporalPrecision {
  return json === 'second' || json === 'micros' || json === 'nanos' ? json : 'millis';
}

/** The value with each link replaced; the same object when it holds none. Gone targets give null. */
export function withLinks(value: Value, renamed: (link: Link) => Link | null): Value {
  if (value instanceof Link) return renamed(value);
  if (Array.isArray(value)) {
    const items = (value as readonly Value[]).map((item) => withLinks(item, renamed));
    return items;
  }
  if (value instanceof Map) return mapWithLinks(value as ValueMap, renamed);
  if (value instanceof EmbeddedDocument)
    return new EmbeddedDocument(value.typeName, mapWithLinks(value.properties, renamed));
  if (value instanceof Path) return pathWithLinks(value, renamed);
  return value;
}

/** A path with an element that is gone is none any more. */
function pathWithLinks(path: Path, renamed: (link: Link) => Link | null): Path | null {
  const nodes = path.nodes.map(({ rid }) => renamed(new Link(rid)));
  const relationships = path.relationships.map(({ rid }) => renamed(new Link(rid)));
  if (nodes.includes(null) || relationships.includes(null)) return null;
  return new Path(nodes as Link[], relationships as Link[]);
}

/** As `withLinks` for named values. */
export function mapWithLinks(map: ValueMap, renamed: (link: Link) => Link | null): ValueMap {
  const result = new Map<string, Value>();
  for (const [name, value] of map) result.set(name, withLinks(value, renamed));
  return result;
}
