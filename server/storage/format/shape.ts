import { DatabaseError } from '#core/errors.ts';
import {
  type IntegerWidth,
  type IntegerWidths,
  integerWidths,
  isIntegerWidth,
  isSizable,
  widthsOf,
} from '#core/value/integer-width.ts';
import type { PropertyId, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import {
  anyColumn,
  type CellKind,
  cellKind,
  cellKindCount,
  cellKindFor,
  fixedWidth,
} from './cell.ts';
import type { RowOperation } from './row-operations.ts';

// Shapes: what rows of one layout have in common (storage.md 3.2). A shape is learnt from the property set of a record,
// in its order; rows with the same properties of the same kinds share it. Start reading at `ShapeRegistry.forProperties`.
//
// Invariants: a shape never changes once made. Its number is stored in rows, so a row may be applied only together with
// or after the `shape` operation that defines it (`definitionsFor`). A property that no shape has a column for stands in
// the row's extra map, under its name. Property numbers here are the registry's own and are used in keys of large cells.
//
// Integers of one width (`5L`) have columns of their own, which are `number` columns to all that read and compare values:
// the width stands beside the kind, in the shape alone.

/** Rows begin with: u32 length, u16 shape, u16 flags, f64 version. */
export const rowHeaderSize = 16;
/** Where the flags of a row stand. */
export const rowFlagsOffset = 6;
export const rowVersionOffset = 8;

export const rowFlag = {
  extraMap: 1,
  jsonSafe: 2,
  outsideCells: 4,
  wideEnds: 8,
  /** Some cells without a value do not exist at all (the others are null); marks stand behind the variable cells. */
  absentMarks: 16,
  /** The extra map is kept outside, under the property number `extraMapId`. */
  outsideExtra: 32,
  /** There are values of the feature `extendedValues` among the cells. Rows written before 2026-11-23 do not say so. */
  extendedValues: 64,
} as const;

/** The property number under which an extra map is kept outside its row. */
export const extraMapId = 0xffff as PropertyId;

export const shapesPerTypeMax = 256;
export const columnsPerShapeMax = 256;
const shapeCountMax = 0xffff;
/** The rest is kept for the shapes without columns, of which every type needs one. */
const learntShapeMax = 0xf000;
const propertyIdMax = 0xfffe;

/** One column: all that is needed to find and decode its cell in any row of the shape. */
export interface Column {
  readonly id: PropertyId;
  readonly name: string;
  readonly kind: CellKind;
  /** Of a `number` column: all its values are integers, and so wide. */
  readonly width: IntegerWidth | undefined;
  /** Place in the shape. */
  readonly ordinal: number;
  /** Byte of the row with the null bit, and the bit. */
  readonly nullByte: number;
  readonly nullMask: number;
  /** Bytes from the start of the row to the fixed cell; -1 for variable cells. */
  readonly fixedOffset: number;
  /** Place among the variable cells; -1 for fixed ones. */
  readonly variableIndex: number;
}

export interface ColumnSpec {
  readonly id: PropertyId;
  readonly name: string;
  readonly kind: CellKind;
  readonly width?: IntegerWidth | undefined;
}

export class Shape {
  readonly id: number;
  readonly type: TypeId;
  /** Rows start with two fixed cells, source and target. */
  readonly isEdge: boolean;
  readonly columns: readonly Column[];
  readonly names: readonly string[];
  /** Of its columns; undefined when none has one. */
  readonly widths: IntegerWidths | undefined;
  readonly nullBytes: number;
  /** Of the source's record id; the target's follows 8 bytes later. */
  readonly endpointsOffset: number;
  /** Where the end offsets of the variable cells begin; where they would, when there are none. */
  readonly endsOffset: number;
  readonly variableCount: number;
  readonly #byName = new Map<string, Column>();

  constructor(id: number, type: TypeId, isEdge: boolean, specs: readonly ColumnSpec[]) {
    this.id = id;
    this.type = type;
    this.isEdge = isEdge;
    this.nullBytes = Math.ceil(specs.length / 32) * 4;
    this.endpointsOffset = rowHeaderSize + this.nullBytes;
    const offsets = fixedOffsets(specs, this.endpointsOffset + (isEdge ? 16 : 0));
    this.endsOffset = offsets.end;
    let variableCount = 0;
    this.columns = specs.map((spec, ordinal) => ({
      id: spec.id,
      name: spec.name,
      kind: spec.kind,
      width: spec.width,
      ordinal,
      nullByte: rowHeaderSize + (ordinal >>> 3),
      nullMask: 1 << (ordinal & 7),
      fixedOffset: offsets.byOrdinal[ordinal] as number,
      variableIndex: fixedWidth(spec.kind) === 0 ? variableCount++ : -1,
    }));
    this.variableCount = variableCount;
    this.names = specs.map((spec) => spec.name);
    this.widths = widthsOfColumns(specs);
    for (const column of this.columns) this.#byName.set(column.name, column);
  }

  /** Cost: one map lookup. */
  column(name: string): Column | undefined {
    return this.#byName.get(name);
  }
}

function widthsOfColumns(specs: readonly ColumnSpec[]): IntegerWidths | undefined {
  const widths = new Map<string, IntegerWidth>();
  for (const { name, width } of specs) if (width !== undefined) widths.set(name, width);
  return widths.size === 0 ? undefined : widths;
}

/** Widest cells first, in column order; -1 for variable ones. */
function fixedOffsets(
  specs: readonly ColumnSpec[],
  start: number,
): { readonly byOrdinal: readonly number[]; readonly end: number } {
  const byOrdinal = specs.map(() => -1);
  let end = start;
  for (const width of [8, 1]) {
    specs.forEach((spec, ordinal) => {
      if (fixedWidth(spec.kind) !== width) return;
      byOrdinal[ordinal] = end;
      end += width;
    });
  }
  return { byOrdinal, end };
}

/** One more column. */
interface Step {
  readonly name: string;
  readonly kind: CellKind;
  readonly width?: IntegerWidth | undefined;
}

/** A step of the tree of known property orders of one type. */
interface Node {
  /** By name and `stepNumber`. */
  readonly children: Map<string, (Node | undefined)[]>;
  readonly depth: number;
  readonly parent: Node | undefined;
  readonly name: string;
  readonly kind: CellKind;
  readonly width: IntegerWidth | undefined;
  shape: Shape | undefined;
}

interface TypeShapes {
  readonly type: TypeId;
  readonly isEdge: boolean;
  readonly root: Node;
  count: number;
}

/** The shapes of one database. Shapes live for the life of the engine. */
export class ShapeRegistry {
  readonly #shapes: (Shape | undefined)[] = [];
  readonly #types = new Map<TypeId, TypeShapes>();
  readonly #propertyIds = new Map<string, PropertyId>();
  /** Shapes whose definition is durable. */
  readonly #saved = new Set<number>();
  /** Shapes of the log whose commit is not durable yet. */
  readonly #taken = new Set<number>();
  #nextProperty = 1;

  /** @throws DatabaseError `CorruptedRecord` for a number that no definition gave */
  shape(id: number): Shape {
    const shape = this.#shapes[id];
    if (shape === undefined) {
      throw new DatabaseError('CorruptedRecord', `a row names the unknown shape ${id}`);
    }
    return shape;
  }

  /**
   * The shape for a record of the type with these properties: all of them are columns, or the leading ones when the type
   * has its share of shapes (the others then belong into the extra map). Learns a new one where it may.
   * Cost: one or two map lookups per property.
   */
  forProperties(type: TypeId, isEdge: boolean, properties: ValueMap): Shape {
    const shapes = this.#types.get(type) ?? this.#addType(type, isEdge);
    const mayLearn = this.#mayLearn(shapes);
    const widths = widthsOf(properties);
    let node = shapes.root;
    for (const [name, value] of properties) {
      const width = widths === undefined ? undefined : widths.get(name);
      const child =
        width !== undefined && isSizable(value)
          ? childOfKind(node, { name, kind: cellKind.number, width }, mayLearn)
          : childFor(node, name, value, mayLearn);
      if (child === undefined) return this.#nearestShape(shapes, node);
      node = child;
    }
    return node.shape ?? this.#learn(shapes, node);
  }

  /** The shape with exactly these columns or leading ones of them, for writers that know their columns beforehand. */
  forColumns(type: TypeId, isEdge: boolean, columns: readonly Step[]): Shape {
    const shapes = this.#types.get(type) ?? this.#addType(type, isEdge);
    const mayLearn = this.#mayLearn(shapes);
    let node = shapes.root;
    for (const column of columns) {
      const child = childOfKind(node, column, mayLearn);
      if (child === undefined) return this.#nearestShape(shapes, node);
      node = child;
    }
    return node.shape ?? this.#learn(shapes, node);
  }

  /** Every property name that rows or shapes use, with its number there. */
  propertyNames(): ReadonlyMap<string, PropertyId> {
    return this.#propertyIds;
  }

  /** The `shape` operations that an entry with these operations must carry in front: of shapes that are not durable yet. */
  definitionsFor(operations: readonly RowOperation[]): RowOperation[] {
    const definitions: RowOperation[] = [];
    const seen = new Set<number>();
    for (const operation of operations) {
      if (operation.op !== 'put-row') continue;
      const id = (operation.row[4] as number) | ((operation.row[5] as number) << 8);
      if (this.#saved.has(id) || seen.has(id)) continue;
      seen.add(id);
      definitions.push({ op: 'shape', id, definition: encodeShape(this.shape(id)) });
    }
    return definitions;
  }

  /** True once the definition is durable. */
  isSaved(id: number): boolean {
    return this.#saved.has(id);
  }

  /** The definition is durable; the engine says so while opening and after a commit. */
  saved(id: number): void {
    this.#saved.add(id);
    this.#taken.delete(id);
  }

  /** Takes over a definition; the engine calls it while opening and applying. What the log says comes before what was learnt. */
  define(id: number, definition: Uint8Array): void {
    if (this.#saved.has(id)) return;
    this.#taken.add(id);
    const known = this.#shapes[id];
    if (known !== undefined) {
      if (Buffer.compare(encodeShape(known), definition) === 0) return;
      // Others of the same commit stay: nobody would define them again.
      this.#keep((other) => other !== id && (this.#saved.has(other) || this.#taken.has(other)));
    }
    this.#add(decodeShape(id, definition));
  }

  /**
   * Forgets what transactions have learnt and nobody has committed. Rows that were made with it are void: in a cluster another
   * server may have given the same numbers to something else.
   */
  forgetUnsaved(): void {
    this.#taken.clear();
    this.#keep((id) => this.#saved.has(id));
  }

  #keep(stays: (id: number) => boolean): void {
    const kept = this.#shapes.flatMap((shape) =>
      shape !== undefined && stays(shape.id) ? [shape] : [],
    );
    this.#shapes.length = 0;
    this.#types.clear();
    this.#propertyIds.clear();
    this.#nextProperty = 1;
    for (const shape of kept) this.#add(shape);
  }

  #add(shape: Shape): void {
    this.#shapes[shape.id] = shape;
    const shapes = this.#types.get(shape.type) ?? this.#newType(shape.type, shape.isEdge);
    shapes.count += 1;
    let node = shapes.root;
    for (const column of shape.columns) {
      this.#propertyIds.set(column.name, column.id);
      this.#nextProperty = Math.max(this.#nextProperty, column.id + 1);
      node = childOfKind(node, column, true) ?? node;
    }
    node.shape ??= shape;
  }

  #newType(type: TypeId, isEdge: boolean): TypeShapes {
    const shapes = {
      type,
      isEdge,
      root: newNode(undefined, { name: '', kind: cellKind.any }),
      count: 0,
    };
    this.#types.set(type, shapes);
    return shapes;
  }

  #addType(type: TypeId, isEdge: boolean): TypeShapes {
    const shapes = this.#newType(type, isEdge);
    this.#make(shapes, shapes.root);
    return shapes;
  }

  #mayLearn(shapes: TypeShapes): boolean {
    return (
      shapes.count < shapesPerTypeMax &&
      this.#shapes.length < learntShapeMax &&
      this.#nextProperty + columnsPerShapeMax <= propertyIdMax
    );
  }

  /** The shape of the longest leading part of the way to `node`; the one without columns takes any record. */
  #nearestShape(shapes: TypeShapes, from: Node): Shape {
    for (let node = from; node.parent !== undefined; node = node.parent) {
      if (node.shape !== undefined) return node.shape;
    }
    return shapes.root.shape ?? this.#make(shapes, shapes.root);
  }

  #learn(shapes: TypeShapes, node: Node): Shape {
    return this.#mayLearn(shapes) ? this.#make(shapes, node) : this.#nearestShape(shapes, node);
  }

  #make(shapes: TypeShapes, node: Node): Shape {
    const id = Math.max(this.#shapes.length, 1);
    if (id > shapeCountMax) {
      throw new DatabaseError('SchemaLimit', `a database has at most ${shapeCountMax} row shapes`);
    }
    const shape = new Shape(id, shapes.type, shapes.isEdge, this.#specs(node));
    this.#shapes[id] = shape;
    shapes.count += 1;
    node.shape = shape;
    return shape;
  }

  /** The columns on the way to the node. */
  #specs(node: Node): ColumnSpec[] {
    const specs: ColumnSpec[] = [];
    for (let at = node; at.parent !== undefined; at = at.parent) {
      const { name, kind, width } = at;
      specs.push({ id: this.#propertyId(name), name, kind, width });
    }
    return specs.reverse();
  }

  #propertyId(name: string): PropertyId {
    const known = this.#propertyIds.get(name);
    if (known !== undefined) return known;
    const id = this.#nextProperty++ as PropertyId;
    this.#propertyIds.set(name, id);
    return id;
  }
}

function newNode(parent: Node | undefined, { name, kind, width }: Step): Node {
  const depth = parent === undefined ? 0 : parent.depth + 1;
  return { children: new Map(), depth, parent, name, kind, width, shape: undefined };
}

/** Tells the steps of one name apart: their kind, or behind the kinds their width. */
function stepNumber({ kind, width }: Step): number {
  return width === undefined ? kind : cellKindCount + integerWidths.indexOf(width);
}

/** The step for a property of this value; makes it where the type may still learn. */
function childFor(node: Node, name: string, value: Value, mayLearn: boolean): Node | undefined {
  const wanted = cellKindFor(value);
  const kinds = node.children.get(name);
  if (kinds === undefined) {
    const kind = wanted === anyColumn ? cellKind.any : wanted;
    return childOfKind(node, { name, kind }, mayLearn);
  }
  if (wanted === anyColumn) return kinds.find((kind) => kind !== undefined);
  const kind = wanted === cellKind.number ? numberKind(kinds, value as number) : wanted;
  return kinds[kind] ?? childOfKind(node, { name, kind }, mayLearn);
}

/**
 * Numbers may have a choice: a fraction fits double columns, so that a declared DOUBLE has one shape whatever its values
 * are; a small integer fits a column that had a 64-bit one.
 */
function numberKind(kinds: readonly (Node | undefined)[], value: number): CellKind {
  if (!Number.isInteger(value)) {
    return kinds[cellKind.double] === undefined ? cellKind.number : cellKind.double;
  }
  if (kinds[cellKind.number] !== undefined || Object.is(value, -0)) return cellKind.number;
  return kinds[cellKind.int64] === undefined ? cellKind.number : cellKind.int64;
}

function childOfKind(node: Node, step: Step, mayLearn: boolean): Node | undefined {
  const { name } = step;
  const number = stepNumber(step);
  let kinds = node.children.get(name);
  const known = kinds?.[number];
  if (known !== undefined || !mayLearn || node.depth >= columnsPerShapeMax) return known;
  if (kinds === undefined) {
    kinds = [];
    node.children.set(name, kinds);
  }
  const child = newNode(node, step);
  kinds[number] = child;
  return child;
}

/** JSON: type, 1 for edges, and per column number, name, kind, and the width of its integers when there is one. */
export function encodeShape(shape: Shape): Uint8Array {
  const columns = shape.columns.map(({ id, name, kind, width }) =>
    width === undefined ? [id, name, kind] : [id, name, kind, width],
  );
  return Buffer.from(JSON.stringify({ type: shape.type, edge: shape.isEdge ? 1 : 0, columns }));
}

function decodeShape(id: number, definition: Uint8Array): Shape {
  const { type, edge, columns } = JSON.parse(Buffer.from(definition).toString('utf8')) as {
    readonly type: TypeId;
    readonly edge: number;
    readonly columns: readonly (readonly [PropertyId, string, CellKind, unknown?])[];
  };
  const specs = columns.map(([property, name, kind, width]) => ({
    id: property,
    name,
    kind,
    width: isIntegerWidth(width) ? width : undefined,
  }));
  return new Shape(id, type, edge === 1, specs);
}
