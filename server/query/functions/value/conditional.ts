import { foldCase } from '#core/text/case-folding.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isMap, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { isNumeric, numberArgument, ridArgument, textArgument, toDouble } from '../arguments.ts';
import {
  inTurns,
  ANY_NUMBER,
  method,
  methodOnNull,
  nullSafe,
  scalar,
  volatileScalar,
} from '../define.ts';
import { printf } from '../text/printf.ts';
import { casedInTurns } from '../text/text-turns.ts';

/** The function of that name runs conditions of the statement's language; nothing is made into JavaScript. */
const evalName = 'eval';

/** Choices, identity and formatting (sql-functions.md 2 and 3). */
export const conditionalFunctions: readonly ScalarFunction[] = [
  scalar('if(condition, a [, b])', [2, 3], (args) => {
    const holds = truth(args[0] as Value);
    if (holds === null) return null;
    return holds ? (args[1] as Value) : (args[2] ?? null);
  }),
  scalar('ifnull(x, y [, z])', [2, 3], (args) => {
    const [value, otherwise, replacement] = args as [Value, Value, Value | undefined];
    return value === null ? otherwise : replacement === undefined ? value : replacement;
  }),
  scalar('ifempty(x, y [, z])', [2, 3], (args) => {
    const [value, otherwise, replacement] = args as [Value, Value, Value | undefined];
    return isEmpty(value) ? otherwise : replacement === undefined ? value : replacement;
  }),
  scalar('coalesce(x...)', [1, ANY_NUMBER], (args) => {
    for (let i = 0; i < args.length; i++) if (args[i] !== null) return args[i] as Value;
    return null;
  }),
  volatileScalar('uuid()', [0, 0], (_, context) => context.runtime.random.uuid()),
  nullSafe('format(fmt, args...)', [1, ANY_NUMBER], (args, context) =>
    printf(textArgument(args[0], 'format()'), args.slice(1), context),
  ),
  inTurns(
    scalar('strcmpci(a, b)', [2, 2], (args) => {
      const a = typeof args[0] === 'string' ? foldCase(args[0]) : null;
      const b = typeof args[1] === 'string' ? foldCase(args[1]) : null;
      return compareFolded(a, b);
    }),
    function* ([first, second], _context, meter) {
      const a = typeof first === 'string' ? yield* casedInTurns(first, foldCase, meter) : null;
      const b = typeof second === 'string' ? yield* casedInTurns(second, foldCase, meter) : null;
      return compareFolded(a, b);
    },
  ),
  scalar('version()', [0, 0], (_, context) => context.serverVersion),
  // The analyzer passes the current record first, as to the graph moves; alone, the text has no record to look at.
  volatileScalar(`${evalName}(text)`, [1, 2], (args, context) => {
    const text = args[args.length - 1] as Value;
    if (text === null) return null;
    if (context.evaluateCondition === undefined)
      throw new DatabaseError('NotSupported', `not supported here: ${evalName}()`);
    // Without a record the condition sees a row without columns.
    const record = args.length === 2 ? (args[0] as Value) : null;
    const current = record ?? new Map<string, Value>();
    return context.evaluateCondition(textArgument(text, `${evalName}()`), current);
  }),
  nullSafe('cypherRID(n)', [1, 1], (args) => {
    const id = numberArgument(args[0], 'cypherRID()');
    const whole = Math.trunc(id) + 0;
    return whole >= 0 && Number.isSafeInteger(whole) ? new Link(whole as Rid) : null;
  }),
];

export const conditionalMethods: readonly ScalarFunction[] = [
  methodOnNull('ifNull(x)', [1, 1], (args) => (args[0] === null ? args[1] : args[0]) as Value),
  methodOnNull('ifEmpty(x)', [1, 1], (args) => {
    const value = args[0] as Value;
    return isEmpty(value) ? (args[1] as Value) : value;
  }),
  method('asCypherRID()', [0, 0], (args) => ridArgument(args[0] as Value) ?? null),
];

/** A boolean, a number above 0, the text `true` in any case; null for null and other values. */
function truth(value: Value): boolean | null {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.length === 4 && value.toLowerCase() === 'true';
  return isNumeric(value) ? toDouble(value) > 0 : null;
}

function isEmpty(value: Value): boolean {
  if (typeof value === 'string' || isList(value)) return value.length === 0;
  return isMap(value) && value.size === 0;
}

function compareFolded(a: string | null, b: string | null): -1 | 0 | 1 {
  if (a === b) return 0;
  if (a === null) return -1;
  return b === null || a > b ? 1 : -1;
}
