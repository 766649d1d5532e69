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
import { staticKind } from './static-kind.ts';

/** CREATE, MERGE, SET, REMOVE, DELETE as plans over their input (cypher.md 3). */

export interface Row {
  readonly plan: LogicalPlan;
  readonly scope: Scope;
}

const dialect = 'cypher';

export function compileCreate(compiler: Compiler, parts: readonly PathPattern[], row: Row): Row {
  const made = new Map<string, Binding>();
  const steps: LogicalPlan[] = [];
  for (const part of parts) steps.push(...createPart(compiler, part, row.scope, made));
  const scope = withBindings(row.scope, made);
  if (steps.length > nestedStepsMax)
    return { plan: { op: 'InsertAll', input: row.plan, steps }, scope };
  const plan = steps.reduce((input, step) => withInputs(step, [input]), row.plan);
  return { plan, scope };
}

/** More steps than these do not stand one upon the other: plans are walked and run by recursion. */
const nestedStepsMax = 24;

const argument: LogicalPlan = { op: 'Argument' };

/** One path pattern: its nodes, then its relationships. */
function createPart(
  compiler: Compiler,
  part: PathPattern,
  outer: Scope,
  made: Map<string, Binding>,
): readonly LogicalPlan[] {
  const inSight = (): Scope => withBindings(outer, made);
  const steps: LogicalPlan[] = [];
  if (part.variable !== undefined && inSight().has(part.variable))
    throw alreadyBound(compiler, part.variable, part.at);
  const nodes: Slot[] = [];
  for (const node of [part.first, ...part.steps.map((step) => step.node)]) {
    const known = node.variable === undefined ? undefined : inSight().get(node.variable);
    if (known !== undefined) {
      const isBare = node.labels === undefined && node.properties === undefined;
      if (!isBare || part.steps.length === 0)
        throw alreadyBound(compiler, node.variable as string, node.at);
      if (known.kind !== 'node' && known.kind !== 'value')
        throw compiler.failure(
          'VariableTypeConflict',
          node.at,
          `variable '${node.variable}' is no node`,
        );
      nodes.push(known.slot);
      continue;
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
      assignments: contentOf(compiler, node.properties, inSight()),
      as,
      dialect,
      labelCount: new Set(labels).size,
    });
    if (node.variable !== undefined) made.set(node.variable, { slot: as, kind: 'node' });
    nodes.push(as);
  }
  const slots: Slot[] = [nodes[0] as Slot];
  for (const [at, { relationship }] of part.steps.entries()) {
    const { variable, repetition: range, direction } = relationship;
    if (range !== undefined)
      throw compiler.failure(
        'CreatingVarLength',
        relationship.at,
        'a relationship of variable length cannot be made',
      );
    if (variable !== undefined && inSight().has(variable))
      throw alreadyBound(compiler, variable, relationship.at);
    if (direction === 'both')
      throw compiler.failure(
        'RequiresDirectedRelationship',
        relationship.at,
        'a relationship is made with one direction',
      );
    const ends = [nodes[at] as Slot, nodes[at + 1] as Slot] as const;
    const as = compiler.newSlot();
    steps.push(
      edgeInsert(compiler, relationship, {
        input: argument,
        ends: direction === 'out' ? ends : [ends[1], ends[0]],
        as,
        scope: inSight(),
      }),
    );
    if (variable !== undefined) made.set(variable, { slot: as, kind: 'relationship' });
    slots.push(as, ends[1]);
  }
  if (part.variable === undefined) return steps;
  const slot = compiler.newSlot();
  made.set(part.variable, { slot, kind: 'path' });
  const columns = [{ slot, value: pathOf(slots) }];
  return [...steps, { op: 'Project', input: argument, columns }];
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
  let { plan } = row;
  for (const item of items) plan = setPlan(compiler, item, { plan, scope: row.scope });
  return { plan: withJoinedUpdates(plan, row.plan), scope: row.scope };
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
  let { plan } = row;
  const { scope } = row;
  for (const item of items) {
    if (item.kind === 'labels') plan = labelsChanged(compiler, item, 'remove', { plan, scope });
    else if (item.kind === 'property') {
      const { of, name } = placeOf(compiler, item.target);
      const assignment: Assignment = { kind: 'remove', property: name, path: [], value: undefined };
      plan = updated(compiler, of, { plan, scope }, assignment);
    } else
      plan = updated(
        compiler,
        item.of,
        { plan, scope },
        {
          kind: 'entry',
          key: compiler.expression(item.key, scope),
          value: { op: 'Constant', value: null },
        },
      );
  }
  return { plan: withJoinedUpdates(plan, row.plan), scope };
}

export function compileDelete(compiler: Compiler, clause: ClauseOf<'delete'>, row: Row): Row {
  for (const value of clause.targets) {
    if (value.kind === 'hasLabels')
      throw compiler.failure('InvalidDelete', value.at, 'labels are removed by REMOVE');
    const kind = staticKind(value, row.scope);
    if (!['any', 'null', 'node', 'relationship', 'path', 'list'].includes(kind))
      throw compiler.failure(
        'InvalidArgumentType',
        value.at,
        `expected a node, relationship or path, not a ${kind}`,
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
