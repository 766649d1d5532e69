import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { ClosedPaths } from '#query/procedures/paths/shortest.ts';
import type { Value } from '#core/value/value.ts';
import type { PathPattern, PathSelector, RelationshipPattern } from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { Compiler } from './compiler.ts';
import { typesOfLabels } from './labels.ts';

/** `shortestPath()`, `allShortestPaths()` and the selectors (cypher.md 4.6): a search from node to node behind the match of both. */

export interface ShortestSearch {
  readonly from: Slot;
  readonly to: Slot;
  /** Receives the list of relationships. */
  readonly edges: Slot;
  readonly relationship: RelationshipPattern;
  readonly selector: PathSelector;
  readonly closed: ClosedPaths;
  readonly properties: readonly { readonly key: string; readonly value: Expression }[];
}

/** The one relationship of the pattern. */
export function searchedRelationship(compiler: Compiler, part: PathPattern): RelationshipPattern {
  const [step, ...others] = part.steps;
  if (step === undefined || others.length > 0)
    throw compiler.failure(
      'InvalidRelationshipPattern',
      part.at,
      'a shortest path is between two nodes, with one relationship that may repeat',
    );
  if (step.group !== undefined) throw notSupported('a shortest path of a quantified path pattern');
  const { relationship } = step;
  if ((relationship.repetition?.min ?? 1) > 1)
    throw compiler.failure(
      'InvalidRelationshipPattern',
      relationship.at,
      'a shortest path has a least length of 0 or 1',
    );
  if (relationship.where !== undefined) throw notSupported('WHERE in a shortest path');
  return relationship;
}

const directions = { out: 'OUT', in: 'IN', both: 'BOTH' } as const;

export function searchPlan(
  compiler: Compiler,
  input: LogicalPlan,
  { from, to, edges, relationship, selector, properties, closed }: ShortestSearch,
): LogicalPlan {
  const { repetition, direction } = relationship;
  const { catalog } = compiler;
  const types = typesOfLabels(relationship.types, 'edge', catalog);
  const names = types?.map((type) => catalog.typeWithId(type).name) ?? null;
  const constant = (value: Value): Expression => ({ op: 'Constant', value });
  return {
    op: 'Call',
    input,
    procedure: '#path.shortest',
    arguments: [
      { op: 'Slot', slot: from },
      { op: 'Slot', slot: to },
      constant(names),
      constant(directions[direction]),
      constant(repetition?.min ?? 1),
      constant(repetition === undefined ? 1 : (repetition.max ?? null)),
      constant(selector === 'allShortest' ? 'all' : 'one'),
      { op: 'Map', entries: properties },
      constant(closed),
    ],
    yields: [{ name: 'relationships', slot: edges }],
  };
}
