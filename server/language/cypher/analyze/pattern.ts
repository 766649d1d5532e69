import { isMap } from '#core/value/value.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { Column, LogicalPlan, Move, PatternNode, PatternStep } from '#query/algebra/plan.ts';
import { pathThrough } from '#query/functions/cypher/walked-paths.ts';
import type {
  Expression as Expr,
  NodePattern,
  PathMode,
  PathPattern,
  QuantifiedPart,
  RelationshipPattern,
} from '../ast.ts';
import type { Compiler } from './compiler.ts';
import { typesOfLabels } from './labels.ts';
import { compileGroup, moveOf } from './quantified.ts';
import { type Binding, type Scope, withBindings } from './scope.ts';
import { searchedRelationship, searchPlan, type ShortestSearch } from './shortest.ts';

export interface CompiledPattern {
  readonly plan: LogicalPlan;
  /** Variables that the pattern brings. */
  readonly bindings: readonly (readonly [string, Binding])[];
}

/** Patterns of one MATCH over its input, with the conditions that stand inside them. */
export function compileParts(
  compiler: Compiler,
  parts: readonly PathPattern[],
  scope: Scope,
  options: { readonly input: LogicalPlan; readonly distinctEdges: boolean },
): CompiledPattern {
  // What a WALK walks twice does not hold for the other parts: it is a match of its own.
  const walks = parts.filter(({ mode }) => mode === 'WALK');
  if (walks.length > 0 && parts.length > 1) {
    let found: CompiledPattern = { plan: options.input, bindings: [] };
    const others = parts.filter(({ mode }) => mode !== 'WALK');
    for (const group of [...(others.length > 0 ? [others] : []), ...walks.map((walk) => [walk])]) {
      const inner = withBindings(scope, found.bindings);
      const next = compileParts(compiler, group, inner, { ...options, input: found.plan });
      found = { plan: next.plan, bindings: [...found.bindings, ...next.bindings] };
    }
    return found;
  }
  const distinctEdges = options.distinctEdges && walks.length === 0;
  return new PatternCompiler(compiler, scope, { ...options, distinctEdges }).compile(parts);
}

const dialect = 'cypher';

class PatternCompiler {
  readonly #compiler: Compiler;
  readonly #outer: Scope;
  readonly #options: { readonly input: LogicalPlan; readonly distinctEdges: boolean };
  readonly #new = new Map<string, Binding>();
  readonly #nodes = new Map<Slot, PatternNode>();
  readonly #steps: PatternStep[] = [];
  readonly #conditions: (() => Expression)[] = [];
  readonly #paths: (() => Column)[] = [];
  /** Lists that variables of quantified parts stand for. */
  /** All that is in scope, as far as it is known since the last variable was bound. */
  #seen: Scope | undefined;
  readonly #lists: Column[] = [];
  readonly #searches: (() => ShortestSearch)[] = [];
  /** Of paths: what must hold of them once they are built. */
  readonly #pathConditions: Expression[] = [];

  constructor(
    compiler: Compiler,
    outer: Scope,
    options: { readonly input: LogicalPlan; readonly distinctEdges: boolean },
  ) {
    this.#compiler = compiler;
    this.#outer = outer;
    this.#options = options;
  }

  compile(parts: readonly PathPattern[]): CompiledPattern {
    for (const part of parts) this.#part(part);
    const conditions = this.#conditions.map((condition) => condition());
    const { input, distinctEdges } = this.#options;
    let plan: LogicalPlan = {
      op: 'Match',
      input,
      pattern: { nodes: [...this.#nodes.values()], steps: this.#steps, distinctEdges },
    };
    // A node that is bound already may be null.
    const alone = [...this.#nodes.values()].filter(
      ({ slot, bound }) =>
        bound && !this.#steps.some(({ from, to }) => from === slot || to === slot),
    );
    for (const { slot } of alone)
      conditions.push({ op: 'Not', operand: { op: 'IsNull', operand: { op: 'Slot', slot } } });
    if (conditions.length > 0)
      plan = { op: 'Filter', input: plan, predicate: { op: 'And', operands: conditions } };
    for (const search of this.#searches) plan = searchPlan(this.#compiler, plan, search());
    const columns = [...this.#lists, ...this.#paths.map((path) => path())];
    if (columns.length > 0) plan = { op: 'Project', input: plan, columns };
    if (this.#pathConditions.length > 0)
      plan = {
        op: 'Filter',
        input: plan,
        predicate: { op: 'And', operands: this.#pathConditions },
      };
    return { plan, bindings: [...this.#new] };
  }

  /** Hundreds of nodes ask for it, most of them one after the other. */
  get #scope(): Scope {
    const known = this.#seen;
    if (known !== undefined) return known;
    const scope = withBindings(this.#outer, this.#new);
    this.#seen = scope;
    return scope;
  }

  #binding(name: string): Binding | undefined {
    return this.#new.get(name) ?? this.#outer.get(name);
  }

  #bind(name: string, binding: Binding): void {
    this.#new.set(name, binding);
    this.#seen = undefined;
  }

  #part(part: PathPattern): void {
    const { variable: path, mode } = part;
    if (path !== undefined && this.#binding(path) !== undefined)
      throw this.#compiler.failure(
        'VariableAlreadyBound',
        part.at,
        `variable '${path}' is already defined`,
      );
    const slots: Slot[] = [];
    const isRead = path !== undefined || mode === 'ACYCLIC';
    slots.push(this.#node(part.first));
    if (part.selector !== undefined) slots.push(...this.#search(part, slots[0] as Slot));
    else
      for (const { relationship, node, group } of part.steps) {
        const before = slots.at(-1) as Slot;
        const slot = this.#node(node);
        if (mode === 'WALK') this.#requireBound(relationship);
        if (group !== undefined)
          slots.push(this.#group(group, before, slot, mode === 'WALK'), slot);
        else slots.push(this.#relationship(relationship, before, slot, { isRead, mode }), slot);
      }
    if (!isRead) return;
    if (path !== undefined && this.#new.has(path))
      throw this.#compiler.failure(
        'VariableAlreadyBound',
        part.at,
        `variable '${path}' is already defined`,
      );
    const slot = this.#compiler.newSlot();
    if (path !== undefined) this.#bind(path, { slot, kind: 'path' });
    this.#paths.push(() => ({ slot, value: pathOf(slots) }));
    if (mode === 'ACYCLIC')
      this.#pathConditions.push({
        op: 'Call',
        function: '#cypher.isAcyclic',
        arguments: [{ op: 'Slot', slot }],
      });
  }

  #requireBound({ repetition, at }: RelationshipPattern): void {
    if (repetition === undefined || repetition.max !== undefined) return;
    throw this.#compiler.failure(
      'InvalidRelationshipPattern',
      at,
      'a WALK that repeats needs an upper bound',
    );
  }

  /** A shortest path from the node: the slots of its relationships and of the node at its end. */
  #search(part: PathPattern, from: Slot): readonly Slot[] {
    const { selector = 'shortest', mayReturn, mode } = part;
    const trails = mode === 'WALK' ? 'walk' : 'trail';
    const relationship = searchedRelationship(this.#compiler, part);
    const to = this.#node((part.steps[0] as PathPattern['steps'][number]).node);
    const { variable, properties } = relationship;
    if (variable !== undefined && this.#scope.has(variable))
      throw this.#compiler.failure(
        'VariableAlreadyBound',
        relationship.at,
        `variable '${variable}' is already defined`,
      );
    this.#refuseParameter(properties, relationship.at);
    const edges = this.#compiler.newSlot();
    if (variable !== undefined) this.#bind(variable, { slot: edges, kind: 'relationships' });
    this.#searches.push(() => ({
      from,
      to,
      edges,
      relationship,
      selector,
      closed: mayReturn ? trails : 'none',
      properties: entriesOf(properties).map(({ key, value }) => ({
        key,
        value: this.#compiler.expression(value, this.#scope),
      })),
    }));
    return [edges, to];
  }

  #group(group: QuantifiedPart, from: Slot, to: Slot, isWalk: boolean): Slot {
    const edges = this.#compiler.newSlot();
    const compiled = compileGroup(this.#compiler, group, {
      from,
      to,
      edges,
      scope: this.#scope,
      isWalk,
      conditions: (part, slot, scope) => {
        this.#refuseParameter(part.properties, part.at);
        const equalities = this.#equalities(part.properties, slot, scope);
        return part.where === undefined
          ? [...equalities]
          : [...equalities, this.#condition(part.where, scope)];
      },
      condition: (where, scope) => this.#condition(where, scope),
    });
    for (const [name, binding] of compiled.bindings) this.#bind(name, binding);
    this.#lists.push(...compiled.columns);
    const { move, path } = compiled;
    this.#steps.push({ from, to, move, edge: undefined, optional: false, path });
    return edges;
  }

  #node(node: NodePattern): Slot {
    const { variable } = node;
    const known = variable === undefined ? undefined : this.#binding(variable);
    if (known !== undefined && !mayBe(known, 'node'))
      throw this.#conflict(node.at, variable as string, known.kind, 'a node');
    const slot = known?.slot ?? this.#compiler.newSlot();
    if (variable !== undefined && known === undefined) this.#bind(variable, { slot, kind: 'node' });
    const types = typesOfLabels(node.labels, 'vertex', this.#compiler.catalog);
    const before = this.#nodes.get(slot);
    const isOuter = variable !== undefined && this.#outer.has(variable);
    this.#nodes.set(slot, {
      slot,
      types: both(before?.types, types),
      rids: undefined,
      predicates: [],
      bound: isOuter,
    });
    this.#properties(node.properties, slot, node.at);
    this.#where(node.where);
    return slot;
  }

  #relationship(
    relationship: RelationshipPattern,
    from: Slot,
    to: Slot,
    { isRead: isInPath, mode }: { readonly isRead: boolean; readonly mode: PathMode | undefined },
  ): Slot {
    const { variable, repetition: range } = relationship;
    const known = variable === undefined ? undefined : this.#outer.get(variable);
    const kind = range === undefined ? 'relationship' : 'relationships';
    if (variable !== undefined && this.#new.has(variable))
      throw this.#new.get(variable)?.kind === kind
        ? this.#compiler.failure(
            'RelationshipUniquenessViolation',
            relationship.at,
            `relationship '${variable}' stands twice in one pattern`,
          )
        : this.#conflict(
            relationship.at,
            variable,
            this.#new.get(variable)?.kind,
            'a relationship',
          );
    if (known !== undefined && !mayBe(known, kind))
      throw this.#conflict(relationship.at, variable as string, known.kind, 'a relationship');
    const edge = known?.slot ?? this.#compiler.newSlot();
    if (variable !== undefined && known === undefined) this.#bind(variable, { slot: edge, kind });
    const move = moveOf(relationship, this.#compiler);
    const isRead =
      variable !== undefined ||
      isInPath ||
      relationship.properties !== undefined ||
      relationship.where !== undefined;
    if (known !== undefined) this.#boundStep(from, to, move, edge);
    else if (range === undefined)
      this.#steps.push({
        from,
        to,
        move,
        edge: isRead ? edge : undefined,
        path: undefined,
        optional: false,
      });
    else this.#repeated(relationship, { from, to, move, edge, isRead, isWalk: mode === 'WALK' });
    if (range === undefined) {
      this.#properties(relationship.properties, edge, relationship.at);
      this.#where(relationship.where);
    }
    return edge;
  }

  #boundStep(from: Slot, to: Slot, move: Move, edge: Slot): void {
    this.#steps.push({
      from,
      to,
      move,
      edge,
      edgeIsBound: true,
      path: undefined,
      optional: false,
    });
  }

  #repeated(
    { repetition: range, properties, where, variable }: RelationshipPattern,
    step: {
      readonly from: Slot;
      readonly to: Slot;
      readonly move: Move;
      readonly edge: Slot;
      readonly isRead: boolean;
      readonly isWalk: boolean;
    },
  ): void {
    const { from, to, move } = step;
    const each = this.#compiler.newSlot();
    const scope =
      variable === undefined
        ? this.#scope
        : withBindings(this.#scope, [[variable, { slot: each, kind: 'relationship' }]]);
    const conditions = [
      ...this.#equalities(properties, each, scope),
      ...(where === undefined ? [] : [this.#condition(where, scope)]),
    ];
    const predicate: Expression | undefined =
      conditions.length === 0 ? undefined : { op: 'And', operands: conditions };
    const element = this.#compiler.newSlot();
    this.#steps.push({
      from,
      to,
      move,
      edge: undefined,
      optional: false,
      path: {
        moves: [{ move, element, edge: predicate && each, predicate }],
        min: range?.min ?? 1,
        max: range?.max,
        condition: undefined,
        predicate: undefined,
        depth: undefined,
        path: step.isRead ? step.edge : undefined,
        pathHolds: 'edges',
        distinctEdges: !step.isWalk,
      },
    });
  }

  #properties(properties: Expr | undefined, slot: Slot, at: number): void {
    this.#refuseParameter(properties, at);
    if (properties === undefined) return;
    this.#conditions.push(() => {
      const operands = this.#equalities(properties, slot, this.#scope);
      return operands.length === 0 ? { op: 'Constant', value: true } : { op: 'And', operands };
    });
  }

  #refuseParameter(properties: Expr | undefined, at: number): void {
    if (properties?.kind === 'parameter')
      throw this.#compiler.failure(
        'InvalidParameterUse',
        at,
        'a parameter cannot stand for the properties of a pattern that is matched',
      );
  }

  #equalities(properties: Expr | undefined, slot: Slot, scope: Scope): readonly Expression[] {
    return entriesOf(properties).map(({ key, value }): Expression => {
      const left: Expression = {
        op: 'Property',
        of: { op: 'Slot', slot },
        name: key,
        dialect,
      };
      const right = this.#compiler.expression(value, scope);
      return { op: 'Compare', operator: '=', left, right, dialect };
    });
  }

  #where(where: Expr | undefined): void {
    if (where !== undefined) this.#conditions.push(() => this.#condition(where, this.#scope));
  }

  #condition(expr: Expr, scope: Scope): Expression {
    const { at, end } = expr;
    return this.#compiler.expression({ kind: 'and', operands: [expr], at, end }, scope);
  }

  #conflict(at: number, name: string, kind: string | undefined, wanted: string): Error {
    return this.#compiler.failure(
      'VariableTypeConflict',
      at,
      `variable '${name}' is defined as ${kind ?? 'something else'}, not as ${wanted}`,
    );
  }
}

/** A value may be anything, where it is not known to be something else. */
function mayBe({ kind, type: known = 'any' }: Binding, wanted: Binding['kind']): boolean {
  if (kind === wanted) return true;
  if (kind !== 'value') return false;
  return known === 'any' || known === 'null' || (known === 'list' && wanted === 'relationships');
}

/** The entries of a map that is written out; one of literals is a literal itself. */
export function entriesOf(
  properties: Expr | undefined,
): readonly { readonly key: string; readonly value: Expr }[] {
  if (properties?.kind === 'map') return properties.entries;
  if (properties?.kind !== 'literal' || !isMap(properties.value)) return [];
  const { at, end } = properties;
  return [...properties.value].map(([key, value]) => ({
    key,
    value: { kind: 'literal' as const, value, at, end },
  }));
}

/** Nodes and relationships of a path in turn. */
export function partsOfPath(path: PathPattern): readonly (NodePattern | RelationshipPattern)[] {
  return [path.first, ...path.steps.flatMap(({ relationship, node }) => [relationship, node])];
}

function both<T>(
  a: readonly T[] | undefined,
  b: readonly T[] | undefined,
): readonly T[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.filter((item) => b.includes(item));
}

/** The path through nodes and relationships, or lists of these, that stand in the slots. */
export function pathOf(slots: readonly Slot[]): Expression {
  return {
    op: 'Call',
    function: pathThrough,
    arguments: slots.map((slot) => ({ op: 'Slot', slot })),
  };
}
