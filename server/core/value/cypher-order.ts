import { isMap, type Value, type ValueMap } from './value.ts';
import { compareText, compareValues } from './value-order.ts';

/**
 * The order of openCypher (cypher.md 6), for ORDER BY, min and max: map < node < relationship < list < path < point < times < string
 * < boolean < number < null; NaN stands behind all other numbers. Values of one kind as `compareValues` has them, lists element by
 * element, a shorter one first.
 *
 * @returns negative, 0 or positive; a total order in which equivalent values are equal
 */
export function compareForCypher(a: Value, b: Value): number {
  // NaN and infinities of one sign leave no difference.
  if (typeof a === 'number' && typeof b === 'number' && Number.isFinite(a - b)) return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  if (rank === listRank) return compareLists(a as readonly Value[], b as readonly Value[]);
  if (rank === mapRank && isMap(a) && isMap(b)) return compareMaps(a, b);
  return compareValues(a, b);
}

const mapRank = 0;
const nodeRank = 1;
const relationshipRank = 2;
const listRank = 3;
const stringRank = 20;
const booleanRank = 21;
const numberRank = 22;
const nullRank = 23;
/** Kinds without a place in the language stand before text. */
const otherRank = 19;

/** By `valueKind`. */
const ranks: Readonly<Record<string, number>> = {
  embedded: mapRank,
  link: nodeRank,
  path: 4,
  point: 5,
  zonedDateTime: 6,
  localDateTime: 7,
  datetime: 7,
  date: 8,
  zonedTime: 9,
  localTime: 10,
  cypherDuration: 11,
  duration: 11,
  float: numberRank,
  decimal: numberRank,
};

function rankOf(value: Value): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return numberRank;
    case 'string':
      return stringRank;
    case 'boolean':
      return booleanRank;
    default:
      break;
  }
  if (value === null) return nullRank;
  if (Array.isArray(value)) return listRank;
  if (value instanceof Map) return mapRank;
  if (value instanceof Uint8Array) return otherRank;
  const tagged = value as Exclude<typeof value, readonly Value[] | ValueMap | Uint8Array>;
  if (tagged.valueKind === 'record') return tagged.kind === 'edge' ? relationshipRank : nodeRank;
  return ranks[tagged.valueKind] ?? otherRank;
}

function compareLists(a: readonly Value[], b: readonly Value[]): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const order = compareForCypher(a[at] as Value, b[at] as Value);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** By their keys in order, then by values. */
function compareMaps(a: ValueMap, b: ValueMap): number {
  const xs = [...a.keys()].sort(compareText);
  const ys = [...b.keys()].sort(compareText);
  const keyOrder = compareLists(xs, ys);
  if (keyOrder !== 0) return keyOrder;
  for (const key of xs) {
    const order = compareForCypher(a.get(key) ?? null, b.get(key) ?? null);
    if (order !== 0) return order;
  }
  return 0;
}
