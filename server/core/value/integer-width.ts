import type { IntegerWidth, IntegerWidths, StoredRecord, Value, ValueMap } from './value.ts';

export type { IntegerWidth, IntegerWidths };

// How wide the integers of undeclared properties are (sql.md 2.1 rule 1, 2.2). A value is a plain number and tells INTEGER or LONG
// by its range; that 5 was written as `5L` is known to the record that holds it, beside its properties. So nothing that
// computes with values meets widths, and whoever wants to know asks the record.

export const integerWidths = ['LONG', 'SHORT', 'BYTE'] as const satisfies readonly IntegerWidth[];

export function isIntegerWidth(name: unknown): name is IntegerWidth {
  return name === 'LONG' || name === 'SHORT' || name === 'BYTE';
}

/** Whether the value is an integer whose width its record keeps; -0 is none. */
export function isSizable(value: Value): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Object.is(value, -0);
}

/** Whether the value tells by its range that it is a LONG. */
export function isBeyondInt32(value: Value): boolean {
  if (typeof value === 'bigint') return true;
  return typeof value === 'number' && Number.isInteger(value) && (value | 0) !== value;
}

/** How wide the integer in a property of the record is, where its value does not show it. */
export function integerWidthOf(record: StoredRecord, property: string): IntegerWidth | undefined {
  if (record.integerWidthOf !== undefined) return record.integerWidthOf(property);
  return record.integerWidths?.get(property);
}

/** The properties of a record with the widths of some of them, on their way into a row. */
export class SizedProperties extends Map<string, Value> {
  readonly widths: IntegerWidths;
  constructor(properties: ValueMap, widths: IntegerWidths) {
    super(properties);
    this.widths = widths;
  }
}

/** What is known of the widths of properties that are about to be stored. */
export function widthsOf(properties: ValueMap): IntegerWidths | undefined {
  return properties instanceof SizedProperties ? properties.widths : undefined;
}

/** The properties with these widths; `properties` itself when that changes nothing. */
export function withWidths(properties: ValueMap, widths: IntegerWidths | undefined): ValueMap {
  if (widthsOf(properties) === widths) return properties;
  return widths === undefined || widths.size === 0
    ? new Map(properties)
    : new SizedProperties(properties, widths);
}

/** All properties of a record, in stored order. Cost: decodes every cell. */
export function valuesOf(record: StoredRecord): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const name of record.propertyNames()) values.set(name, record.get(name) ?? null);
  return values;
}

/** As `valuesOf`, with the widths of the record, to be stored as they are. */
export function propertiesOf(record: StoredRecord): ValueMap {
  return withWidths(valuesOf(record), record.integerWidths);
}

/** Whether the values of two records under these names are equally wide, where they are equal. */
export function haveSameWidths(
  properties: ValueMap,
  a: IntegerWidths | undefined,
  b: IntegerWidths | undefined,
): boolean {
  if (a === b) return true;
  for (const [name, value] of properties) {
    if (a?.get(name) === b?.get(name)) continue;
    // The range of others tells.
    if (isSizable(value) && !isBeyondInt32(value)) return false;
  }
  return true;
}
