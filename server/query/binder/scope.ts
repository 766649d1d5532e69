import type { Expression, Output, Slot } from '../algebra/expression.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import { noRow, type Row } from './row.ts';

/**
 * Scopes of names. A query scope builds a plan; an element scope stands for one value in turn (an element of a list, a
 * candidate of a pattern) and builds none. What a name means is the business of each language; here is where values live and
 * where plans are put.
 */
export type Scope = QueryScope | ElementScope;

/** A name that is known in a scope beside the columns of its row. */
export type Binding =
  | { readonly kind: 'value'; readonly value: Expression; readonly level: number }
  /** Several values by name (`$matched.a`). */
  | { readonly kind: 'group'; readonly members: ReadonlyMap<string, Slot>; readonly level: number };

export interface ElementScope {
  readonly kind: 'element';
  readonly parent: Scope;
  readonly level: number;
  readonly row: Row;
  /** True when this value is "the current record" for queries inside, as candidates of a pattern are. */
  readonly isCurrent: boolean;
  readonly bindings: ReadonlyMap<string, Binding>;
}

/** A query under construction. */
export class QueryScope {
  readonly kind = 'query';
  readonly isCurrent = true;
  readonly parent: Scope | undefined;
  readonly level: number;
  readonly bindings = new Map<string, Binding>();
  /** The row that names are resolved on now; each stage of the query may change it. */
  row: Row = noRow;
  /** The plan so far. */
  body: LogicalPlan = { op: 'Argument' };
  /** True while `body` gives one row and nothing was read yet: what is computed once then goes into the body. */
  isSingleRow = true;
  #prelude: LogicalPlan | undefined;

  constructor(parent: Scope | undefined) {
    this.parent = parent;
    this.level = parent === undefined ? 1 : parent.level + 1;
  }

  /** Adds something that is computed once for each run of the query, before its first row. */
  beforeRows(add: (input: LogicalPlan) => LogicalPlan): void {
    if (this.isSingleRow) this.body = add(this.body);
    else this.#prelude = add(this.#prelude ?? { op: 'Argument' });
  }

  /** Adds a stage on top of the plan so far. */
  stage(add: (input: LogicalPlan) => LogicalPlan): void {
    this.body = add(this.body);
  }

  /** Attaches the source of the rows; what was computed before it stays before it. */
  source(plan: LogicalPlan, row: Row): void {
    if (this.body.op !== 'Argument') this.#prelude = this.body;
    this.body = plan;
    this.row = row;
    this.isSingleRow = false;
  }

  /** The whole plan. */
  close(): LogicalPlan {
    if (this.#prelude === undefined) return this.body;
    return { op: 'Apply', outer: this.#prelude, inner: this.body, mode: { kind: 'cross' } };
  }
}

/** The scope whose row is "the current record" in `scope`. */
export function currentOf(scope: Scope): Scope {
  let current = scope;
  while (!current.isCurrent && current.kind === 'element') current = current.parent;
  return current;
}

/** The statement's outermost scope. */
export function rootOf(scope: Scope): Scope {
  let current = scope;
  while (current.parent !== undefined) current = current.parent;
  return current;
}

/**
 * Puts a sub-plan that depends on the row at `level` (and on none further in) where it runs as seldom as that allows, and gives
 * the slot of the list of its rows.
 *
 * @param scope where the sub-plan is used; `level` is at most its level
 * @returns undefined when it depends on an element and must be evaluated in place
 */
export function liftRows(
  scope: Scope,
  level: number,
  subPlan: { readonly plan: LogicalPlan; readonly output: Output; readonly as: Slot },
): Expression | undefined {
  const add = (outer: LogicalPlan): LogicalPlan => ({
    op: 'Apply',
    outer,
    inner: subPlan.plan,
    mode: { kind: 'collect', output: subPlan.output, as: subPlan.as },
  });
  let inside: Scope | undefined;
  let current: Scope | undefined = scope;
  while (current !== undefined && current.level > level) {
    inside = current;
    current = current.parent;
  }
  // `current` is the scope whose row is read, `inside` the one below it on the way to the place of use.
  if (inside !== undefined && inside.kind === 'query') inside.beforeRows(add);
  else if (current !== undefined && current.kind === 'query') current.stage(add);
  else return undefined;
  return { op: 'Slot', slot: subPlan.as };
}
