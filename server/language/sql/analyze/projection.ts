import type {
  Expression as Computed,
  NestedItem as ComputedItem,
  Slot,
} from '#query/algebra/expression.ts';
import type { Column, LogicalPlan } from '#query/algebra/plan.ts';
import { columnsOf, type Row, valueOfRow } from '#query/binder/row.ts';
import type { QueryScope } from '#query/binder/scope.ts';
import type { Expression } from '../ast.ts';
import { columnName } from '../print.ts';
import type { Projection, ProjectionItem } from '../statements.ts';
import { type Aggregation, type Analysis, type Environment, rowEnvironment } from './analysis.ts';
import { projectValue } from './expression/nested-projection.ts';

/**
 * What a list of projection items makes of a row (sql.md 7.4): the record itself, named columns, or a map that starts from the
 * record. The clauses around it are in result-pipeline.ts.
 */
export type ProjectionShape =
  | { readonly kind: 'record' }
  | { readonly kind: 'expand'; readonly value: Expression; readonly scalarName: string }
  | { readonly kind: 'columns'; readonly items: readonly ValueItem[] }
  /** `*` or `!name` among the items. */
  | { readonly kind: 'extended'; readonly items: readonly ProjectionItem[] };

export type ValueItem = Extract<ProjectionItem, { readonly kind: 'value' }>;

export interface ShapedProjection {
  readonly shape: ProjectionShape;
  readonly isDistinct: boolean;
}

export function shapeOf(analysis: Analysis, projection: Projection | undefined): ShapedProjection {
  if (projection === undefined) return { shape: { kind: 'record' }, isDistinct: false };
  const { items, isDistinct } = projection;
  const values = items.filter((item) => item.kind === 'value');
  const [only] = items;
  if (items.length === 1 && only) {
    if (only.kind === 'all' && only.nested === undefined)
      return { shape: { kind: 'record' }, isDistinct };
    if (only.kind === 'value') return shapeOfOne(only, isDistinct);
  }
  for (const item of values)
    if (isCallOf(item.value, 'expand'))
      throw analysis.fault(item.value.at, 'expand() must be the only projection');
  if (values.length === items.length)
    return { shape: { kind: 'columns', items: values }, isDistinct };
  return { shape: { kind: 'extended', items }, isDistinct };
}

function shapeOfOne(item: ValueItem, isDistinct: boolean): ShapedProjection {
  const { value, alias } = item;
  if (value.kind === 'this' && alias === undefined)
    return { shape: { kind: 'record' }, isDistinct };
  if (isCallOf(value, 'expand') && value.arguments.length === 1 && value.arguments[0])
    return {
      shape: { kind: 'expand', value: value.arguments[0], scalarName: alias ?? 'value' },
      isDistinct,
    };
  if (isCallOf(value, 'distinct') && value.arguments.length === 1 && value.arguments[0])
    return shapeOfOne({ kind: 'value', value: value.arguments[0], alias }, true);
  return { shape: { kind: 'columns', items: [item] }, isDistinct };
}

function isCallOf(
  node: Expression,
  name: string,
): node is Extract<Expression, { readonly kind: 'call' }> {
  return node.kind === 'call' && !node.isStar && node.name.toLowerCase() === name;
}

/** The expressions of a shape. */
export function expressionsOfShape(shape: ProjectionShape): readonly Expression[] {
  switch (shape.kind) {
    case 'record':
      return [];
    case 'expand':
      return [shape.value];
    case 'columns':
      return shape.items.map((item) => item.value);
    default:
      return shape.items.flatMap((item) => (item.kind === 'value' ? [item.value] : []));
  }
}

/** Names of the columns that a shape makes by itself, with what they stand for; of equal names the last. */
export function namedItems(
  analysis: Analysis,
  shape: ProjectionShape,
): ReadonlyMap<string, Expression> {
  const named = new Map<string, Expression>();
  if (shape.kind !== 'columns' && shape.kind !== 'extended') return named;
  for (const item of shape.items)
    if (item.kind === 'value')
      named.set(item.alias ?? columnName(item.value, analysis.text), item.value);
  return named;
}

/** The projection at work: columns that are computed so far, and the row that comes out. */
export class ProjectionStage {
  readonly #analysis: Analysis;
  readonly #scope: QueryScope;
  readonly #env: Environment;
  readonly #named: ReadonlyMap<string, Expression>;
  readonly #slots = new Map<string, Slot>();

  constructor(
    analysis: Analysis,
    scope: QueryScope,
    shape: ProjectionShape,
    aggregation: Aggregation | undefined,
  ) {
    this.#analysis = analysis;
    this.#scope = scope;
    this.#env = { ...rowEnvironment(scope), aggregation };
    this.#named = namedItems(analysis, shape);
  }

  /** The columns that are computed so far, by name. */
  columns(): ReadonlyMap<string, Computed> {
    return asExpressions(this.#slots);
  }

  /** Computes the columns of these names that are not computed yet, in the order of the projection. */
  compute(isWanted: (name: string) => boolean): readonly Column[] {
    const columns: Column[] = [];
    for (const [name, node] of this.#named) {
      if (this.#slots.has(name) || !isWanted(name)) continue;
      const value = this.#analysis.expression(node, this.#env);
      if (value.op === 'Slot') {
        this.#slots.set(name, value.slot);
        continue;
      }
      const slot = this.#analysis.slots.next();
      columns.push({ slot, value });
      this.#slots.set(name, slot);
    }
    return columns;
  }

  /**
   * The row of the computed columns for a shape without `expand`; adds a stage when it has to be built.
   * @param star what `*` stands for: the scope's row, or the first row of the group
   */
  row(shape: ProjectionShape, star: Row): Row {
    switch (shape.kind) {
      case 'columns':
        return { kind: 'columns', columns: this.#inProjectionOrder() };
      case 'extended':
        return this.#extendedRow(shape.items, star);
      default:
        return star;
    }
  }

  /** ORDER BY has some columns computed before the others; the row shows them as they were written. */
  #inProjectionOrder(): ReadonlyMap<string, Slot> {
    const columns = new Map<string, Slot>();
    for (const name of this.#named.keys()) {
      const slot = this.#slots.get(name);
      if (slot !== undefined) columns.set(name, slot);
    }
    return columns;
  }

  #extendedRow(items: readonly ProjectionItem[], star: Row): Row {
    const hasNested = items.some((item) => item.kind === 'all' && item.nested !== undefined);
    const isStatic = star.kind === 'none' || (star.kind === 'columns' && !hasNested);
    if (isStatic) return this.#staticRow(items, star);
    const of = valueOfRow(star);
    const value: Computed = {
      op: 'NestedProjection',
      of,
      element: this.#analysis.slots.next(),
      items: exclusionsLast(items).flatMap((item) => this.#computedItem(item, of)),
    };
    return this.#stageValue(value);
  }

  #computedItem(item: ProjectionItem, of: Computed): readonly ComputedItem[] {
    switch (item.kind) {
      case 'exclude':
        return [{ kind: 'exclude', name: item.name }];
      case 'all': {
        if (item.nested === undefined) return [{ kind: 'all' }];
        return [{ kind: 'merge', value: projectValue(this.#analysis, of, item.nested, this.#env) }];
      }
      default: {
        const name = this.#nameOf(item);
        const slot = this.#slots.get(name);
        return slot === undefined ? [] : [{ kind: 'include', name, value: { op: 'Slot', slot } }];
      }
    }
  }

  #nameOf(item: ValueItem): string {
    return item.alias ?? columnName(item.value, this.#analysis.text);
  }

  /** `*` over columns that are known at analysis. */
  #staticRow(items: readonly ProjectionItem[], star: Row): Row {
    const columns = new Map<string, Slot>();
    for (const item of exclusionsLast(items)) {
      if (item.kind === 'all') {
        if (star.kind === 'columns')
          for (const [name, slot] of star.columns) columns.set(name, slot);
      } else if (item.kind === 'exclude') {
        columns.delete(item.name);
      } else {
        const name = this.#nameOf(item);
        const slot = this.#slots.get(name);
        if (slot !== undefined) columns.set(name, slot);
      }
    }
    return { kind: 'columns', columns };
  }

  #stageValue(value: Computed): Row {
    const slot = this.#analysis.slots.next();
    this.#scope.stage((input) => ({ op: 'Project', input, columns: [{ slot, value }] }));
    return { kind: 'value', slot };
  }
}

const allItem: ProjectionItem = { kind: 'all', nested: undefined };

/** Exclusions act on what `*` brought: behind the last `*`, which is put first where exclusions stand without one. */
function exclusionsLast(items: readonly ProjectionItem[]): readonly ProjectionItem[] {
  const exclusions = items.filter((item) => item.kind === 'exclude');
  const others = items.filter((item) => item.kind !== 'exclude');
  const lastAll = others.findLastIndex((item) => item.kind === 'all');
  if (lastAll < 0) return [allItem, ...exclusions, ...others];
  return [...others.slice(0, lastAll + 1), ...exclusions, ...others.slice(lastAll + 1)];
}

/** Slots as what reads them. */
export function asExpressions(slots: ReadonlyMap<string, Slot>): ReadonlyMap<string, Computed> {
  return new Map([...slots].map(([name, slot]) => [name, { op: 'Slot', slot }]));
}

/** Adds columns as a stage, when there are any. */
export function stageColumns(scope: QueryScope, columns: readonly Column[]): void {
  if (columns.length === 0) return;
  scope.stage((input): LogicalPlan => ({ op: 'Project', input, columns }));
}

/** The slots of a row as expressions, for DISTINCT. */
export function rowKeys(row: Row): readonly Computed[] {
  if (row.kind === 'value') return [{ op: 'Slot', slot: row.slot }];
  if (row.kind === 'none') return [];
  return columnsOf(row.columns).map(({ slot }) => ({ op: 'Slot', slot }));
}
