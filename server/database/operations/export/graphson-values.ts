import { toNumber } from '#core/value/conversion.ts';
import { decimalText, parseDecimal } from '#core/value/decimal.ts';
import type { Link } from '#core/value/record.ts';
import { DateTime } from '#core/temporal/temporal.ts';
import { doubleText } from '#core/text/text-form.ts';
import { double, isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { mapJson, storedMap } from './record-json.ts';

// Values in GraphSON 3: `{"@type": "g:Int64", "@value": 5}`. Texts and booleans stand for themselves. Times are those of the
// extended module `gx`; what has no type there is `service:Value` around the notation of our own format.

/** The GraphSON text of a stored value. */
export function graphsonJson(value: Value): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'bigint':
      return typed('g:Int64', String(value));
    case 'number':
      if (Number.isInteger(value))
        return typed(value >= -(2 ** 31) && value < 2 ** 31 ? 'g:Int32' : 'g:Int64', String(value));
      return typed('g:Double', doubleJson(value));
    default:
      break;
  }
  if (value === null) return 'null';
  if (isList(value)) return typed('g:List', `[${value.map(graphsonJson).join(',')}]`);
  if (isMap(value)) {
    const pairs = [...value].map(([k, v]) => `${JSON.stringify(k)},${graphsonJson(v)}`);
    return typed('g:Map', `[${pairs.join(',')}]`);
  }
  if (value instanceof Uint8Array)
    return typed('gx:ByteBuffer', `"${Buffer.from(value).toString('base64')}"`);
  const tagged = value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>;
  switch (tagged.valueKind) {
    case 'float':
      return typed('g:Double', doubleJson(tagged.number));
    case 'decimal':
      return typed('gx:BigDecimal', `"${decimalText(tagged)}"`);
    default:
      return typed('service:Value', mapJson(new Map([['v', value]])));
  }
}

function typed(type: string, value: string): string {
  return `{"@type":"${type}","@value":${value}}`;
}

function doubleJson(n: number): string {
  return Number.isFinite(n) ? doubleText(n) : `"${n}"`;
}

/**
 * The stored value of GraphSON; typed values of any version are unwrapped, unknown types give their content.
 * @param seen told of each link
 */
export function graphsonValue(json: Value, seen: (link: Link) => void): Value {
  if (isList(json)) return json.map((item) => graphsonValue(item, seen));
  if (!isMap(json)) return json;
  const type = json.get('@type');
  const content = json.get('@value');
  if (typeof type !== 'string' || content === undefined) {
    return new Map([...json].map(([name, item]) => [name, graphsonValue(item, seen)]));
  }
  return unwrapped(type, content, seen);
}

function unwrapped(type: string, content: Value, seen: (link: Link) => void): Value {
  const text = typeof content === 'string' ? content : undefined;
  switch (type) {
    case 'g:Double':
    case 'g:Float':
      return double(numberOf(content));
    case 'gx:BigDecimal':
      return (text === undefined ? undefined : parseDecimal(text)) ?? content;
    case 'gx:BigInteger':
      return text !== undefined && /^-?\d{1,18}$/.test(text) ? Number(text) : content;
    case 'gx:ByteBuffer':
      return text === undefined ? content : new Uint8Array(Buffer.from(text, 'base64'));
    case 'g:Date':
    case 'g:Timestamp':
      return typeof content === 'number' ? new DateTime(content) : content;
    case 'g:Map':
      return isList(content) ? mapOf(content, seen) : graphsonValue(content, seen);
    case 'service:Value':
      return isMap(content) ? (storedMap(content, seen).get('v') ?? null) : content;
    default:
      return graphsonValue(content, seen);
  }
}

function numberOf(content: Value): number {
  return typeof content === 'string' ? Number(content) : (toNumber(content) ?? Number.NaN);
}

function mapOf(list: readonly Value[], seen: (link: Link) => void): ValueMap {
  const map = new Map<string, Value>();
  for (let at = 0; at + 1 < list.length; at += 2) {
    const key = graphsonValue(list[at] as Value, seen);
    map.set(
      typeof key === 'string' ? key : String(key),
      graphsonValue(list[at + 1] as Value, seen),
    );
  }
  return map;
}
