import { isList, isRecord, kindOf, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { scalar } from '../define.ts';
import { cypherPrefix } from './arguments.ts';

/** `x IS :: T` (cypher.md 5.7): without NOT NULL null is of any type. */

type Test = (value: Exclude<Value, null>) => boolean;

function ofKind(...kinds: readonly string[]): Test {
  return (value) => kinds.includes(kindOf(value));
}

function integerWithin(bits: number): Test {
  const limit = 2n ** BigInt(bits - 1);
  return (value) =>
    kindOf(value) === 'integer' &&
    BigInt(value as number) < limit &&
    BigInt(value as number) >= -limit;
}

const isNode: Test = (value) => isRecord(value) && value.kind !== 'edge';
const isRelationship: Test = (value) => isRecord(value) && value.kind === 'edge';
const integer = ofKind('integer');
const float = ofKind('double', 'decimal');
const storable = ofKind(
  ...['boolean', 'string', 'integer', 'double', 'decimal', 'bytes', 'date', 'datetime'],
  ...['localTime', 'zonedTime', 'localDateTime', 'zonedDateTime', 'duration', 'cypherDuration'],
  ...['point', 'list'],
);

const tests = new Map<string, Test>([
  ['BOOLEAN', ofKind('boolean')],
  ['BOOL', ofKind('boolean')],
  ['STRING', ofKind('string')],
  ['VARCHAR', ofKind('string')],
  ['INTEGER', integer],
  ['INT64', integer],
  ['INTEGER64', integer],
  ['INT', integerWithin(32)],
  ['INT32', integerWithin(32)],
  ['INTEGER32', integerWithin(32)],
  ['INT16', integerWithin(16)],
  ['INTEGER16', integerWithin(16)],
  ['INT8', integerWithin(8)],
  ['INTEGER8', integerWithin(8)],
  ['FLOAT', float],
  ['FLOAT64', float],
  ['FLOAT32', (value) => float(value) && isFloat32(value)],
  ['DATE', ofKind('date')],
  ['LOCAL TIME', ofKind('localTime')],
  ['ZONED TIME', ofKind('zonedTime')],
  ['LOCAL DATETIME', ofKind('localDateTime', 'datetime')],
  ['ZONED DATETIME', ofKind('zonedDateTime')],
  ['DURATION', ofKind('duration', 'cypherDuration')],
  ['POINT', ofKind('point')],
  ['NODE', isNode],
  ['ANY NODE', isNode],
  ['VERTEX', isNode],
  ['ANY VERTEX', isNode],
  ['RELATIONSHIP', isRelationship],
  ['ANY RELATIONSHIP', isRelationship],
  ['EDGE', isRelationship],
  ['ANY EDGE', isRelationship],
  ['MAP', ofKind('map', 'embedded')],
  ['ANY MAP', ofKind('map', 'embedded')],
  ['PATH', ofKind('path')],
  ['PROPERTY VALUE', storable],
  ['ANY', () => true],
  ['ANY VALUE', () => true],
  ['NOTHING', () => false],
  ['NULL', () => false],
]);

function isFloat32(value: Exclude<Value, null>): boolean {
  const number = typeof value === 'number' ? value : (value as { number?: number }).number;
  return number !== undefined && (Number.isNaN(number) || Math.fround(number) === number);
}

/** Names that a type predicate may have, lists apart. */
export function isTypeName(name: string): boolean {
  return tests.has(name);
}

const notNull = ' NOT NULL';

function isOfType(value: Value, type: string): boolean {
  if (type === 'NULL') return value === null;
  const name = type.endsWith(notNull) ? type.slice(0, -notNull.length) : type;
  if (value === null) return name === type && name !== `NOTHING${notNull}`;
  const list = /^(?:LIST|ARRAY)(?:<(.*)>)?$/.exec(name);
  if (list === null) return tests.get(name)?.(value) ?? false;
  const of = list[1];
  return isList(value) && (of === undefined || value.every((item) => isOfType(item, of)));
}

export const cypherTypeTest: readonly ScalarFunction[] = [
  scalar(`${cypherPrefix}isTyped(value, type)`, [2, 2], ([value, type]) =>
    isOfType(value as Value, type as string),
  ),
];
