import { isList, isMap, isRecord, kindOf, type Value } from '#core/value/value.ts';
import { cypherEquals } from '../../evaluate/comparison/cypher-comparison.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { scalar, volatileScalar } from '../define.ts';
import { cypherPrefix, nullForNull } from './arguments.ts';
import { statementMillis } from '../instants/clock.ts';

/** What is left of cypher.md 9.1: tests, types, the clock. */

function isEmpty([value]: readonly Value[]): Value {
  const of = value as Value;
  if (typeof of === 'string' || isList(of)) return of.length === 0;
  if (isMap(of)) return of.size === 0;
  throw notA('a list, map or string', of);
}

const kindNames: Readonly<Record<string, string>> = {
  boolean: 'BOOLEAN',
  string: 'STRING',
  integer: 'INTEGER',
  double: 'FLOAT',
  decimal: 'FLOAT',
  bytes: 'BYTEARRAY',
  date: 'DATE',
  datetime: 'LOCAL DATETIME',
  localTime: 'LOCAL TIME',
  zonedTime: 'ZONED TIME',
  localDateTime: 'LOCAL DATETIME',
  zonedDateTime: 'ZONED DATETIME',
  duration: 'DURATION',
  cypherDuration: 'DURATION',
  point: 'POINT',
  map: 'MAP',
  embedded: 'MAP',
  path: 'PATH',
};

/** Elements of a list that are looked at for its type. */
const lookedAtMax = 1_000;

/** The type of a value as predicates name it, without `NOT NULL` for null. */
function valueType(value: Value, depth = 0): string {
  if (value === null) return 'NULL';
  if (isList(value)) return `LIST<${elementType(value, depth)}> NOT NULL`;
  if (isRecord(value)) return value.kind === 'edge' ? 'RELATIONSHIP NOT NULL' : 'NODE NOT NULL';
  return `${kindNames[kindOf(value)] ?? 'ANY'} NOT NULL`;
}

function elementType(list: readonly Value[], depth: number): string {
  if (list.length === 0) return 'NOTHING';
  if (depth > 8) return 'ANY';
  const types = new Set(list.slice(0, lookedAtMax).map((item) => valueType(item, depth + 1)));
  const isNullable = types.delete('NULL');
  const names = [...types].sort();
  if (names.length === 0) return 'NULL';
  const shown = isNullable ? names.map((name) => name.replace(/ NOT NULL$/, '')) : names;
  return shown.join(' | ');
}

export const cypherGeneral: readonly ScalarFunction[] = [
  nullForNull('isEmpty(value)', [1, 1], isEmpty),
  scalar(`${cypherPrefix}nullIf(a, b)`, [2, 2], ([a, b]) =>
    cypherEquals(a as Value, b as Value) === true ? null : (a as Value),
  ),
  scalar(`${cypherPrefix}valueType(value)`, [1, 1], ([value]) => valueType(value as Value)),
  volatileScalar(`${cypherPrefix}randomUuid()`, [0, 0], (_, { runtime }) => runtime.random.uuid()),
  volatileScalar(`${cypherPrefix}timestamp()`, [0, 0], (_, context) => statementMillis(context)),
];
