import type { PropertyDefinition, PropertyTypeName } from '#catalog/catalog.ts';
import { Float, type Value } from '#core/value/value.ts';
import { type CellKind, cellKind } from '#storage/format/cell.ts';
import type { RowRecord } from '#storage/format/row-record.ts';
import type { Column, Shape } from '#storage/format/shape.ts';
import type { WriteRules } from './write-rules.ts';

/** A column of which each row must be looked at. */
interface WatchedColumn {
  readonly column: Column;
  /** The place of the value that it gets; -1: it stays. */
  readonly at: number;
  /** A null in it is to be refused, which the long way does. */
  readonly refusesNull: boolean;
  /** Declared a floating number and kept among plain numbers: an integer in it would be converted. */
  readonly refusesInteger: boolean;
}

interface Placed {
  readonly columns: readonly Column[];
  readonly watched: readonly WatchedColumn[];
  /** Places of names that are not declared: objects given to them may have to be converted. */
  readonly undeclared: readonly number[];
}

/**
 * Some properties of a record get other values and all others stay: what `UPDATE ... SET` mostly is. Where the row of the record
 * has a column for each and nothing but the types of properties is declared, its bytes are changed in place; everything
 * that conversion, checks of what stays, or keys would have to look at goes the long way (`RecordWriter.update`).
 *
 * One object serves all records of a statement; it remembers the layout of the last one.
 */
export class PropertyPatch {
  /** Distinct. */
  readonly names: readonly string[];
  #rules: WriteRules | undefined;
  #shape: Shape | undefined;
  #placed: Placed | undefined;

  constructor(names: readonly string[]) {
    this.names = names;
  }

  /**
   * The columns of the properties in the row of the record; undefined when it must be written the long way.
   * Cost: nothing, for the layout of the last record, but a look at the cells that must be watched.
   */
  columnsIn(
    record: RowRecord,
    rules: WriteRules,
    values: readonly Value[],
  ): readonly Column[] | undefined {
    const { shape } = record;
    if (shape !== this.#shape || rules !== this.#rules) {
      this.#placed = placeOf(this.names, shape, rules);
      this.#shape = shape;
      this.#rules = rules;
    }
    const placed = this.#placed;
    if (placed === undefined) return undefined;
    for (let at = 0; at < placed.watched.length; at += 1) {
      const watched = placed.watched[at] as WatchedColumn;
      if (isRefused(watched, record, values)) return undefined;
    }
    for (let at = 0; at < placed.undeclared.length; at += 1) {
      const value = values[placed.undeclared[at] as number];
      if (typeof value === 'object' && value !== null && !(value instanceof Float))
        return undefined;
    }
    return placed.columns;
  }
}

function isRefused(
  { column, at, refusesNull, refusesInteger }: WatchedColumn,
  { image, row }: RowRecord,
  values: readonly Value[],
): boolean {
  if (at >= 0) return refusesNull && values[at] === null;
  const isNull = ((image.bytes[row + column.nullByte] as number) & column.nullMask) !== 0;
  if (isNull) return refusesNull;
  return refusesInteger && Number.isInteger(image.view.getFloat64(row + column.fixedOffset, true));
}

function placeOf(names: readonly string[], shape: Shape, rules: WriteRules): Placed | undefined {
  const columns: Column[] = [];
  for (const name of names) {
    const column = shape.column(name);
    if (column === undefined || rules.keyedProperties.has(name)) return undefined;
    columns.push(column);
  }
  const watched: WatchedColumn[] = [];
  for (const property of rules.properties.values()) {
    const column = shape.column(property.name);
    if (isConstrained(property, column)) return undefined;
    if (column === undefined) continue;
    const refusesInteger = column.kind === cellKind.number && floatingTypes.has(property.type);
    if (cellOf[property.type] !== column.kind && !refusesInteger) return undefined;
    if (refusesInteger || property.notNull)
      watched.push({
        column,
        at: columns.indexOf(column),
        refusesInteger,
        refusesNull: property.notNull,
      });
  }
  // Nested values have declarations of their own.
  if (shape.columns.some(({ kind }) => kind === cellKind.any)) return undefined;
  const undeclared = [...names.keys()].filter((at) => !rules.properties.has(names[at] as string));
  return { columns, watched, undeclared };
}

/** Whether more than the type is declared of a property, `column` aside, which holds it in all rows of the shape. */
function isConstrained(property: PropertyDefinition, column: Column | undefined): boolean {
  return (
    (property.mandatory && column === undefined) ||
    property.readOnly ||
    property.min !== null ||
    property.max !== null ||
    property.regexp !== undefined ||
    property.ofType !== undefined
  );
}

const floatingTypes: ReadonlySet<PropertyTypeName> = new Set<PropertyTypeName>(['DOUBLE', 'FLOAT']);

/** The cells of which every value is one of the type already. */
const cellOf: Partial<Record<PropertyTypeName, CellKind>> = {
  BOOLEAN: cellKind.boolean,
  BYTE: cellKind.number,
  SHORT: cellKind.number,
  INTEGER: cellKind.number,
  LONG: cellKind.number,
  FLOAT: cellKind.double,
  DOUBLE: cellKind.double,
  DATE: cellKind.date,
  DATETIME: cellKind.dateTimeMillis,
  DATETIME_SECOND: cellKind.dateTimeSecond,
  STRING: cellKind.string,
  BINARY: cellKind.bytes,
  DECIMAL: cellKind.decimal,
  LINK: cellKind.link,
};
