import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from './expression.ts';

/** Patterns of a graph, and the steps that they consist of. */

/**
 * One step between two elements of a graph. `loops: 'once'`: walked in both directions, an edge from a vertex to itself is met once
 * (openCypher), otherwise twice.
 */
export type Move =
  | {
      readonly kind: 'vertex';
      readonly direction: 'out' | 'in' | 'both';
      readonly types: readonly TypeId[] | undefined;
      readonly loops?: 'once';
    }
  | {
      readonly kind: 'edge';
      readonly direction: 'out' | 'in' | 'both';
      readonly types: readonly TypeId[] | undefined;
      readonly loops?: 'once';
    }
  /** From an edge to its ends: out gives the source. */
  | { readonly kind: 'end'; readonly direction: 'out' | 'in' | 'both' }
  /** A link (or list of links) in a property. */
  | { readonly kind: 'link'; readonly property: string };

/** An edge, or list of edges, that another step has walked. */
export interface WalkedEdge {
  readonly edge: Slot;
  /** Of a single edge: where it leads, so that its record need not be read. */
  readonly ends?: {
    readonly from: Slot;
    readonly to: Slot;
    readonly direction: 'out' | 'in' | 'both';
  };
}

/** A part of a pattern that hangs on one element and of which only the number of matches is wanted. */
export interface Branch {
  readonly move: Move;
  /** Neighbours of other types do not count. */
  readonly toTypes: readonly TypeId[] | undefined;
  /** Without a match the branch counts as one. */
  readonly isOptional: boolean;
  /** What hangs on each neighbour. */
  readonly branches: readonly Branch[];
}

export interface PathSpec {
  /** The moves of one repetition, in order; usually one. */
  readonly moves: readonly {
    readonly move: Move;
    readonly element: Slot;
    readonly edge: Slot | undefined;
    readonly predicate: Expression | undefined;
    readonly types?: readonly TypeId[];
    /** The move is a repetition itself, whose ends stand in `element`; `move` is its first one. */
    readonly path?: PathSpec;
  }[];
  /** Slot for the element that a repetition begins with: predicates of its moves may read it and all elements and edges before them. */
  readonly start?: Slot;
  readonly min: number;
  /** undefined: unbounded. */
  readonly max: number | undefined;
  /** Evaluated on the element that is expanded, in slot `to`; the step is followed when true. */
  readonly condition: Expression | undefined;
  /** What an element must satisfy to be a result (it is expanded all the same). */
  readonly predicate: Expression | undefined;
  readonly toTypes?: readonly TypeId[];
  readonly depth: Slot | undefined;
  /** Slot for the list of record ids (SQL pathAlias) or of edges (Cypher). */
  readonly path: Slot | undefined;
  readonly pathHolds: 'vertices' | 'edges';
  /** No edge twice on one path. */
  readonly distinctEdges: boolean;
  /** Walked from its end: the list is given the other way round. */
  readonly isReversed?: boolean;
  /** Edges that are not walked: those of other steps of a pattern of distinct edges. */
  readonly unlike?: readonly WalkedEdge[];
}

/** A graph pattern: nodes are elements (vertices, or edges in the method form of SQL), steps connect them. */
export interface Pattern {
  readonly nodes: readonly PatternNode[];
  readonly steps: readonly PatternStep[];
  /** No edge is walked by two steps, or twice by a repeated one (openCypher's relationship uniqueness). */
  readonly distinctEdges?: boolean;
}

export interface PatternNode {
  readonly slot: Slot;
  /** Expanded list; undefined: any. */
  readonly types: readonly TypeId[] | undefined;
  readonly buckets?: readonly BucketId[];
  readonly rids: Expression | undefined;
  /** Conjuncts; may read slots of other nodes ($matched), then they are checked as soon as these are bound. */
  readonly predicates: readonly Expression[];
  /** Bound by the input of the Match. */
  readonly bound: boolean;
}

export interface PatternStep {
  /** Of a pattern of distinct edges: steps of different groups may walk the same edge. Default 0. */
  readonly group?: number;
  readonly from: Slot;
  readonly to: Slot;
  readonly move: Move;
  /** Slot of the edge walked, when somebody reads it. */
  readonly edge: Slot | undefined;
  readonly path: PathSpec | undefined;
  /** `edge` is bound by the input: an edge, or with a `path` the list of all of its edges in order. The step walks nothing else. */
  readonly edgeIsBound?: boolean;
  /** When nothing matches the slot `to` is null and the row survives; `to` is then a leaf. */
  readonly optional: boolean;
}
