import { schemaTypeOf } from '#core/value/conversion.ts';
import type { SchemaTypeName, UndeclaredTypeName } from '#core/value/conversion.ts';
import { type IntegerWidth, integerWidthOf } from '#core/value/integer-width.ts';
import { EmbeddedDocument, isRecord, type Value } from '#core/value/value.ts';
import {
  askedSumFunction,
  askedTypeFunction,
  askedWidthFunction,
  askedWidthSumFunction,
  widthsFunction,
} from '../../binder/value-type.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { ANY_NUMBER, method, nullSafe, scalar } from '../define.ts';
import { followed } from '../graph/navigation.ts';

/**
 * `.type()` and `.javaType()` (sql-functions.md 11.1). A value does not know how wide its integer is (sql.md 2.2): a property
 * knows it by its declaration or by the record that holds it, a literal by its suffix. Where the receiver is one of these the
 * analyzer calls the forms with a `#` instead, whose further argument is the type that is known beside the value.
 */
export const typeMethods = [
  method('type()', [0, 0], (args) => schemaTypeOf(args[0] as Exclude<Value, null>)),
  method('javaType()', [0, 0], (args) => javaTypes[schemaTypeOf(args[0] as Exclude<Value, null>)]),
  nullSafe('#.type(value, known)', [2, 2], knownTypeOf),
  nullSafe('#.javaType(value, known)', [2, 2], (args) => javaTypes[knownTypeOf(args)]),
  quick(
    scalar(`${askedTypeFunction}(holder, name)`, [2, 2], (args, context) =>
      typeIn(args[0] as Value, args[1] as string, context),
    ),
  ),
  quick(scalar(`${askedSumFunction}(holder, name, ...)`, [2, ANY_NUMBER], typeOfSum)),
  quick(
    scalar(`${askedWidthFunction}(record, name)`, [2, 2], (args, context) =>
      widthIn(args[0] as Value, args[1] as string, context),
    ),
  ),
  quick(scalar(`${askedWidthSumFunction}(record, names)`, [2, 2], widthOfSum)),
  quick(
    scalar(`${widthsFunction}(record)`, [1, 1], ([record = null], context) => {
      const target = followed(record, context);
      return isRecord(target) ? (target.integerWidths ?? null) : null;
    }),
  ),
];

/** It takes no long whatever the holder is, so what it gives need not be remembered. */
function quick(definition: ScalarFunction): ScalarFunction {
  return { ...definition, worksInTurns: true };
}

type TypeName = SchemaTypeName | UndeclaredTypeName;

function knownTypeOf([value, known]: readonly Value[]): TypeName {
  const own = schemaTypeOf(value as Exclude<Value, null>);
  return typeof known === 'string' && isFormOf(known as TypeName, own) ? (known as TypeName) : own;
}

/** The declared type of a property, or the width that its record keeps for it; null when there is neither. */
function typeIn(
  holder: Value,
  name: string,
  context: EvaluationContext,
): SchemaTypeName | IntegerWidth | null {
  const target = followed(holder, context);
  const { catalog } = context.view;
  if (isRecord(target)) {
    const declared = catalog.property(target.type, name)?.type;
    return declared ?? integerWidthOf(target, name) ?? null;
  }
  if (!(target instanceof EmbeddedDocument)) return null;
  const type = catalog.typeNamed(target.typeName);
  return (type && catalog.property(type.id, name)?.type) ?? null;
}

/** What is computed from several properties is a LONG when one of them is. */
function typeOfSum(args: readonly Value[], context: EvaluationContext): Value {
  for (let at = 0; at < args.length; at += 2)
    if (typeIn(args[at] as Value, args[at + 1] as string, context) === 'LONG') return 'LONG';
  return null;
}

/** As `typeIn` for what no type declares. */
function widthIn(holder: Value, name: string, context: EvaluationContext): IntegerWidth | null {
  const record = followed(holder, context);
  return isRecord(record) ? (integerWidthOf(record, name) ?? null) : null;
}

function widthOfSum([holder = null, names]: readonly Value[], context: EvaluationContext): Value {
  const record = followed(holder, context);
  if (!isRecord(record)) return null;
  for (const name of names as readonly string[])
    if (integerWidthOf(record, name) === 'LONG') return 'LONG';
  return null;
}

/** Whether values of a declared type look like `own` once they are read; a FLOAT is read as a DOUBLE (sql.md 3.4). */
function isFormOf(declared: TypeName, own: TypeName): boolean {
  switch (own) {
    case 'INTEGER':
      return declared === 'LONG' || declared === 'SHORT' || declared === 'BYTE';
    case 'DATETIME':
      return declared.startsWith('DATETIME_');
    case 'LIST':
      return declared.startsWith('ARRAY_OF_');
    default:
      return false;
  }
}

const javaTypes: Readonly<Record<TypeName, string>> = {
  BOOLEAN: 'java.lang.Boolean',
  INTEGER: 'java.lang.Integer',
  SHORT: 'java.lang.Short',
  LONG: 'java.lang.Long',
  FLOAT: 'java.lang.Float',
  DOUBLE: 'java.lang.Double',
  DATETIME: 'java.time.LocalDateTime',
  STRING: 'java.lang.String',
  BINARY: 'byte[]',
  LIST: 'java.util.ArrayList',
  MAP: 'java.util.LinkedHashMap',
  LINK: 'java.lang.Record',
  BYTE: 'java.lang.Byte',
  DATE: 'java.time.LocalDate',
  DECIMAL: 'java.math.BigDecimal',
  EMBEDDED: 'java.lang.Record',
  DATETIME_MICROS: 'java.time.LocalDateTime',
  DATETIME_NANOS: 'java.time.LocalDateTime',
  DATETIME_SECOND: 'java.time.LocalDateTime',
  ARRAY_OF_SHORTS: 'short[]',
  ARRAY_OF_INTEGERS: 'int[]',
  ARRAY_OF_LONGS: 'long[]',
  ARRAY_OF_FLOATS: 'float[]',
  ARRAY_OF_DOUBLES: 'double[]',
  ANY: 'java.lang.Object',
  DURATION: 'java.time.Duration',
  LOCAL_TIME: 'java.time.LocalTime',
  ZONED_TIME: 'java.time.OffsetTime',
  LOCAL_DATETIME: 'java.time.LocalDateTime',
  ZONED_DATETIME: 'java.time.ZonedDateTime',
  POINT: 'java.util.LinkedHashMap',
  PATH: 'java.util.ArrayList',
};
