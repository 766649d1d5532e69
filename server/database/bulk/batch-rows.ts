import type { Catalog, PropertyDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { coerceDeclared, coerceProperties, storable } from '#catalog/coercion.ts';
import { requireName } from '#catalog/name-rules.ts';
import { validateEmbedded, validateRecord } from '#catalog/validation.ts';
import { type IntegerWidth, type IntegerWidths, withWidths } from '#core/value/integer-width.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { anyColumn, type CellKind, cellKind, cellKindFor } from '#storage/format/cell.ts';
import type { Shape, ShapeRegistry } from '#storage/format/shape.ts';
import type { DefaultEvaluator } from '#transaction/transaction.ts';

/** The part of a batch that rows are made from. */
export interface Table {
  readonly columns: readonly string[];
  readonly values: readonly (Value | undefined)[];
  readonly rowCount: number;
  readonly widths?: IntegerWidths | undefined;
}

/** Rows ready to be written: converted, checked, and either columns of one shape or a property map each. */
export interface BatchRows {
  /** Defined when all rows fit one shape, which is the fast way. */
  readonly shape: Shape | undefined;
  /** Of all rows, row-major; only when there is a shape. */
  readonly values: readonly Value[];
  /** Makes row `at` the current one. */
  select(at: number): void;
  /** Of the current row. */
  columnValues(): readonly Value[];
  properties(): ValueMap;
  get(name: string): Value | undefined;
}

export interface RowSurroundings {
  readonly catalog: Catalog;
  readonly formats: TemporalFormats;
  readonly shapes: ShapeRegistry;
  readonly defaults: DefaultEvaluator;
  /** `service.maxNameLength` */
  readonly nameLengthMax: number;
}

/**
 * Converts and checks the rows of a batch as an insert would (sql.md 2.1, 13.6, 13.7). Types without constraints and
 * defaults, whose rows have all columns, are written column by column; others row by row.
 *
 * @throws DatabaseError of the first row that may not be stored
 */
export function batchRows(
  type: TypeDefinition,
  table: Table,
  surroundings: RowSurroundings,
): BatchRows {
  for (const name of table.columns) {
    requireName('property', name, surroundings.nameLengthMax);
  }
  const declared = surroundings.catalog.properties(type.id);
  const isPlain = [...declared.values()].every(
    (property) => isUnconstrained(property) && !isMissingDefault(property, table.columns),
  );
  if (!isPlain || type.lightweight) return new CheckedRows(type, table, surroundings);
  const rows = new ColumnRows(type, table, surroundings);
  return rows.shape === undefined ? new CheckedRows(type, table, surroundings) : rows;
}

function isUnconstrained(property: PropertyDefinition): boolean {
  const { mandatory, notNull, min, max, regexp, ofType, type } = property;
  const isSimple = type !== 'LINK' && type !== 'EMBEDDED' && type !== 'LIST' && type !== 'MAP';
  if (mandatory || notNull || regexp !== undefined || ofType !== undefined) return false;
  return isSimple && min === null && max === null;
}

function isMissingDefault(property: PropertyDefinition, columns: readonly string[]): boolean {
  return property.default !== undefined && !columns.includes(property.name);
}

interface ColumnKind {
  readonly name: string;
  readonly kind: CellKind;
  readonly width?: IntegerWidth | undefined;
}

/** Rows of one shape. */
class ColumnRows implements BatchRows {
  readonly shape: Shape | undefined;
  readonly values: Value[];
  readonly #columns: readonly string[];
  readonly #current: Value[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(type: TypeDefinition, table: Table, surroundings: RowSurroundings) {
    const { columns } = table;
    this.#columns = columns;
    this.#places = new Map(columns.map((name, at) => [name, at]));
    this.#current = new Array<Value>(columns.length).fill(null);
    this.values = new Array<Value>(table.values.length).fill(null);
    const specs = columns.map((name, at) => this.#convert(type, table, surroundings, { name, at }));
    this.shape = specs.every((spec) => spec !== undefined)
      ? shapeFor(type, specs, surroundings.shapes)
      : undefined;
  }

  /** Converts a column. @returns what it is; undefined when its values have different kinds, or are not all there */
  #convert(
    type: TypeDefinition,
    table: Table,
    surroundings: RowSurroundings,
    column: { readonly name: string; readonly at: number },
  ): ColumnKind | undefined {
    const { name } = column;
    const property = surroundings.catalog.property(type.id, name);
    const width = property === undefined ? table.widths?.get(name) : undefined;
    let hasFractions = false;
    let kind: CellKind | undefined;
    for (let at = column.at; at < table.values.length; at += table.columns.length) {
      const given = table.values[at];
      if (given === undefined) return undefined;
      const value =
        property === undefined
          ? storable(given, surroundings)
          : coerceDeclared(property, given, surroundings);
      this.values[at] = value;
      if (typeof value === 'object' && value !== null) validateEmbedded(value, surroundings);
      if (width !== undefined && !hasFractions && typeof value === 'number')
        hasFractions = !Number.isInteger(value);
      const wanted = cellKindFor(value);
      if (wanted === anyColumn || wanted === kind) continue;
      const merged = kind === undefined ? wanted : mergedKind(kind, wanted, property);
      if (merged === undefined) return undefined;
      kind = merged;
    }
    // Beside fractions integers are kept as what their values show, in one column.
    return kind === cellKind.number && !hasFractions
      ? { name, kind, width }
      : { name, kind: kind ?? cellKind.any };
  }

  select(at: number): void {
    const width = this.#columns.length;
    for (let column = 0; column < width; column += 1) {
      this.#current[column] = this.values[at * width + column] as Value;
    }
  }

  columnValues(): readonly Value[] {
    return this.#current;
  }

  properties(): ValueMap {
    return new Map(this.#columns.map((name, at) => [name, this.#current[at] ?? null]));
  }

  get(name: string): Value | undefined {
    const place = this.#places.get(name);
    return place === undefined ? undefined : this.#current[place];
  }
}

/** A declared DOUBLE has fractions, which are plain numbers, and integral values, which are wrapped. */
function mergedKind(
  kind: CellKind,
  other: CellKind,
  property: PropertyDefinition | undefined,
): CellKind | undefined {
  const isDouble = property?.type === 'DOUBLE' || property?.type === 'FLOAT';
  const isNumeric = (one: CellKind): boolean => one === cellKind.number || one === cellKind.double;
  return isDouble && isNumeric(kind) && isNumeric(other) ? cellKind.double : undefined;
}

/** Undefined when the type has its share of shapes. */
function shapeFor(
  type: TypeDefinition,
  columns: readonly ColumnKind[],
  shapes: ShapeRegistry,
): Shape | undefined {
  const shape = shapes.forColumns(type.id, type.kind === 'edge', columns);
  return shape.columns.length === columns.length ? shape : undefined;
}

/** Any rows, one property map each. */
class CheckedRows implements BatchRows {
  readonly shape = undefined;
  readonly values: readonly Value[] = [];
  readonly #type: TypeDefinition;
  readonly #table: Table;
  readonly #surroundings: RowSurroundings;
  /** Of undeclared columns. */
  readonly #widths: IntegerWidths | undefined;
  #current: ValueMap = new Map();

  constructor(type: TypeDefinition, table: Table, surroundings: RowSurroundings) {
    this.#type = type;
    this.#table = table;
    this.#surroundings = surroundings;
    const declared = surroundings.catalog.properties(type.id);
    const widths = [...(table.widths ?? [])].filter(([name]) => !declared.has(name));
    this.#widths = widths.length === 0 ? undefined : new Map(widths);
  }

  select(at: number): void {
    const { columns, values } = this.#table;
    const properties = new Map<string, Value>();
    for (let column = 0; column < columns.length; column += 1) {
      const value = values[at * columns.length + column];
      if (value !== undefined) properties.set(columns[column] as string, value);
    }
    this.#addDefaults(properties);
    const { id } = this.#type;
    const content = coerceProperties(id, properties, this.#surroundings);
    validateRecord(id, content, undefined, this.#surroundings);
    this.#current = this.#widths === undefined ? content : withWidths(content, this.#widths);
  }

  #addDefaults(properties: Map<string, Value>): void {
    for (const property of this.#surroundings.catalog.properties(this.#type.id).values()) {
      if (property.default === undefined || properties.has(property.name)) continue;
      const value = this.#surroundings.defaults(property.default);
      if (value !== undefined && value !== null) properties.set(property.name, value);
    }
  }

  columnValues(): readonly Value[] {
    return [...this.#current.values()];
  }

  properties(): ValueMap {
    return this.#current;
  }

  get(name: string): Value | undefined {
    return this.#current.get(name);
  }
}
