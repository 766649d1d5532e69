import { mapLongOver } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { Assignment, LogicalPlan } from '#query/algebra/plan.ts';
import { withInputs } from '#query/algebra/plan-walk.ts';
import type {
  ClauseOf,
  Expression as Expr,
  NodePattern,
  PathPattern,
  RelationshipPattern,
  RemoveItem,
  SetItem,
} from '../ast.ts';
import type { Compiler } from './compiler.ts';
import { withJoinedUpdates } from './joined-updates.ts';
import { plainLabels } from './labels.ts';
import { compileParts, entriesOf, partsOfPath, pathOf } from './pattern.ts';
import { type Binding, type Scope, slotsOfScope, withBindings } from './scope.ts';
import { requireKind } from './static-kind.ts';

/** CREATE, MERGE, SET, REMOVE, DELETE as plans over their input (cypher.md 3). */

export interface Row {
  readonly plan: LogicalPlan;
  readonly scope: Scope;
}

const dialect = 'cypher';

export function compileCreate(compiler: Compiler, parts: readonly PathPattern[], row: Row): Row {
  const { made, state: scope } = mapLongOver(
    parts,
    () => new Map(row.scope),
    (part, inSight) => new CreatedPart(compiler, part, inSight).steps(),
  );
  const steps = made.flat();
  if (steps.length > nestedStepsMax)
    return { plan: { op: 'InsertAll', input: row.plan, steps }, scope };
  const plan = steps.reduce((input, step) => withInputs(step, [input]), row.plan);
  return { plan, scope };
}

/** More steps than these do not stand one upon the other: plans are walked and run by recursion. */
const nestedStepsMax = 24;

const argument: LogicalPlan = { op: 'Argument' };

/** One path pattern: its nodes, then its relationships. */
class CreatedPart {
  readonly #compiler: Compiler;
  readonly #part: PathPattern;
  /** All variables so far, of which there may be thousands. */
  readonly #inSight: Map<string, Binding>;
  readonly #bound: string[] = [];

  constructor(compiler: Compiler, part: PathPattern, inSight: Map<string, Binding>) {
    this.#compiler = compiler;
    this.#part = part;
    this.#inSight = inSight;
  }

  /** What it binds is in sight then. */
  steps(): readonly LogicalPlan[] {
    try {
      return this.#steps();
    } catch (error) {
      // After a pause the part begins anew.
      for (const name of this.#bound) this.#inSight.delete(name);
      throw error;
    }
  }

  #steps(): readonly LogicalPlan[] {
    const { variable, at, first, steps: following } = this.#part;
    if (variable !== undefined && this.#inSight.has(variable))
      throw alreadyBound(this.#compiler, variable, at);
    const steps: LogicalPlan[] = [];
    const nodes = [first, ...following.map((step) => step.node)].map((node) =>
      this.#node(node, steps),
    );
    const slots: Slot[] = [nodes[0] as Slot];
    for (const [number, { relationship }] of following.entries()) {
      const ends = [nodes[number] as Slot, nodes[number + 1] as Slot] as const;
      slots.push(this.#relationship(relationship, ends, steps), ends[1]);
    }
    if (variable === undefined) return steps;
    const slot = this.#compiler.newSlot();
    this.#bind(variable, { slot, kind: 'path' });
    return [
      ...steps,
      { op: 'Project', input: argument, columns: [{ slot, value: pathOf(slots) }] },
    ];
  }

  #bind(name: string, binding: Binding): void {
    this.#inSight.set(name, binding);
    this.#bound.push(name);
  }

  /** @param steps gets the one that makes it, unless it is bound */
  #node(node: NodePattern, steps: LogicalPlan[]): Slot {
    const compiler = this.#compiler;
    const known = node.variable === undefined ? undefined : this.#inSight.get(node.variable);
    if (known !== undefined) {
      const isBare = node.labels === undefined && node.properties === undefined;
      if (!isBare || this.#part.steps.length === 0)
        throw alreadyBound(compiler, node.variable as string, node.at);
      if (known.kind !== 'node' && known.kind !== 'value')
        throw compiler.failure(
          'VariableTypeConflict',
          node.at,
          `variable '${node.variable}' is no node`,
        );
      return known.slot;
    }
    requireNoCondition(compiler, node);
    const labels = plainLabels(node.labels);
    if (labels === undefined)
      throw compiler.failure('UnexpectedSyntax', node.at, 'a node is made with plain labels');
    const as = compiler.newSlot();
    steps.push({
      op: 'Insert',
      input: argument,
      type: compiler.vertexType(labels),
      bucket: undefined,
      assignments: contentOf(compiler, node.properties, this.#inSight),
      as,
      dialect,
      labelCount: new Set(labels).size,
    });
    if (node.variable !== undefined) this.#bind(node.variable, { slot: as, kind: 'node' });
    return as;
  }

  /** @param steps gets the one that makes it */
  #relationship(
    relationship: RelationshipPattern,
    ends: readonly [Slot, Slot],
    steps: LogicalPlan[],
  ): Slot {
    const compiler = this.#compiler;
    const { variable, repetition: range, direction, at } = relationship;
    if (range !== undefined)
      throw compiler.failure(
        'CreatingVarLength',
        at,
        'a relationship of variable length cannot be made',
      );
    if (variable !== undefined && this.#inSight.has(variable))
      throw alreadyBound(compiler, variable, at);
    if (direction === 'both')
      throw compiler.failure(
        'RequiresDirectedRelationship',
        at,
        'a relationship is made with one direction',
      );
    const as = compiler.newSlot();
    steps.push(
      edgeInsert(compiler, relationship, {
        input: argument,
        ends: direction === 'out' ? ends : [ends[1], ends[0]],
        as,
        scope: this.#inSight,
      }),
    );
    if (variable !== undefined) this.#bind(variable, { slot: as, kind: 'relationship' });
    return as;
  }
}

function edgeInsert(
  compiler: Compiler,
  relationship: RelationshipPattern,
  options: {
    readonly input: LogicalPlan;
    readonly ends: readonly [Slot, Slot];
    readonly as: Slot;
    readonly scope: Scope;
  },
): LogicalPlan {
  requireNoCondition(compiler, relationship);
  const names = plainLabels(relationship.types);
  const [only] = names ?? [];
  if (only === undefined || names?.length !== 1)
    throw compiler.failure(
      'NoSingleRelationshipType',
      relationship.at,
      'a relationship is made with exactly one type',
    );
  const [from, to] = options.ends;
  return {
    op: 'InsertEdge',
    input: options.input,
    type: compiler.edgeType(only),
    bucket: undefined,
    from: { op: 'Slot', slot: from },
    to: { op: 'Slot', slot: to },
    ifNotExists: false,
    unidirectional: false,
    assignments: contentOf(compiler, relationship.properties, options.scope),
    as: options.as,
    dialect,
  };
}

/** What is made fulfils no condition: `CREATE (n WHERE n.age > 1)` means nothing. */
function requireNoCondition(
  compiler: Compiler,
  { where }: NodePattern | RelationshipPattern,
): void {
  if (where !== undefined)
    throw compiler.failure('UnexpectedSyntax', where.at, 'what is made takes no WHERE');
}

function contentOf(
  compiler: Compiler,
  properties: Expr | undefined,
  scope: Scope,
): readonly Assignment[] {
  if (properties === undefined) return [];
  return [{ kind: 'merge', value: compiler.expression(properties, scope) }];
}

function alreadyBound(compiler: Compiler, name: string, at: number): Error {
  return compiler.failure('VariableAlreadyBound', at, `variable '${name}' is already defined`);
}

/** All rows of `plan` before any of what follows; records show what is made of them. */
export function barrier(plan: LogicalPlan, scope: Scope): LogicalPlan {
  if (plan.op === 'Argument') return plan;
  return { op: 'Eager', input: plan, slots: slotsOfScope(scope), isLive: true };
}

export function compileMerge(compiler: Compiler, clause: ClauseOf<'merge'>, row: Row): Row {
  const { path: part } = clause;
  requireMergeable(compiler, part, row.scope);
  const found = compileParts(compiler, [part], row.scope, {
    input: { op: 'Argument' },
    distinctEdges: true,
  });
  const matched = withBindings(row.scope, found.bindings);
  const matchPlan = compileSet(compiler, clause.onMatch, {
    plan: barrier(found.plan, new Map(found.bindings)),
    scope: matched,
  }).plan;
  const directed: PathPattern = {
    ...part,
    steps: part.steps.map((step) =>
      step.relationship.direction === 'both'
        ? { ...step, relationship: { ...step.relationship, direction: 'out' as const } }
        : step,
    ),
  };
  const made = compileCreate(compiler, [directed], { plan: { op: 'Argument' }, scope: row.scope });
  const createPlan = compileSet(compiler, clause.onCreate, made).plan;
  const names = found.bindings.map(([name]) => name);
  const as = names.map(() => compiler.newSlot());
  const bound = found.bindings.map(
    ([name, { kind }], at) => [name, { slot: as[at] as Slot, kind }] as const,
  );
  const slotsIn = (scope: Scope): readonly Slot[] =>
    names.map((name) => (scope.get(name) as Binding).slot);
  return {
    plan: {
      op: 'Merge',
      input: row.plan,
      match: { plan: matchPlan, slots: slotsIn(matched) },
      create: { plan: createPlan, slots: slotsIn(made.scope) },
      as,
      notNull: propertiesOf(part).map((value) => compiler.expression(value, row.scope)),
    },
    scope: withBindings(row.scope, bound),
  };
}

function propertiesOf(part: PathPattern): readonly Expr[] {
  return partsOfPath(part).flatMap(({ properties }) =>
    entriesOf(properties).map(({ value }) => value),
  );
}

function requireMergeable(compiler: Compiler, part: PathPattern, scope: Scope): void {
  if (part.variable !== undefined && scope.has(part.variable))
    throw alreadyBound(compiler, part.variable, part.at);
  for (const node of [part.first, ...part.steps.map((step) => step.node)]) {
    if (node.variable === undefined || !scope.has(node.variable)) continue;
    const isBare = node.labels === undefined && node.properties === undefined;
    if (!isBare || part.steps.length === 0) throw alreadyBound(compiler, node.variable, node.at);
  }
  for (const {
    relationship: { variable, at, repetition: range },
  } of part.steps) {
    if (variable !== undefined && scope.has(variable)) throw alreadyBound(compiler, variable, at);
    if (range !== undefined)
      throw compiler.failure(
        'CreatingVarLength',
        at,
        'a relationship of variable length cannot be made',
      );
  }
}

export function compileSet(compiler: Compiler, items: readonly SetItem[], row: Row): Row {
  return changed(items, row, (item, before) => setPlan(compiler, item, before));
}

function setPlan(compiler: Compiler, item: SetItem, { plan, scope }: Row): LogicalPlan {
  switch (item.kind) {
    case 'property': {
      const { of, name } = placeOf(compiler, item.target);
      const value = compiler.expression(item.value, scope);
      const assignment: Assignment = {
        kind: 'set',
        property: name,
        path: [],
        operator: '=',
        value,
      };
      return updated(compiler, of, { plan, scope }, assignment);
    }
    case 'entry':
      return updated(
        compiler,
        item.of,
        { plan, scope },
        {
          kind: 'entry',
          key: compiler.expression(item.key, scope),
          value: compiler.expression(item.value, scope),
        },
      );
    case 'all':
    case 'merge': {
      const { variable, at } = item;
      const of: Expr = { kind: 'variable', name: variable, at, end: at };
      return updated(
        compiler,
        of,
        { plan, scope },
        {
          kind: item.kind === 'merge' ? 'merge' : 'content',
          value: compiler.expression(item.value, scope),
        },
      );
    }
    default:
      return labelsChanged(compiler, item, 'add', { plan, scope });
  }
}

/** `n.name` as what is written to. */
function placeOf(compiler: Compiler, target: Expr): { readonly of: Expr; readonly name: string } {
  if (target.kind === 'property') return target;
  throw compiler.failure('UnexpectedSyntax', target.at, 'a property is set or removed');
}

/** `n:A:B` of SET and REMOVE. */
function labelsChanged(
  compiler: Compiler,
  item: Extract<SetItem, { kind: 'labels' }>,
  mode: 'add' | 'remove',
  { plan, scope }: Row,
): LogicalPlan {
  const { variable, at } = item;
  const labels = plainLabels(item.labels);
  if (labels === undefined)
    throw compiler.failure('UnexpectedSyntax', at, 'plain labels are set or removed');
  const target = compiler.expression({ kind: 'variable', name: variable, at, end: at }, scope);
  const own = target.op === 'Slot' ? target.slot : undefined;
  const record = own ?? compiler.newSlot();
  const input: LogicalPlan =
    own === undefined
      ? { op: 'Project', input: plan, columns: [{ slot: record, value: target }] }
      : plan;
  return { op: 'SetLabels', input, record, mode, labels };
}

/** The record that an expression names, changed by one assignment. */
function updated(
  compiler: Compiler,
  of: Expr,
  { plan, scope }: Row,
  assignment: Assignment,
): LogicalPlan {
  const target = compiler.expression(of, scope);
  const own = target.op === 'Slot' ? target.slot : undefined;
  const record = own ?? compiler.newSlot();
  const input: LogicalPlan =
    own === undefined
      ? { op: 'Project', input: plan, columns: [{ slot: record, value: target }] }
      : plan;
  return {
    op: 'Update',
    input,
    record,
    assignments: [assignment],
    applyDefaults: false,
    before: undefined,
    dialect,
  };
}

export function compileRemove(compiler: Compiler, items: readonly RemoveItem[], row: Row): Row {
  return changed(items, row, (item, before) => removePlan(compiler, item, before));
}

function removePlan(compiler: Compiler, item: RemoveItem, row: Row): LogicalPlan {
  if (item.kind === 'labels') return labelsChanged(compiler, item, 'remove', row);
  if (item.kind === 'property') {
    const { of, name } = placeOf(compiler, item.target);
    return updated(compiler, of, row, {
      kind: 'remove',
      property: name,
      path: [],
      value: undefined,
    });
  }
  return updated(compiler, item.of, row, {
    kind: 'entry',
    key: compiler.expression(item.key, row.scope),
    value: { op: 'Constant', value: null },
  });
}

/** One item upon the other. */
function changed<Item>(
  items: readonly Item[],
  row: Row,
  planOf: (item: Item, before: Row) => LogicalPlan,
): Row {
  const { scope } = row;
  const { state } = mapLongOver(
    items,
    // What the items stand upon is another object after a pause.
    () => ({ from: row.plan, plan: row.plan }),
    (item, before) => {
      before.plan = planOf(item, { plan: before.plan, scope });
    },
  );
  return { plan: withJoinedUpdates(state.plan, state.from, items.length), scope };
}

export function compileDelete(compiler: Compiler, clause: ClauseOf<'delete'>, row: Row): Row {
  for (const value of clause.targets) {
    if (value.kind === 'hasLabels')
      throw compiler.failure('InvalidDelete', value.at, 'labels are removed by REMOVE');
    requireKind(
      compiler,
      value,
      row.scope,
      ['node', 'relationship', 'path', 'list'],
      'a node, relationship or path',
    );
  }
  const values = clause.targets.map((value) => compiler.expression(value, row.scope));
  const [only] = values;
  const value: Expression =
    values.length === 1 && only !== undefined ? only : { op: 'List', items: values };
  const record = compiler.newSlot();
  const input: LogicalPlan = {
    op: 'Project',
    input: row.plan,
    columns: [{ slot: record, value }],
  };
  return {
    plan: { op: 'Delete', input, record, detach: clause.isDetach, dialect },
    scope: row.scope,
  };
}
