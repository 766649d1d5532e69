import { DatabaseError } from '#core/errors.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan, PathSpec, Pattern, PatternStep } from '#query/algebra/plan.ts';
import { conjunctionOf } from '#query/algebra/walk.ts';
import type { Row } from '#query/binder/row.ts';
import type { Binding, ElementScope, QueryScope } from '#query/binder/scope.ts';
import type { Expression } from '../ast.ts';
import type { MatchNode, MatchPath, MatchStep } from '../statements.ts';
import type { Analysis, Environment } from './analysis.ts';
import { moveOf } from './write/move.ts';
import { bucketIds } from './target.ts';

/** What is known about one alias; several occurrences add up. */
interface AliasParts {
  readonly alias: string;
  readonly isNamed: boolean;
  readonly slot: Slot;
  readonly bound: boolean;
  types: readonly TypeId[] | undefined;
  buckets: readonly BucketId[] | undefined;
  rids: Computed | undefined;
  readonly predicates: Computed[];
  isOptional: boolean;
}

/** A step whose nodes have slots, before its conditions are analyzed. */
interface PlannedStep {
  readonly from: AliasParts;
  readonly to: AliasParts;
  readonly step: MatchStep;
  readonly depth: Slot | undefined;
  readonly path: Slot | undefined;
}

/**
 * Builds the pattern of a MATCH (sql.md 11.2). First all aliases get their slots, then conditions are analyzed, since
 * `$matched` may name an alias that comes later.
 */
export class PatternBuilder {
  readonly #analysis: Analysis;
  readonly #scope: QueryScope;
  readonly #aliases = new Map<string, AliasParts>();
  /** Columns beside the aliases: depths and paths. */
  readonly #extraColumns = new Map<string, Slot>();
  #lastDepth: Slot | undefined;

  constructor(analysis: Analysis, scope: QueryScope) {
    this.#analysis = analysis;
    this.#scope = scope;
  }

  /** Slot of the depth of the last repeated step. */
  get lastDepth(): Slot | undefined {
    return this.#lastDepth;
  }

  /** The pattern of the paths that must hold. */
  build(paths: readonly MatchPath[]): Pattern {
    return this.#patternOf(paths, this.#aliases);
  }

  /** The rows in which a NOT path holds; aliases of the pattern built before are bound by the outer row. */
  negative(path: MatchPath): LogicalPlan {
    const { first } = path;
    const known = first.alias === undefined ? undefined : this.#aliases.get(first.alias);
    if (known === undefined)
      throw this.#analysis.fault(
        first.at,
        'The first alias in a NOT expression has to be present in the positive pattern',
      );
    if (first.where !== undefined)
      throw this.#analysis.fault(first.at, 'The first node in a NOT expression may have no WHERE');
    const aliases = new Map<string, AliasParts>();
    const bound = new Map<AliasParts, AliasParts>();
    for (const [alias, parts] of this.#aliases) {
      const copy = bound.get(parts) ?? boundOutside(parts);
      bound.set(parts, copy);
      aliases.set(alias, copy);
    }
    const pattern = this.#patternOf([path], aliases);
    const used = new Set(pattern.steps.flatMap((step) => [step.from, step.to]));
    const nodes = pattern.nodes.filter((node) => used.has(node.slot));
    return { op: 'Match', input: { op: 'Argument' }, pattern: { ...pattern, nodes } };
  }

  /** Named aliases, depths and paths as columns; with the automatic aliases where they are asked for. */
  row(which: 'named' | 'all'): Row {
    return { kind: 'columns', columns: new Map([...this.elements(which), ...this.#extraColumns]) };
  }

  /** Slots of the elements by alias. */
  elements(which: 'named' | 'all'): ReadonlyMap<string, Slot> {
    const slots = new Map<string, Slot>();
    for (const [alias, parts] of this.#aliases)
      if (which === 'all' || parts.isNamed) slots.set(alias, parts.slot);
    return slots;
  }

  #patternOf(paths: readonly MatchPath[], aliases: Map<string, AliasParts>): Pattern {
    const planned: PlannedStep[] = [];
    const occurrences: { readonly parts: AliasParts; readonly node: MatchNode }[] = [];
    for (const path of paths) {
      let from = this.#aliasOf(path.first, aliases);
      occurrences.push({ parts: from, node: path.first });
      if (path.first.isOptional) throw this.#optionalNotLast(path.first);
      for (const { step, groups } of plainSteps(path.steps)) {
        const to = this.#endOf([step.node, ...groups], aliases);
        planned.push(this.#plannedStep(from, to, step));
        for (const node of groups) occurrences.push({ parts: to, node });
        if (!isRepeated(step)) occurrences.push({ parts: to, node: step.node });
        if (step.node.isOptional) to.isOptional = true;
        from = to;
      }
    }
    for (const { from, step } of planned)
      if (from.isOptional) throw this.#optionalNotLast(step.node);
    for (const { parts, node } of occurrences) this.#constrain(parts, node, aliases);
    const steps = planned.map((step) => this.#stepOf(step, aliases));
    this.#requireRoots(aliases, planned, paths);
    const nodes = [...new Set(aliases.values())].map((parts) => ({
      slot: parts.slot,
      types: parts.types,
      ...(parts.buckets && { buckets: parts.buckets }),
      rids: parts.rids,
      predicates: parts.predicates,
      bound: parts.bound,
    }));
    return { nodes, steps };
  }

  #optionalNotLast(node: MatchNode): DatabaseError {
    return this.#analysis.fault(
      node.at,
      'optional nodes are allowed only at the right end of a path',
    );
  }

  #aliasOf(node: MatchNode, aliases: Map<string, AliasParts>): AliasParts {
    const alias = node.alias ?? `$DEFAULT_ALIAS_${this.#analysis.aliasCount++}`;
    const known = aliases.get(alias);
    if (known !== undefined) return known;
    const parts: AliasParts = {
      alias,
      isNamed: node.alias !== undefined,
      slot: this.#analysis.slots.next(),
      bound: false,
      types: undefined,
      buckets: undefined,
      rids: undefined,
      predicates: [],
      isOptional: false,
    };
    aliases.set(alias, parts);
    return parts;
  }

  /** The element that several nodes name: one slot for all of their aliases. */
  #endOf(nodes: readonly MatchNode[], aliases: Map<string, AliasParts>): AliasParts {
    const named = nodes.filter((node) => node.alias !== undefined);
    const known = named.find((node) => aliases.has(node.alias as string));
    const parts = this.#aliasOf(known ?? named[0] ?? (nodes[0] as MatchNode), aliases);
    for (const node of named) {
      const alias = node.alias as string;
      const other = aliases.get(alias);
      if (other === undefined) aliases.set(alias, parts);
      else if (other !== parts) parts.predicates.push(sameRecord(parts.slot, other.slot));
    }
    return parts;
  }

  #plannedStep(from: AliasParts, to: AliasParts, step: MatchStep): PlannedStep {
    const { slots } = this.#analysis;
    const { node } = step;
    if (!isRepeated(step)) return { from, to, step, depth: undefined, path: undefined };
    const depth = slots.next();
    this.#lastDepth = depth;
    const path = node.pathAlias === undefined ? undefined : slots.next();
    if (node.depthAlias !== undefined) this.#extraColumns.set(node.depthAlias, depth);
    if (node.pathAlias !== undefined && path !== undefined)
      this.#extraColumns.set(node.pathAlias, path);
    return { from, to, step, depth, path };
  }

  /** Adds what one occurrence of an alias demands. */
  #constrain(parts: AliasParts, node: MatchNode, aliases: ReadonlyMap<string, AliasParts>): void {
    const types = this.#typesOf(node);
    if (types !== undefined) parts.types = this.#intersection(parts, types);
    if (node.buckets.length > 0) parts.buckets = bucketIds(this.#analysis, node.buckets);
    if (node.rid !== undefined) {
      const outside: Environment = {
        ...this.#environment(parts.slot, aliases, undefined),
        row: { kind: 'none' },
      };
      parts.rids = this.#analysis.expression(node.rid, outside);
    }
    if (node.where !== undefined)
      parts.predicates.push(...this.#conditions(node.where, parts.slot, aliases, undefined));
  }

  #typesOf(node: MatchNode): readonly TypeId[] | undefined {
    if (node.types.length === 0) return undefined;
    const ids = new Set<TypeId>();
    for (const type of node.types) {
      const name =
        type.kind === 'name'
          ? type.name
          : String(this.#analysis.nameParameter(type.parameter.name));
      for (const id of this.#analysis.typeWithSubtypes(name)) ids.add(id);
    }
    return [...ids];
  }

  /** Types of one alias must be in one hierarchy; the most specific wins. */
  #intersection(parts: AliasParts, types: readonly TypeId[]): readonly TypeId[] {
    if (parts.types === undefined) return types;
    const allowed = new Set(types);
    const common = parts.types.filter((id) => allowed.has(id));
    const isNested = common.length === types.length || common.length === parts.types.length;
    if (isNested) return common;
    throw new DatabaseError(
      'IllegalArgument',
      `classes defined for alias ${parts.alias} are not in the same hierarchy`,
    );
  }

  #conditions(
    where: Expression,
    slot: Slot,
    aliases: ReadonlyMap<string, AliasParts>,
    depth: Slot | undefined,
  ): readonly Computed[] {
    const env = this.#environment(slot, aliases, depth);
    const parts = where.kind === 'and' ? where.operands : [where];
    return parts.map((part) => this.#analysis.expression(part, env));
  }

  /** A candidate in its slot, with `$matched` and `$depth`. */
  #environment(
    slot: Slot,
    aliases: ReadonlyMap<string, AliasParts>,
    depth: Slot | undefined,
  ): Environment {
    const level = this.#scope.level + 1;
    const members = new Map<string, Slot>();
    for (const [alias, parts] of aliases) members.set(alias, parts.slot);
    const bindings = new Map<string, Binding>([['matched', { kind: 'group', members, level }]]);
    if (depth !== undefined)
      bindings.set('depth', { kind: 'value', value: { op: 'Slot', slot: depth }, level });
    const scope: ElementScope = {
      kind: 'element',
      parent: this.#scope,
      level,
      row: { kind: 'value', slot },
      isCurrent: true,
      bindings,
    };
    return { scope, row: scope.row, names: undefined, aggregation: undefined, isLazy: false };
  }

  #stepOf(planned: PlannedStep, aliases: ReadonlyMap<string, AliasParts>): PatternStep {
    const { from, to, step, depth } = planned;
    const optional = step.node.isOptional;
    const base = { from: from.slot, to: to.slot, edge: undefined, optional };
    if (step.move.kind === 'group' || depth !== undefined) {
      const path = this.#pathOf(planned, aliases);
      const move = path.moves[0]?.move;
      if (move === undefined) throw this.#analysis.fault(step.at, 'an empty group of steps');
      return { ...base, move, path };
    }
    return { ...base, move: moveOf(this.#analysis, step.move), path: undefined };
  }

  /** A step that is repeated, or a group of steps. */
  #pathOf(
    { to, step, depth, path }: PlannedStep,
    aliases: ReadonlyMap<string, AliasParts>,
  ): PathSpec {
    // Where a group is walked once its node is constrained like every other one.
    const nodes = depth === undefined ? [] : [step.node];
    return this.#repetition(step, { to: to.slot, depth, path, nodes }, aliases);
  }

  /** @param ends where the ends stand, and the nodes that they must satisfy */
  #repetition(
    step: MatchStep,
    ends: {
      readonly to: Slot;
      readonly depth: Slot | undefined;
      readonly path: Slot | undefined;
      readonly nodes: readonly MatchNode[];
    },
    aliases: ReadonlyMap<string, AliasParts>,
  ): PathSpec {
    const { node } = step;
    const { to, depth, path, nodes } = ends;
    const isOnce = depth === undefined;
    const predicates = nodes.flatMap(({ where }) =>
      where ? this.#conditions(where, to, aliases, depth) : [],
    );
    const conditions = node.while ? this.#conditions(node.while, to, aliases, depth) : [];
    const types = this.#commonTypes(nodes);
    return {
      moves: this.#movesOf(step, aliases),
      min: isOnce ? 1 : 0,
      max: isOnce ? 1 : node.maxDepth,
      condition: conjunctionOf(conditions),
      predicate: conjunctionOf(predicates),
      ...(types && { toTypes: types }),
      depth,
      path,
      pathHolds: 'vertices',
      distinctEdges: false,
    };
  }

  /** What all nodes allow; undefined: anything. */
  #commonTypes(nodes: readonly MatchNode[]): readonly TypeId[] | undefined {
    let common: readonly TypeId[] | undefined;
    for (const node of nodes) {
      const types = this.#typesOf(node);
      if (types === undefined) continue;
      common = common === undefined ? types : common.filter((id) => types.includes(id));
    }
    return common;
  }

  #movesOf(step: MatchStep, aliases: ReadonlyMap<string, AliasParts>): PathSpec['moves'] {
    if (step.move.kind !== 'group') {
      const element = this.#analysis.slots.next();
      const move = moveOf(this.#analysis, step.move);
      return [{ move, element, edge: undefined, predicate: undefined }];
    }
    return plainSteps(step.move.steps).map((inner) => this.#innerMove(inner, aliases));
  }

  /** A step of a repeated group, which may be repeated itself. */
  #innerMove(
    { step, groups }: PlainStep,
    aliases: ReadonlyMap<string, AliasParts>,
  ): PathSpec['moves'][number] {
    const element = this.#analysis.slots.next();
    const nodes = [step.node, ...groups];
    if (isRepeated(step) || step.move.kind === 'group') {
      const depth = isRepeated(step) ? this.#analysis.slots.next() : undefined;
      const ends = { to: element, depth, path: undefined, nodes };
      const path = this.#repetition(step, ends, aliases);
      const move = path.moves[0]?.move;
      if (move === undefined) throw this.#analysis.fault(step.at, 'an empty group of steps');
      return { move, element, edge: undefined, predicate: undefined, path };
    }
    const predicates = nodes.flatMap(({ where }) =>
      where ? this.#conditions(where, element, aliases, undefined) : [],
    );
    const types = this.#commonTypes(nodes);
    return {
      move: moveOf(this.#analysis, step.move),
      element,
      edge: undefined,
      predicate: conjunctionOf(predicates),
      ...(types && { types }),
    };
  }

  /** Each connected part needs a node that says where to start. */
  #requireRoots(
    aliases: ReadonlyMap<string, AliasParts>,
    planned: readonly PlannedStep[],
    paths: readonly MatchPath[],
  ): void {
    const reached = new Set<AliasParts>();
    const waiting = [...aliases.values()].filter(
      (parts) =>
        parts.bound ||
        (!parts.isOptional &&
          (parts.types !== undefined || parts.buckets !== undefined || parts.rids !== undefined)),
    );
    for (let parts = waiting.pop(); parts !== undefined; parts = waiting.pop()) {
      if (reached.has(parts)) continue;
      reached.add(parts);
      for (const { from, to, step } of planned) {
        if (from === parts) waiting.push(to);
        // Against its direction a repeated or optional step cannot be walked.
        else if (to === parts && !isRepeated(step) && !step.node.isOptional) waiting.push(from);
      }
    }
    for (const parts of aliases.values()) {
      if (reached.has(parts)) continue;
      const name = parts.isNamed ? ` '${parts.alias}'` : '';
      throw this.#analysis.fault(
        paths[0]?.first.at ?? 0,
        `no start for node${name}: give it, or a node it is connected to, a type, bucket or rid`,
      );
    }
  }
}

/** The same element as the outer row has it, on which nothing is demanded yet. */
function boundOutside(parts: AliasParts): AliasParts {
  return {
    ...parts,
    bound: true,
    types: undefined,
    buckets: undefined,
    rids: undefined,
    predicates: [],
    isOptional: false,
  };
}

function sameRecord(left: Slot, right: Slot): Computed {
  return {
    op: 'Compare',
    operator: '=',
    left: { op: 'Slot', slot: left },
    right: { op: 'Slot', slot: right },
    dialect: 'sql',
  };
}

/** A step, and the nodes behind the groups that it was the end of, from the inside. */
interface PlainStep {
  readonly step: MatchStep;
  readonly groups: readonly MatchNode[];
}

/** A group that is walked once and holds more than plain steps is the same as its steps one after the other. */
function plainSteps(steps: readonly MatchStep[]): readonly PlainStep[] {
  return steps.flatMap((step): readonly PlainStep[] => {
    const { move, node } = step;
    if (move.kind !== 'group' || isRepeated(step) || node.isOptional) return [{ step, groups: [] }];
    if (!move.steps.some(isMoreThanPlain)) return [{ step, groups: [] }];
    const inner = [...plainSteps(move.steps)];
    const last = inner.pop();
    if (last === undefined) return [{ step, groups: [] }];
    return [...inner, { step: last.step, groups: [...last.groups, node] }];
  });
}

/** It is repeated, a group, or what it leads to has a name. */
function isMoreThanPlain(step: MatchStep): boolean {
  return step.move.kind === 'group' || isRepeated(step) || step.node.alias !== undefined;
}

function isRepeated(step: MatchStep): boolean {
  return step.node.while !== undefined || step.node.maxDepth !== undefined;
}
