import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { Column, Move, PathSpec } from '#query/algebra/plan.ts';
import type { NodePattern, QuantifiedPart, RelationshipPattern } from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { Compiler } from './compiler.ts';
import { labelCondition, typesOfLabels } from './labels.ts';
import { type Binding, type Scope, withBindings } from './scope.ts';

/**
 * Quantified path patterns (cypher.md 4.4): `((a)-[r]->(b) WHERE p){1,3}` is one repetition of several moves. Inside, variables stand
 * for one repetition; outside, for the list over all of them, which is cut out of the relationships that were walked.
 */

export interface CompiledGroup {
  readonly path: PathSpec;
  readonly move: Move;
  /** Variables of the group as lists. */
  readonly bindings: readonly (readonly [string, Binding])[];
  readonly columns: readonly Column[];
}

export interface GroupPlace {
  /** The nodes before and behind, and the slot of the relationships walked. */
  readonly from: Slot;
  readonly to: Slot;
  readonly edges: Slot;
  readonly scope: Scope;
  /** A relationship may be walked twice. */
  readonly isWalk: boolean;
  /** Conditions of the properties and the WHERE of one part, whose variable stands in the slot. */
  conditions(part: NodePattern | RelationshipPattern, slot: Slot, scope: Scope): Expression[];
  condition(where: Exclude<QuantifiedPart['where'], undefined>, scope: Scope): Expression;
}

interface InnerPart {
  readonly part: NodePattern | RelationshipPattern;
  readonly slot: Slot;
  readonly kind: 'node' | 'relationship';
  /** Number of the move that leads to it or is it; 0 for the first node. */
  readonly move: number;
}

export function compileGroup(
  compiler: Compiler,
  group: QuantifiedPart,
  place: GroupPlace,
): CompiledGroup {
  const { path } = group;
  if (path.variable !== undefined || path.selector !== undefined || path.mode !== undefined)
    throw notSupported('a path variable, path mode or shortest path inside a quantified pattern');
  if (path.steps.some((step) => step.group ?? step.relationship.repetition))
    throw notSupported('a repetition inside a quantified pattern');
  if (path.steps.length === 0)
    throw compiler.failure(
      'InvalidRelationshipPattern',
      group.at,
      'a quantified pattern has at least one relationship',
    );
  const parts = innerParts(compiler, group);
  const named = namedParts(compiler, parts, place.scope);
  const scope = withBindings(
    place.scope,
    [...named].map(([name, { slot, kind }]) => [name, { slot, kind }] as const),
  );
  const { spec, move } = repetition(compiler, group, parts, { place, scope });
  const lists = listsOf(compiler, named, place, path.steps.length);
  return { path: spec, move, ...lists };
}

function innerParts(compiler: Compiler, { path }: QuantifiedPart): readonly InnerPart[] {
  const slot = (): Slot => compiler.newSlot();
  return [
    { part: path.first, slot: slot(), kind: 'node', move: 0 },
    ...path.steps.flatMap(({ relationship, node }, at): InnerPart[] => [
      { part: relationship, slot: slot(), kind: 'relationship', move: at + 1 },
      { part: node, slot: slot(), kind: 'node', move: at + 1 },
    ]),
  ];
}

function namedParts(
  compiler: Compiler,
  parts: readonly InnerPart[],
  scope: Scope,
): ReadonlyMap<string, InnerPart> {
  const named = new Map<string, InnerPart>();
  for (const inner of parts) {
    const { variable, at } = inner.part;
    if (variable === undefined) continue;
    if (scope.has(variable) || named.has(variable))
      throw compiler.failure(
        'VariableAlreadyBound',
        at,
        `variable '${variable}' is already defined outside of the quantified pattern or twice in it`,
      );
    named.set(variable, inner);
  }
  return named;
}

/** Each condition is asked at the first move behind which all that it may read is known; those of the whole group at the last. */
function repetition(
  compiler: Compiler,
  { path, where, repetition: { min, max } }: QuantifiedPart,
  parts: readonly InnerPart[],
  { place, scope }: { readonly place: GroupPlace; readonly scope: Scope },
): { readonly spec: PathSpec; readonly move: Move } {
  const last = path.steps.length;
  const start = parts[0] as InnerPart;
  const conditions: Expression[][] = Array.from({ length: last + 1 }, () => []);
  for (const { part, slot, move } of parts) {
    // A condition that is written out may read any part of the group.
    const number = part.where === undefined ? Math.max(move, 1) : last;
    conditions[number]?.push(...place.conditions(part, slot, scope));
    if (move === 0 && 'labels' in part && part.labels !== undefined)
      conditions[1]?.push(labelCondition({ op: 'Slot', slot }, part.labels));
  }
  if (where !== undefined) conditions[last]?.push(place.condition(where, scope));
  const moves = path.steps.map(({ relationship, node }, at) => {
    const predicates = conditions[at + 1] ?? [];
    const types = typesOfLabels(node.labels, 'vertex', compiler.catalog);
    return {
      move: moveOf(relationship, compiler),
      element: (parts[at * 2 + 2] as InnerPart).slot,
      edge: (parts[at * 2 + 1] as InnerPart).slot,
      predicate:
        predicates.length === 0 ? undefined : ({ op: 'And', operands: predicates } as const),
      ...(types && { types }),
    };
  });
  const spec: PathSpec = {
    moves,
    start: start.slot,
    min,
    max,
    condition: undefined,
    predicate: undefined,
    depth: undefined,
    path: place.edges,
    pathHolds: 'edges',
    distinctEdges: !place.isWalk,
  };
  return { spec, move: (moves[0] as (typeof moves)[number]).move };
}

export function moveOf(relationship: RelationshipPattern, compiler: Compiler): Move {
  return {
    kind: 'vertex',
    direction: relationship.direction,
    types: typesOfLabels(relationship.types, 'edge', compiler.catalog),
    loops: 'once',
  };
}

function listsOf(
  compiler: Compiler,
  named: ReadonlyMap<string, InnerPart>,
  { from, edges }: GroupPlace,
  moveCount: number,
): Pick<CompiledGroup, 'bindings' | 'columns'> {
  const bindings: (readonly [string, Binding])[] = [];
  const columns: Column[] = [];
  for (const [name, { kind, move }] of named) {
    const slot = compiler.newSlot();
    const isEdge = kind === 'relationship';
    bindings.push([
      name,
      { slot, kind: isEdge ? 'relationships' : 'value', ...(!isEdge && { type: 'list' as const }) },
    ]);
    columns.push({
      slot,
      value: {
        op: 'Call',
        function: '#cypher.eachOfGroup',
        arguments: [
          { op: 'Slot', slot: from },
          { op: 'Slot', slot: edges },
          { op: 'Constant', value: moveCount },
          { op: 'Constant', value: move },
          { op: 'Constant', value: kind },
        ],
      },
    });
  }
  return { bindings, columns };
}
