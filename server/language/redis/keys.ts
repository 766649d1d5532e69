import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import { convertValue } from '#core/value/conversion.ts';
import { Link } from '#core/value/record.ts';
import { isRidShaped, parseRid } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { RecordContext } from '#query/algebra/commands.ts';
import { listOf } from './json-argument.ts';
import { refusal, shown } from './refusal.ts';

/** Keys of records: as they are written, then as the declared types of their properties have them (contract 2). */

/** Parameters of a lookup: the values of its properties by their places, or the id of a record. */
export type KeyParameters = readonly (readonly [name: string, value: Value])[];

interface Keyed {
  readonly type: TypeDefinition;
  readonly properties: readonly string[];
}

/** A key in its written form. @throws DatabaseError `IllegalArgument` when it cannot be converted */
export function keyOf(written: string, keyed: Keyed, context: RecordContext): KeyParameters {
  const { properties } = keyed;
  const text = unquoted(written);
  if (properties.length === 1) return [['0', converted(text, 0, keyed, context)]];
  const parts = listOf(text);
  if (parts.length !== properties.length)
    throw refusal(
      `the key of ${keyed.type.name}[${properties.join(',')}] has ${properties.length} parts, not ${parts.length}`,
    );
  return parts.map((part, at) => [String(at), converted(part, at, keyed, context)]);
}

/** The key that a record has. @throws DatabaseError `IllegalArgument` when it is not whole */
export function keyIn(record: ValueMap, keyed: Keyed, context: RecordContext): KeyParameters {
  return keyed.properties.map((property, at) => {
    const value = record.get(property);
    if (value === undefined || value === null)
      throw refusal(`the object has no value for '${property}', which it is to be found by`);
    return [String(at), converted(value, at, keyed, context)];
  });
}

function converted(
  value: Value,
  at: number,
  { type, properties }: Keyed,
  { catalog, formats }: RecordContext,
): Value {
  const name = properties[at] ?? '';
  const declared = declaredType(catalog, type, name);
  if (declared === undefined || value === null) return value;
  const result = convertValue(value, declared, formats);
  if (typeof result !== 'symbol') return result;
  const text = typeof value === 'object' ? 'this value' : `'${shown(String(value))}'`;
  throw refusal(`key ${text} cannot be converted to ${declared}, the type of '${name}'`);
}

function declaredType(catalog: Catalog, type: TypeDefinition, name: string) {
  return catalog.property(type.id, name)?.type;
}

/** A record id. @throws DatabaseError `IllegalArgument` */
export function ridOf(written: string): KeyParameters {
  const text = unquoted(written);
  const rid = isRidShaped(text) ? parseRid(text) : undefined;
  if (rid === undefined) throw refusal(`'${shown(text)}' is not a record id such as #12:0`);
  return [['rid', new Link(rid)]];
}

/** True for what can only be meant as a record id. */
export function isRecordId(written: string): boolean {
  return unquoted(written).startsWith('#');
}

/** Without one pair of double quotes around it. */
export function unquoted(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
