import { filterLong, inStretches, mapLong, someLong } from '#core/replayed-loops.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression } from '../algebra/expression.ts';
import type { Pattern, PatternNode } from '../algebra/plan.ts';
import { conjunctionOf } from '../algebra/walk.ts';
import { type Condition, expressionsOf, inOrder, type PatternConditions } from './conditions.ts';
import { fetchCost, scanCost, searchedShare, seekCost, selectivityOf } from './cost.ts';
import {
  type IndexCandidate,
  indexCandidates,
  mayBeSearched,
  usableIndexes,
} from './index-candidates.ts';
import { typesOfNode, without } from './match-parts.ts';
import type { OptimizerContext } from './rule.ts';
import { searchedBy } from './search-start.ts';

/** How a plan, or a further part of it, can be begun at a node. */
export interface Start {
  readonly node: PatternNode;
  readonly types: readonly TypeId[];
  /** Conditions that an index answers, those that tie the node to earlier ones included. */
  readonly covered: readonly Expression[];
  /** Records found, and what finding them costs. */
  readonly found: number;
  readonly sourceCost: number;
}

/** What is known of a node whatever is bound. */
interface NodeFacts {
  readonly node: PatternNode;
  readonly types: readonly TypeId[];
  readonly recordCount: number;
  /** Conditions that read nothing else of the pattern. */
  readonly untied: readonly Condition[];
  readonly untiedExpressions: readonly Expression[];
  /** A usable index may serve a condition. */
  readonly mayServe: (condition: Condition) => boolean;
  readonly untiedMayServe: boolean;
  /** Found when first asked for. */
  plain: Start | undefined;
  alone: { readonly best: IndexCandidate | undefined } | undefined;
  /** By the index that finds the node by conditions on it alone. */
  foundAlone: Start | undefined;
}

/** Conditions on one node that are looked through without a pause. */
const fewConditions = 64;

/** Where the plan of a pattern can be begun; shared by all plans that are tried. */
export class PatternStarts {
  readonly #pattern: Pattern;
  readonly #conditions: PatternConditions;
  readonly #context: OptimizerContext;
  readonly #facts = new Map<PatternNode, NodeFacts>();

  constructor(pattern: Pattern, conditions: PatternConditions, context: OptimizerContext) {
    this.#pattern = pattern;
    this.#conditions = conditions;
    this.#context = context;
  }

  /** Looks through long lists of conditions beforehand, with places to pause. */
  *prepare(): PausingWork<void> {
    for (const node of this.#pattern.nodes)
      if (this.#conditions.of(node.slot).length > fewConditions) {
        // What one piece of work has left here, its next beginning must not find: each is a piece of its own.
        yield* inStretches(() => this.#factsOf(node));
        yield* inStretches(() => this.indexAlone(node));
        yield* inStretches(() => this.of(node, none));
      }
  }

  /** @param tied conditions that read the node and nothing else that is not bound, in any order */
  of(node: PatternNode, tied: readonly Condition[]): Start {
    const facts = this.#factsOf(node);
    if (tied.length === 0) {
      const alone = this.#startAlone(facts);
      if (alone !== undefined) return alone;
    } else {
      const mayServe = facts.untiedMayServe || tied.some(facts.mayServe);
      const best = mayServe ? this.#bestIndex(facts, tied) : undefined;
      if (best !== undefined) return searchStart(facts, best);
    }
    facts.plain ??= this.#plainStart(facts);
    return facts.plain;
  }

  /** The index that finds the node by conditions on it alone. */
  indexAlone(node: PatternNode): IndexCandidate | undefined {
    return this.#indexAlone(this.#factsOf(node));
  }

  #indexAlone(facts: NodeFacts): IndexCandidate | undefined {
    facts.alone ??= { best: facts.untiedMayServe ? this.#bestIndex(facts, none) : undefined };
    return facts.alone.best;
  }

  #startAlone(facts: NodeFacts): Start | undefined {
    const best = this.#indexAlone(facts);
    if (best !== undefined) facts.foundAlone ??= searchStart(facts, best);
    return facts.foundAlone;
  }

  #bestIndex(
    { node, types, untied, untiedExpressions }: NodeFacts,
    tied: readonly Condition[],
  ): IndexCandidate | undefined {
    const expressions =
      tied.length === 0 ? untiedExpressions : expressionsOf(inOrder([...untied, ...tied]));
    return indexCandidates(expressions, node.slot, types, this.#context)[0];
  }

  #factsOf(node: PatternNode): NodeFacts {
    const known = this.#facts.get(node);
    if (known !== undefined) return known;
    const facts = this.#newFacts(node);
    this.#facts.set(node, facts);
    return facts;
  }

  #newFacts(node: PatternNode): NodeFacts {
    const { statistics } = this.#context;
    const types = node.types ?? typesOfNode(node, this.#pattern, this.#context);
    const isListed = node.rids !== undefined || node.buckets !== undefined;
    const recordCount = node.rids
      ? 1
      : node.buckets
        ? statistics.bucketRecordCount(node.buckets)
        : statistics.recordCount(types);
    const indexes = isListed ? [] : usableIndexes(types, this.#context);
    const mayServe = ({ expression }: Condition): boolean =>
      mayBeSearched(expression, node.slot, indexes);
    const conditions = this.#conditions.of(node.slot);
    const untied = filterLong(conditions, ({ slotCount }) => slotCount === 1);
    const untiedExpressions = mapLong(untied, ({ expression }) => expression);
    return {
      node,
      types,
      recordCount,
      untied,
      untiedExpressions,
      mayServe,
      untiedMayServe: indexes.length > 0 && someLong(untied, mayServe),
      plain: undefined,
      alone: undefined,
      foundAlone: undefined,
    };
  }

  /** Without an index over keys. */
  #plainStart({ node, types, recordCount, untiedExpressions }: NodeFacts): Start {
    const search =
      node.rids !== undefined || node.buckets !== undefined
        ? undefined
        : searchedBy(untiedExpressions, node.slot, types, this.#context);
    const given = search && recordCount * searchedShare;
    const left = without(untiedExpressions, search ? [search] : []);
    const found = Math.max(
      node.rids ? 1 : 0,
      (given ?? recordCount) * selectivityOf(conjunctionOf(left)),
    );
    const sourceCost =
      given !== undefined
        ? seekCost + given * fetchCost
        : node.rids
          ? fetchCost
          : recordCount * scanCost;
    return { node, types, covered: [], found, sourceCost };
  }
}

const none: readonly Condition[] = [];

function searchStart(
  { node, types, untiedExpressions }: NodeFacts,
  { covered, rowCount }: IndexCandidate,
): Start {
  const left = filterLong(untiedExpressions, (expression) => !covered.includes(expression));
  const found = rowCount * selectivityOf(conjunctionOf(left));
  return { node, types, covered, found, sourceCost: seekCost + rowCount * fetchCost };
}
