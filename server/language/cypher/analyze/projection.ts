import { filterLong, madeOnce, mapLong, mapLongOver } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { AggregateColumn, Column, LogicalPlan } from '#query/algebra/plan.ts';
import type {
  Expression as Expr,
  ExpressionOf as ExprOf,
  Projection,
  ReturnItem,
  SortItem,
} from '../ast.ts';
import { isAggregate, requireAggregated } from './call.ts';
import type { Compiler, QueryColumn, Substitution } from './compiler.ts';
import { hiddenBindings, isHidden } from './load-csv.ts';
import { type Binding, type BindingKind, type Scope, withBindings } from './scope.ts';
import { staticKind } from './static-kind.ts';
import { conditionIn } from './sub-query.ts';
import { holdsAggregate, partsOf } from './expr-walk.ts';

/** WITH and RETURN (cypher.md 3, 7): grouping, DISTINCT, ORDER BY, SKIP, LIMIT, WHERE. */

export interface Projected {
  readonly plan: LogicalPlan;
  readonly columns: readonly QueryColumn[];
  readonly scope: Scope;
}

const dialect = 'cypher';

export function compileProjection(
  compiler: Compiler,
  projection: Projection,
  row: { readonly plan: LogicalPlan; readonly scope: Scope },
  clause: { readonly name: 'WITH' | 'RETURN'; readonly where?: Expr | undefined },
): Projected {
  return new ProjectionCompiler(compiler, projection, row, clause).compile();
}

interface Item {
  readonly name: string;
  readonly value: Expr | undefined;
  readonly slot: Slot;
  readonly kind: BindingKind;
  readonly type?: Binding['type'];
}

class ProjectionCompiler {
  readonly #compiler: Compiler;
  readonly #projection: Projection;
  readonly #scope: Scope;
  readonly #clause: 'WITH' | 'RETURN';
  readonly #where: Expr | undefined;
  #plan: LogicalPlan;
  #items: readonly Item[] = [];
  readonly #isGrouped: boolean;
  /** Texts of what is computed already, with the slots they stand in. */
  #known: ReadonlyMap<string, Slot> | undefined;

  constructor(
    compiler: Compiler,
    projection: Projection,
    row: { readonly plan: LogicalPlan; readonly scope: Scope },
    clause: { readonly name: 'WITH' | 'RETURN'; readonly where?: Expr | undefined },
  ) {
    this.#compiler = compiler;
    this.#projection = projection;
    this.#scope = row.scope;
    this.#plan = row.plan;
    this.#clause = clause.name;
    this.#where = clause.where;
    this.#isGrouped = mapLong(projection.items, ({ value }) => holdsAggregate(value)).includes(
      true,
    );
  }

  compile(): Projected {
    const { orderBy: order, isDistinct, skip, limit } = this.#projection;
    const where = this.#where;
    this.#items = madeOnce(() => this.#named());
    if (this.#isGrouped) this.#group();
    else this.#project();
    const passedOn = this.#isGrouped || isDistinct ? [] : hiddenBindings(this.#scope);
    const { state: after } = mapLongOver(
      this.#items,
      () => new Map(passedOn),
      ({ name, slot, kind, type }, scope) => {
        scope.set(name, { slot, kind, type });
      },
    );
    if (isDistinct) {
      const on = mapLong(this.#items, ({ slot }): Expression => ({ op: 'Slot', slot }));
      this.#plan = { op: 'Distinct', input: this.#plan, on };
    }
    if (order.length > 0) this.#sort(order, after);
    if (skip !== undefined)
      this.#plan = { op: 'Skip', input: this.#plan, count: this.#rowCount(skip) };
    if (limit !== undefined)
      this.#plan = { op: 'Limit', input: this.#plan, count: this.#rowCount(limit) };
    if (where !== undefined) {
      const seen = this.#isGrouped || isDistinct ? after : withBindings(this.#scope, after);
      const known = this.#isGrouped || isDistinct ? this.#substitution() : undefined;
      const predicate = conditionIn(this.#compiler, where, seen, known);
      this.#plan = { op: 'Filter', input: this.#plan, predicate };
    }
    this.#requireAliases();
    const columns = mapLong(this.#items, ({ name, slot, kind }) => ({ name, slot, kind }));
    return { plan: this.#plan, columns, scope: after };
  }

  /** The items with their names, those of a star included. */
  #named(): readonly Item[] {
    const { isAll: hasStar, items, at } = this.#projection;
    const variables = [...this.#scope].filter(([name]) => !isHidden(name));
    if (hasStar && variables.length === 0 && this.#clause === 'RETURN')
      throw this.#compiler.failure('NoVariablesInScope', at, 'there is no variable to return');
    const starred = hasStar
      ? variables
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, { slot, kind }]) => ({
            name,
            value: undefined,
            slot,
            kind,
          }))
      : [];
    const named = mapLong(items, (item) => this.#item(item));
    const { state: names } = mapLongOver(
      named,
      () => new Set<string>(),
      ({ name }, before) => {
        if (before.has(name))
          throw this.#compiler.failure('ColumnNameConflict', at, `two columns are named '${name}'`);
        before.add(name);
      },
    );
    return [...starred.filter(({ name }) => !names.has(name)), ...named];
  }

  #requireAliases(): void {
    if (this.#clause !== 'WITH') return;
    mapLong(this.#projection.items, ({ alias, value, at }) => {
      if (alias === undefined && value.kind !== 'variable')
        throw this.#compiler.failure('NoExpressionAlias', at, 'WITH needs AS for an expression');
    });
  }

  #item(item: ReturnItem): Item {
    const { value, alias } = item;
    const name =
      alias ??
      (value.kind === 'variable'
        ? value.name
        : this.#compiler.text.slice(item.at, item.end).trim());
    const binding = value.kind === 'variable' ? this.#scope.get(value.name) : undefined;
    const slot = this.#compiler.newSlot();
    const type =
      binding === undefined ? madeOnce(() => staticKind(value, this.#scope)) : binding.type;
    return { name, value, slot, kind: binding?.kind ?? 'value', type };
  }

  #project(): void {
    const items = filterLong(this.#items, ({ value }) => value !== undefined);
    const columns = mapLong(
      items,
      ({ value, slot }): Column => ({
        slot,
        value: this.#compiler.expression(value as Expr, this.#scope),
      }),
    );
    if (columns.length > 0) this.#plan = { op: 'Project', input: this.#plan, columns };
  }

  #group(): void {
    const keys: Column[] = [];
    const keyed = new Map<string, { readonly expr: Expr; readonly slot: Slot }>();
    for (const { value, slot, name } of this.#items) {
      if (value === undefined) {
        const at: Expr = { kind: 'variable', name, at: 0, end: 0 };
        keys.push({ slot, value: { op: 'Slot', slot } });
        keyed.set(name, { expr: at, slot });
      } else if (!holdsAggregate(value)) {
        keys.push({ slot, value: this.#compiler.expression(value, this.#scope) });
        keyed.set(this.#textOf(value), { expr: value, slot });
      }
    }
    const aggregates: AggregateColumn[] = [];
    const grouping = new Grouping(this.#compiler, this.#scope, keyed, aggregates);
    const computed: Column[] = [];
    for (const { value, slot } of this.#items)
      if (value !== undefined && holdsAggregate(value))
        computed.push({ slot, value: grouping.compile(value) });
    this.#plan = {
      op: 'Project',
      input: {
        op: 'Aggregate',
        input: this.#plan,
        keys,
        first: [],
        aggregates,
        dialect,
      },
      columns: computed,
    };
  }

  #sort(order: readonly SortItem[], after: Scope): void {
    const sees = this.#isGrouped || this.#projection.isDistinct;
    const scope = sees ? after : withBindings(this.#scope, after);
    this.#known = madeOnce(() => this.#texts());
    const keys = mapLong(order, ({ value, isDescending }) => {
      this.#requireSortable(value);
      const isAggregated = holdsAggregate(value);
      return {
        value: this.#compiler.expression(value, scope, this.#substitution(isAggregated)),
        descending: isDescending,
      };
    });
    this.#plan = { op: 'Sort', input: this.#plan, keys, dialect };
  }

  /** What is computed already stands in for its text. @param isAggregated an aggregate stands beside it */
  #substitution(isAggregated = false): Substitution {
    return {
      replace: (expr, scope) => {
        const slot = this.#slotOf(expr);
        if (slot !== undefined) return { op: 'Slot', slot };
        if (
          isAggregated &&
          expr.kind === 'variable' &&
          !scope.has(expr.name) &&
          this.#isPartOfKey(expr.name)
        )
          throw this.#compiler.failure(
            'AmbiguousAggregationExpression',
            expr.at,
            `'${expr.name}' beside an aggregate is no grouping key`,
          );
        return undefined;
      },
    };
  }

  /** The variable stands in what is projected without an aggregate. */
  #isPartOfKey(name: string): boolean {
    return this.#items.some(({ value }) => {
      if (value === undefined || holdsAggregate(value)) return false;
      for (const part of partsOf(value))
        if (part.kind === 'variable' && part.name === name) return true;
      return false;
    });
  }

  #slotOf(expr: Expr): Slot | undefined {
    this.#known ??= this.#texts();
    return this.#known.get(this.#textOf(expr));
  }

  #texts(): ReadonlyMap<string, Slot> {
    const known = new Map<string, Slot>();
    for (const { value, slot } of this.#items)
      if (value !== undefined) known.set(this.#textOf(value), slot);
    return known;
  }

  #requireSortable(value: Expr): void {
    if (this.#slotOf(value) !== undefined) return;
    for (const part of partsOf(value)) {
      if (!isAggregate(part) || this.#slotOf(part) !== undefined) continue;
      throw this.#isGrouped
        ? this.#compiler.failure(
            'UndefinedVariable',
            part.at,
            'an aggregate of ORDER BY is one of those that are returned',
          )
        : this.#compiler.failure(
            'InvalidAggregation',
            part.at,
            'ORDER BY aggregates only what is returned aggregated',
          );
    }
  }

  #rowCount(count: Expr): Expression {
    for (const part of partsOf(count))
      if (part.kind === 'variable')
        throw this.#compiler.failure(
          'NonConstantExpression',
          part.at,
          'SKIP and LIMIT use no variables',
        );
    if (count.kind === 'literal') {
      const { value } = count;
      const isInteger =
        typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
      if (!isInteger)
        throw this.#compiler.failure('InvalidArgumentType', count.at, 'expected an integer');
      if (value < 0)
        throw this.#compiler.failure(
          'NegativeIntegerArgument',
          count.at,
          'SKIP and LIMIT are not negative',
        );
      return { op: 'Constant', value };
    }
    const value = this.#compiler.expression(count, new Map());
    return { op: 'Call', function: '#cypher.rowCount', arguments: [value] };
  }

  /** Two expressions with one text are the same. */
  #textOf({ at, end }: Expr): string {
    return normalText(this.#compiler.text.slice(at, end));
  }
}

function normalText(text: string): string {
  return text.replace(/\s+/g, '');
}

/** Items that hold aggregates: what stands around these is made of grouping keys. */
class Grouping {
  readonly #compiler: Compiler;
  readonly #scope: Scope;
  readonly #keyed: ReadonlyMap<string, { readonly expr: Expr; readonly slot: Slot }>;
  readonly #aggregates: AggregateColumn[];
  readonly #after: Scope;

  constructor(
    compiler: Compiler,
    scope: Scope,
    keyed: ReadonlyMap<string, { readonly expr: Expr; readonly slot: Slot }>,
    aggregates: AggregateColumn[],
  ) {
    this.#compiler = compiler;
    this.#scope = scope;
    this.#keyed = keyed;
    this.#aggregates = aggregates;
    const variables: (readonly [string, Binding])[] = [];
    for (const { expr, slot } of keyed.values())
      if (expr.kind === 'variable')
        variables.push([expr.name, { slot, kind: scope.get(expr.name)?.kind ?? 'value' }]);
    this.#after = new Map(variables);
  }

  compile(value: Expr): Expression {
    const substitution: Substitution = {
      replace: (expr, scope) => this.#replaced(expr, scope),
    };
    return this.#compiler.expression(value, this.#scope, substitution);
  }

  #replaced(expr: Expr, scope: Scope): Expression | undefined {
    if (expr.kind === 'countAll') return this.#counted();
    if (expr.kind === 'call' && isAggregate(expr)) return this.#aggregate(expr);
    if (expr.kind !== 'variable' && expr.kind !== 'property') return undefined;
    const text = normalText(this.#compiler.text.slice(expr.at, expr.end));
    const key = this.#keyed.get(text);
    if (key !== undefined) return { op: 'Slot', slot: key.slot };
    if (expr.kind === 'property') return undefined;
    const own = scope.get(expr.name);
    // Variables of comprehensions around it are its own.
    if (own !== undefined && this.#scope.get(expr.name) !== own) return undefined;
    if (this.#after.has(expr.name)) return undefined;
    if (own === undefined) return undefined;
    throw this.#compiler.failure(
      'AmbiguousAggregationExpression',
      expr.at,
      `'${expr.name}' beside an aggregate is no grouping key`,
    );
  }

  #counted(): Expression {
    const slot = this.#compiler.newSlot();
    this.#aggregates.push({ slot, function: 'count', arguments: [], distinct: false });
    return { op: 'Slot', slot };
  }

  #aggregate(expr: ExprOf<'call'>): Expression {
    requireAggregated(this.#compiler, expr);
    for (const arg of expr.args) {
      for (const part of partsOf(arg)) {
        if (isAggregate(part))
          throw this.#compiler.failure(
            'NestedAggregation',
            part.at,
            'an aggregate inside an aggregate',
          );
        if (part.kind === 'call' && part.name.toLowerCase() === 'rand')
          throw this.#compiler.failure(
            'NonConstantExpression',
            part.at,
            'random numbers cannot be aggregated',
          );
      }
    }
    const slot = this.#compiler.newSlot();
    this.#aggregates.push({
      slot,
      function: expr.name.toLowerCase(),
      arguments: expr.args.map((arg) => this.#compiler.expression(arg, this.#scope)),
      distinct: expr.isDistinct,
    });
    return { op: 'Slot', slot };
  }
}
