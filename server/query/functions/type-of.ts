import { schemaTypeOf } from '#core/conversion.ts';
import type { SchemaTypeName } from '#core/conversion.ts';
import { EmbeddedDocument, isRecord, type Value } from '#core/value.ts';
import type { EvaluationContext } from '../evaluate/context.ts';
import { method, nullSafe } from './define.ts';
import { followed } from './navigation.ts';

/**
 * `.type()` and `.javaType()` (sql-functions.md 11.1). A value does not know how wide its integer is (sql.md 2.2): a property
 * knows it by its declaration and a literal by its suffix. Where the receiver is one of these the analyzer calls the forms with
 * a `#` instead, whose further arguments are the type that the text tells, and the holder and name of the property.
 */
export const typeMethods = [
  method('type()', [0, 0], (args) => schemaTypeOf(args[0] as Exclude<Value, null>)),
  method('javaType()', [0, 0], (args) => javaTypes[schemaTypeOf(args[0] as Exclude<Value, null>)]),
  nullSafe('#.type(value, told, holder, name)', [4, 4], declaredTypeOf),
  nullSafe(
    '#.javaType(value, told, holder, name)',
    [4, 4],
    (args, context) => javaTypes[declaredTypeOf(args, context)],
  ),
];

type TypeName = SchemaTypeName | 'DURATION';

function declaredTypeOf(
  [value, told, holder, name]: readonly Value[],
  context: EvaluationContext,
): TypeName {
  const own = schemaTypeOf(value as Exclude<Value, null>);
  const declared = told ?? declaredType(holder ?? null, name ?? null, context);
  return typeof declared === 'string' && isFormOf(declared as TypeName, own)
    ? (declared as TypeName)
    : own;
}

function declaredType(
  holder: Value,
  name: Value,
  context: EvaluationContext,
): SchemaTypeName | undefined {
  const target = followed(holder, context);
  if (!isRecord(target) && !(target instanceof EmbeddedDocument)) return undefined;
  const { catalog } = context.view;
  const type = catalog.typeNamed(target.typeName);
  return type && catalog.properties(type.id).get(name as string)?.type;
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

const javaTypes: Readonly<Record<SchemaTypeName | 'DURATION', string>> = {
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
  DURATION: 'java.time.Duration',
};
