import { convertValue } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { eachInSteps } from '#core/value/many-properties.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { Link } from '#core/value/record.ts';
import { bucketOf, type TypeId } from '#core/value/rid.ts';
import { textOf } from '#core/text/text-form.ts';
import {
  EmbeddedDocument,
  isList,
  isMap,
  kindOf,
  type Value,
  type ValueMap,
} from '#core/value/value.ts';
import { compareNumbers, compareValues, type NumberValue } from '#core/value/value-order.ts';
import type { PropertyDefinition, TypeDefinition } from './catalog.ts';
import type { CoercionContext } from './coercion.ts';
import { isScalarType, propertyTypeNamed, propertyTypeSpec } from './property-type.ts';
import { matchesWhole } from './whole-pattern.ts';

/**
 * Checks a record against the declarations of its type, property by property in the order of sql.md 13.6. Values must have
 * been coerced. Embedded documents inside are checked against their own types.
 *
 * @param before the stored properties of an updated record; undefined on insert
 * @throws DatabaseError `Validation` `The property 'T.p' <reason>`
 * Cost: one lookup per declared property; nothing for types without declarations.
 */
export function validateRecord(
  type: TypeId,
  properties: ValueMap,
  before: StoredProperties | undefined,
  context: CoercionContext,
): void {
  validateDeclared(type, properties, before, context);
  for (const value of properties.values()) {
    if (typeof value === 'object' && value !== null) validateEmbedded(value, context);
  }
}

/** As `validateRecord`, with pauses where properties are many. */
export function* validateRecordInSteps(
  type: TypeId,
  properties: ValueMap,
  before: StoredProperties | undefined,
  context: CoercionContext,
): PausingWork<void> {
  validateDeclared(type, properties, before, context);
  yield* eachInSteps(properties.values(), (value) => {
    if (typeof value === 'object' && value !== null) validateEmbedded(value, context);
  });
}

function validateDeclared(
  type: TypeId,
  properties: ValueMap,
  before: StoredProperties | undefined,
  context: CoercionContext,
): void {
  const declared = context.catalog.properties(type);
  if (properties.size > 0) requireMayHaveProperties(context.catalog.typeWithId(type));
  if (declared.size === 0) return;
  for (const property of declared.values()) validateProperty(property, properties, before, context);
}

/** sql.md 1.5 rule 4. */
function requireMayHaveProperties(type: TypeDefinition): void {
  if (!type.lightweight) return;
  throw new DatabaseError(
    'IllegalArgument',
    `Edge type '${type.name}' is declared LIGHTWEIGHT, so its edges cannot have properties`,
  );
}

/** Where the values before an update come from; a stored record is one. */
export interface StoredProperties {
  get(name: string): Value | undefined;
}

function validateProperty(
  property: PropertyDefinition,
  properties: ValueMap,
  before: StoredProperties | undefined,
  context: CoercionContext,
): void {
  const value = properties.get(property.name);
  if (value === undefined) {
    if (property.mandatory) {
      const record = recordText(properties, context);
      throw refusal(property, `is mandatory, but not found on record: ${record}`, context);
    }
  } else if (value === null) {
    if (property.notNull) {
      throw refusal(
        property,
        `cannot be null, record: ${recordText(properties, context)}`,
        context,
      );
    }
  } else {
    validateValue(property, value, context);
  }
  if (property.readOnly && before !== undefined) {
    const stored = before.get(property.name);
    const isSame =
      value === undefined || stored === undefined ? value === stored : valuesEqual(value, stored);
    if (!isSame) {
      const shown = shownText(value ?? null, context);
      throw refusal(
        property,
        `is immutable and cannot be altered. Field value is: ${shown}`,
        context,
      );
    }
  }
}

function validateValue(property: PropertyDefinition, value: Value, context: CoercionContext): void {
  if (property.regexp !== undefined) {
    const text = textOf(value, context.formats);
    if (!matchesWhole(property.regexp, text)) {
      throw refusal(
        property,
        `does not match the regular expression '${property.regexp}'. Field value is: ${text}`,
        context,
      );
    }
  }
  if (property.ofType !== undefined) validateElements(property, value, context);
  if (property.min !== null)
    validateBound(property, value, { limit: property.min, side: 'min' }, context);
  if (property.max !== null)
    validateBound(property, value, { limit: property.max, side: 'max' }, context);
}

/** The declaring type names the property, as its subtypes only inherit it. */
function refusal(
  property: PropertyDefinition,
  reason: string,
  context: CoercionContext,
): DatabaseError {
  const type = context.catalog.typeWithId(property.declaredBy).name;
  return new DatabaseError('Validation', `The property '${type}.${property.name}' ${reason}`);
}

/** A record or value in a message: at most 200 characters of it. */
function shownText(value: Value, context: CoercionContext): string {
  const text = value === null ? 'null' : textOf(value, context.formats);
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

function recordText(properties: ValueMap, context: CoercionContext): string {
  return shownText(properties, context);
}

// --- OF

function validateElements(
  property: PropertyDefinition,
  value: Value,
  context: CoercionContext,
): void {
  if (isList(value)) {
    for (const element of value) validateElement(property, element, context);
  } else if (isMap(value)) {
    for (const element of value.values()) validateElement(property, element, context);
  } else {
    validateElement(property, value, context);
  }
}

function validateElement(
  property: PropertyDefinition,
  element: Value,
  context: CoercionContext,
): void {
  const of = property.ofType ?? '';
  if (element === null) return;
  const wanted = context.catalog.typeNamed(of);
  const declared = `has been declared as ${property.type} of '${of}' but`;
  if (wanted === undefined) {
    const scalar = propertyTypeNamed(of);
    if (scalar === undefined || !isScalarType(scalar)) {
      throw refusal(property, `${declared} type '${of}' does not exist any more`, context);
    }
    if (isNested(element) || typeof convertValue(element, scalar, context.formats) === 'symbol') {
      const found = `contains a value of type '${kindOf(element)}': ${shownText(element, context)}`;
      throw refusal(property, `${declared} ${found}`, context);
    }
    return;
  }
  const actual = typeOfElement(element, context);
  if (actual === undefined) {
    const found = `contains a value of type '${kindOf(element)}': ${shownText(element, context)}`;
    throw refusal(property, `${declared} ${found}`, context);
  }
  if (!context.catalog.isSubtype(actual, wanted.id)) {
    const name = context.catalog.typeWithId(actual).name;
    const found = `contains a record of type '${name}': ${shownText(element, context)}`;
    throw refusal(property, `${declared} ${found}`, context);
  }
}

function isNested(value: Value): boolean {
  return isList(value) || isMap(value) || value instanceof EmbeddedDocument;
}

/** The record type of a link or an embedded document. */
function typeOfElement(element: Value, context: CoercionContext): TypeId | undefined {
  const { catalog, typeOfRid } = context;
  if (element instanceof EmbeddedDocument) return catalog.typeNamed(element.typeName)?.id;
  if (!(element instanceof Link)) return undefined;
  const { rid } = element;
  return typeOfRid === undefined ? catalog.bucketWithId(bucketOf(rid))?.type : typeOfRid(rid);
}

// --- min, max

interface Bound {
  readonly limit: Value;
  readonly side: 'min' | 'max';
}

function validateBound(
  property: PropertyDefinition,
  value: Value,
  bound: Bound,
  context: CoercionContext,
): void {
  const { limit, side } = bound;
  const { bounds } = propertyTypeSpec(property.type);
  const isMin = side === 'min';
  const isWrong = (order: number) => (isMin ? order < 0 : order > 0);
  switch (bounds) {
    case undefined:
      return;
    case 'value': {
      if (!isWrong(compareNumbers(value as NumberValue, limit as NumberValue))) return;
      const [shown, than] = [shownText(value, context), shownText(limit, context)];
      throw refusal(
        property,
        `value ${shown} is ${isMin ? 'less' : 'greater'} than ${than}`,
        context,
      );
    }
    case 'date': {
      if (!isWrong(compareValues(value, limit))) return;
      const [shown, than] = [shownText(value, context), shownText(limit, context)];
      throw refusal(
        property,
        isMin
          ? `contains the date ${shown} which precedes the first acceptable date (${than})`
          : `contains the date ${shown} which is after the last acceptable date (${than})`,
        context,
      );
    }
    default: {
      if (!isWrong(sizeOf(value) - Number(limit))) return;
      throw refusal(
        property,
        `contains ${isMin ? 'fewer' : 'more'} ${bounds} than ${String(limit)} requested`,
        context,
      );
    }
  }
}

/** Characters (code points), bytes or items. */
function sizeOf(value: Value): number {
  if (typeof value === 'string') {
    let count = value.length;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit >= 0xd800 && unit <= 0xdbff) count -= 1;
    }
    return count;
  }
  if (isMap(value)) return value.size;
  if (isList(value) || value instanceof Uint8Array) return value.length;
  return 0;
}

// --- embedded documents

/**
 * Checks the embedded documents in a value against the declarations of their own types.
 * @throws DatabaseError `Validation`
 */
export function validateEmbedded(value: Value, context: CoercionContext): void {
  if (isList(value)) {
    for (const item of value) {
      if (typeof item === 'object' && item !== null) validateEmbedded(item, context);
    }
  } else if (isMap(value)) {
    for (const item of value.values()) {
      if (typeof item === 'object' && item !== null) validateEmbedded(item, context);
    }
  } else if (value instanceof EmbeddedDocument) {
    const type = context.catalog.typeNamed(value.typeName);
    if (type !== undefined) validateRecord(type.id, value.properties, undefined, context);
  }
}
