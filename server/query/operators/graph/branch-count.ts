import { DatabaseError } from '#core/errors.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { CountCache } from '../row/count-cache.ts';
import type { EdgeTable } from './edge-table.ts';
import type { EdgeTables } from './edge-tables.ts';
import { NeighbourCursor, type ResolvedMove } from './neighbour-cursor.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import type { TypeCheck } from '../scan/type-check.ts';
import { WorkShare } from '../hold/work-share.ts';

/** A branch of a pattern with its names resolved. */
export interface ResolvedBranch {
  readonly move: ResolvedMove;
  readonly typeCheck: TypeCheck | undefined;
  /** Without a match the row survives once. */
  readonly isOptional: boolean;
  readonly branches: readonly ResolvedBranch[];
}

export interface BranchCountOptions {
  readonly input: PhysicalOperator;
  readonly from: Slot;
  /** `from` holds a bare record id. */
  readonly fromBareId: boolean;
  readonly branches: readonly ResolvedBranch[];
  readonly as: Slot;
  readonly tables: EdgeTables;
  readonly description: string;
}

/**
 * The number of ways in which the branches match at an element: the product over the branches of the sum over the neighbours.
 * Cost: each edge of a branch once per visit of its vertex, and visits of the same vertex are remembered, so it follows the
 * number of edges, not that of the paths (counting over a join tree; Pichler and Skritek, "Tractable counting of the answers
 * to conjunctive queries", 2013).
 */
export class BranchCountOperator implements PhysicalOperator {
  readonly name = 'Branch count';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: BranchCountOptions;
  readonly #top: readonly Branch[];
  readonly #share = new WorkShare();
  #context: ExecutionContext | undefined;
  /** The vertices being counted, from the row's element down, are the first `#depth` of these. The objects are used again. */
  readonly #visits: Visit[] = [];
  #depth = 0;
  readonly #known = new CountCache();

  constructor(options: BranchCountOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#top = options.branches.map((branch) => new Branch(branch, options.tables));
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#depth = 0;
    this.#known.clear();
    for (const branch of this.#top) branch.use(context);
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame } = this.#context as ExecutionContext;
    const { input, from, fromBareId, as } = this.#options;
    if (this.#depth === 0) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      const id = (fromBareId ? (frame[from] as Rid | null) : ridOf(frame[from] as Value)) ?? noRid;
      const known = id === noRid ? -1 : this.#known.get(id);
      if (known >= 0) {
        frame[as] = known;
        return ROW;
      }
      this.#visit(id, this.#top, undefined);
    }
    const { vertex } = this.#visits[0] as Visit;
    const count = this.#count();
    if (count === undefined) return PAUSE;
    if (vertex !== noRid) this.#known.set(vertex, count);
    frame[as] = count;
    return ROW;
  }

  #visit(vertex: Rid, branches: readonly Branch[], reachedBy: Branch | undefined): void {
    let visit = this.#visits[this.#depth];
    if (visit === undefined) {
      visit = new Visit();
      this.#visits.push(visit);
    }
    visit.begin(vertex, branches, reachedBy);
    this.#depth += 1;
  }

  /** @returns undefined when the turn is over before the count is complete */
  #count(): number | undefined {
    const visits = this.#visits;
    for (;;) {
      const visit = visits[this.#depth - 1] as Visit;
      const branch = visit.branches[visit.at];
      if (branch === undefined || visit.product === 0) {
        this.#depth -= 1;
        if (visit.reachedBy === undefined) return visit.product;
        visit.reachedBy.finish(visit);
      } else if (!this.#walk(branch, visit)) return undefined;
    }
  }

  /** Goes on with one branch of the vertex visited last, as far as its end or a vertex to be visited. @returns false: pause */
  #walk(branch: Branch, visit: Visit): boolean {
    const context = this.#context as ExecutionContext;
    if (!branch.isOpen) branch.open(context.view, visit.vertex);
    if (!branch.isReady) {
      branch.isReady = branch.cursor.prepare(context);
      if (!branch.isReady) return false;
    }
    const { cursor } = branch;
    if (branch.isCountedByDegree) {
      if (this.#share.isSpent()) return false;
      branch.sum = cursor.remainingDegree();
    } else {
      for (;;) {
        this.#share.spend(branch.addKnown(this.#share.left));
        if (!cursor.next()) break;
        if (this.#share.isSpent()) {
          cursor.unread();
          return false;
        }
        const { element, check } = cursor;
        if (check !== undefined && !check(element, context.view)) continue;
        const known = branch.known(element);
        if (known < 0) {
          this.#visit(element, branch.branches, branch);
          return true;
        }
        branch.sum = exact(branch.sum + known);
      }
    }
    visit.multiply(branch.isOptional ? Math.max(1, branch.sum) : branch.sum);
    visit.at += 1;
    branch.isOpen = false;
    return true;
  }

  close(): void {
    this.#context = undefined;
    this.#depth = 0;
    this.#known.clear();
    for (const branch of this.#top) branch.reset();
    this.#options.input.close();
  }
}

/** A vertex of which the branches are being counted. */
class Visit {
  vertex: Rid = noRid;
  branches: readonly Branch[] = [];
  reachedBy: Branch | undefined;
  /** The branch that is being walked. */
  at = 0;
  product = 1;

  begin(vertex: Rid, branches: readonly Branch[], reachedBy: Branch | undefined): void {
    this.vertex = vertex;
    this.branches = branches;
    this.reachedBy = reachedBy;
    this.at = 0;
    this.product = 1;
  }

  multiply(factor: number): void {
    this.product = exact(this.product * factor);
  }
}

/** One branch and what is known of the vertices at its end. A branch is walked from one vertex at a time. */
class Branch {
  readonly cursor: NeighbourCursor;
  readonly isOptional: boolean;
  readonly branches: readonly Branch[];
  /** Nothing hangs on the neighbours. */
  readonly #isLeaf: boolean;
  /** What a neighbour counts is in the tables of the branches that hang on it. */
  #isShallow = false;
  isOpen = false;
  /** The cursor may be walked. */
  isReady = false;
  sum = 0;
  #cache: CountCache | undefined;

  constructor(branch: ResolvedBranch, tables: EdgeTables) {
    const { move } = branch;
    this.cursor = new NeighbourCursor(move, tables, branch.typeCheck);
    this.isOptional = branch.isOptional;
    this.branches = branch.branches.map((inner) => new Branch(inner, tables));
    this.#isLeaf = branch.branches.length === 0 && (move.kind === 'vertex' || move.kind === 'edge');
  }

  /** All neighbours count one. */
  get isCountedByDegree(): boolean {
    return this.#isLeaf && this.cursor.check === undefined;
  }

  open(view: ExecutionContext['view'], vertex: Rid): void {
    this.cursor.startAt(view, vertex);
    this.sum = 0;
    this.isOpen = true;
    this.isReady = false;
    this.#isShallow = this.branches.every(
      (inner) => inner.isCountedByDegree && inner.cursor.isGathered,
    );
  }

  use(context: ExecutionContext): void {
    this.cursor.use(context);
    for (const branch of this.branches) branch.use(context);
  }

  /** What a neighbour counts; -1 when it must be visited. */
  known(neighbour: Rid): number {
    if (this.#isShallow) return this.#productOfDegrees(neighbour);
    return this.#cache?.get(neighbour) ?? -1;
  }

  /**
   * Adds what the next neighbours of the list count, up to the first that must be looked at by itself. One by one, with calls
   * between the steps, each of their numbers would be an object: 70 MB for 2 million neighbours. @returns how many, at most `countMax`
   */
  addKnown(countMax: number): number {
    const { cursor } = this;
    const from = cursor.listPosition;
    const to = Math.min(cursor.listEnd, from + countMax);
    if (from >= to || cursor.check !== undefined) return 0;
    const table = this.#isShallow ? this.#onlyTable() : undefined;
    let reached = from;
    if (table !== undefined) {
      this.sum = exact(this.sum + table.sumOfDegrees(cursor.list, from, to));
      reached = to;
    } else if (!this.#isShallow && this.#cache !== undefined) {
      this.sum = exact(this.sum + this.#cache.sumOf(cursor.list, from, to));
      reached = this.#cache.reached;
    }
    cursor.goOnAt(reached);
    return reached - from;
  }

  #onlyTable(): EdgeTable | undefined {
    const [inner] = this.branches;
    if (inner === undefined || this.branches.length > 1 || inner.isOptional) return undefined;
    return inner.cursor.onlyTable;
  }

  #productOfDegrees(neighbour: Rid): number {
    const { branches } = this;
    let product = 1;
    for (let at = 0; at < branches.length && product > 0; at += 1) {
      const { cursor, isOptional } = branches[at] as Branch;
      const degree = cursor.gatheredDegree(neighbour);
      product = exact(product * (isOptional ? Math.max(1, degree) : degree));
    }
    return product;
  }

  finish(visit: Visit): void {
    this.#cache ??= new CountCache();
    this.#cache.set(visit.vertex, visit.product);
    this.sum = exact(this.sum + visit.product);
  }

  reset(): void {
    this.isOpen = false;
    this.#cache?.clear();
    this.#cache = undefined;
    for (const branch of this.branches) branch.reset();
  }
}

function exact(count: number): number {
  if (Number.isSafeInteger(count)) return count;
  throw new DatabaseError('Arithmetic', 'long overflow');
}
