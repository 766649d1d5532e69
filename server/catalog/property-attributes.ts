import type { TemporalFormats } from '#core/temporal/format.ts';
import { convertValue } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import { didYouMean } from './name-rules.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import type { Catalog, PropertyDefinition } from './catalog.ts';
import { coerceDeclared } from './coercion.ts';
import { propertyTypeSpec } from './property-type.ts';
import type { PropertyAttribute } from './change/changes.ts';
import { requirePattern } from './whole-pattern.ts';

/** What setting an attribute may need from outside. */
export interface AttributeContext {
  readonly catalog: Catalog;
  readonly formats: TemporalFormats;
  checkDefault?(source: string): void;
}

/** The attributes of CREATE and ALTER PROPERTY, by their lower-case names (sql.md 13.5). */
const setters = {
  mandatory: (p, v) => ({ ...p, mandatory: flag(v) }),
  notnull: (p, v) => ({ ...p, notNull: flag(v) }),
  readonly: (p, v) => ({ ...p, readOnly: flag(v) }),
  hidden: (p, v) => ({ ...p, hidden: flag(v) }),
  external: (p, v) => ({ ...p, external: flag(v) }),
  min: (p, v, context) => ({ ...p, min: bound(p, v, context) }),
  max: (p, v, context) => ({ ...p, max: bound(p, v, context) }),
  regexp: (p, v) => ({ ...p, regexp: pattern(v) }),
  default: (p, v, context) => ({ ...p, default: defaultText(v, context) }),
  compression: (p, v) => ({ ...p, compression: compression(v) }),
} as const satisfies Record<
  string,
  (property: PropertyDefinition, value: Value, context: AttributeContext) => PropertyDefinition
>;

type AttributeName = keyof typeof setters;

/** The value an attribute has now, as result rows show it; null when it is not set. */
const getters = {
  mandatory: (p) => p.mandatory,
  notnull: (p) => p.notNull,
  readonly: (p) => p.readOnly,
  hidden: (p) => p.hidden,
  external: (p) => p.external,
  min: (p) => p.min,
  max: (p) => p.max,
  regexp: (p) => p.regexp ?? null,
  default: (p) => p.default ?? null,
  compression: (p) => p.compression ?? null,
} as const satisfies Record<AttributeName, (property: PropertyDefinition) => Value>;

/** @throws DatabaseError `IllegalArgument` for a word that is no attribute */
function attributeNamed(name: string): AttributeName {
  const lower = name.toLowerCase();
  if (Object.hasOwn(setters, lower)) return lower as AttributeName;
  const help = didYouMean(name, Object.keys(setters));
  throw new DatabaseError(
    'IllegalArgument',
    `Invalid attribute definition: '${name}'`,
    help === undefined ? {} : { help },
  );
}

/**
 * The property with one attribute set.
 * @throws DatabaseError `IllegalArgument` `Cannot set attribute on property <a> <v>: <reason>`, `Invalid attribute definition`
 */
export function withAttribute(
  property: PropertyDefinition,
  attribute: PropertyAttribute,
  context: AttributeContext,
): PropertyDefinition {
  const name = attributeNamed(attribute.name);
  try {
    const { value, constant } = attribute;
    // A default that fits no record is refused now and not with the first record (sql.md 13.5 rule 2).
    if (constant !== undefined) coerceDeclared(property, constant, context);
    return setters[name](property, value, context);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new DatabaseError(
      'IllegalArgument',
      `Cannot set attribute on property ${name} ${shown(attribute.value)}: ${error.message}`,
      { cause: error },
    );
  }
}

/** Name and value of an attribute as result rows show them. */
export function attributeColumn(
  property: PropertyDefinition,
  attributeName: string,
): readonly [string, Value] {
  const name = attributeNamed(attributeName);
  return [name, getters[name](property)];
}

function shown(value: Value): string {
  const kind = kindOf(value);
  return kind === 'string' || kind === 'integer' || kind === 'boolean' || kind === 'null'
    ? String(value)
    : `(${kind})`;
}

function refuse(reason: string): never {
  throw new DatabaseError('IllegalArgument', reason);
}

function flag(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) {
    return value.toLowerCase() === 'true';
  }
  return refuse('expected true or false');
}

function pattern(value: Value): string | undefined {
  if (value === null) return undefined;
  if (typeof value !== 'string') return refuse('expected a regular expression as text');
  requirePattern(value);
  return value;
}

function defaultText(value: Value, context: AttributeContext): string | undefined {
  if (value === null) return undefined;
  if (typeof value !== 'string') return refuse('expected the text of an expression');
  context.checkDefault?.(value);
  return value;
}

const compressions = new Map([
  ['none', 'none'],
  ['lz4', 'lz4'],
  ['fast', 'lz4'],
  ['max', 'max'],
  ['auto', 'auto'],
]);

function compression(value: Value): string | undefined {
  if (value === null) return undefined;
  const known = typeof value === 'string' ? compressions.get(value.toLowerCase()) : undefined;
  return known ?? refuse('expected one of none, lz4, fast, max, auto');
}

/** `min` and `max` in the terms they are compared in: a number, a count, or a date. */
function bound(property: PropertyDefinition, value: Value, context: AttributeContext): Value {
  if (value === null) return null;
  const { bounds } = propertyTypeSpec(property.type);
  switch (bounds) {
    case undefined:
      return refuse(`not allowed on a property of type ${property.type}`);
    case 'value':
      return convertBound(value, 'DECIMAL', context);
    case 'date':
      return convertBound(value, property.type, context);
    default:
      return convertBound(value, 'LONG', context);
  }
}

function convertBound(
  value: Value,
  type: PropertyDefinition['type'],
  context: AttributeContext,
): Value {
  // A number stays as it was written; conversion only decides whether it is one.
  const converted = convertValue(value, type, context.formats);
  if (typeof converted === 'symbol') {
    const expected = type === 'DECIMAL' || type === 'LONG' ? 'a number' : `a value of type ${type}`;
    return refuse(`'${shown(value)}' is not ${expected}`);
  }
  const kind = kindOf(value);
  return type === 'DECIMAL' && (kind === 'integer' || kind === 'double') ? value : converted;
}
