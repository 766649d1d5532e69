import { Link } from '#core/record.ts';
import type { Rid } from '#core/rid.ts';
import { noRid } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Predicate } from '../evaluate/evaluator.ts';
import { HeldMemory } from './held-memory.ts';
import { NeighbourCursor, type ResolvedMove } from './neighbour-cursor.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { ridOf } from './record-identity.ts';
import { RecordReference } from './record-reference.ts';
import type { TypeCheck } from './type-check.ts';
import { WorkShare } from './work-share.ts';

export interface CompiledMove {
  readonly move: ResolvedMove;
  readonly element: Slot;
  readonly edge: Slot | undefined;
  readonly predicate: Predicate | undefined;
  readonly typeCheck: TypeCheck | undefined;
}

export interface ExpandPathOptions {
  readonly input: PhysicalOperator;
  readonly from: Slot;
  readonly to: Slot;
  /** `to` is bound already and the path must end there. */
  readonly into: boolean;
  readonly moves: readonly CompiledMove[];
  readonly min: number;
  readonly max: number;
  readonly condition: Predicate | undefined;
  readonly predicate: Predicate | undefined;
  readonly typeCheck: TypeCheck | undefined;
  readonly depth: Slot | undefined;
  readonly path: Slot | undefined;
  readonly pathHolds: 'vertices' | 'edges';
  readonly distinctEdges: boolean;
  readonly description: string;
}

/** One element on the way, with the walk over its neighbours by the next move of the repetition. */
interface Level {
  readonly cursor: NeighbourCursor;
  /** Number of the move that `cursor` makes. */
  readonly move: number;
  /** The element that stands at this level, and the edge that led to it. */
  element: Value;
  edge: Rid;
  /** Repetitions completed at this element. */
  depth: number;
}

/**
 * Repeated expansion, depth first, on a stack of its own. Every path is a row: there is no set of visited elements, so a cycle
 * without bounds goes on until the time or memory limit. The start is a candidate when `min` is 0.
 */
export class ExpandPathOperator implements PhysicalOperator {
  readonly name = 'Expand path';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ExpandPathOptions;
  /** Levels in use are the first `#height`; the others are kept for reuse. */
  readonly #levels: Level[] = [];
  #height = 0;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  /** What `to` held when it is bound; candidates stand there while they are looked at. */
  #target: Value = null;
  #targetRid: Rid | undefined;
  #isStarting = false;
  readonly #share = new WorkShare();

  constructor(options: ExpandPathOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#memory = new HeldMemory(context, 'a path');
    this.#height = 0;
    this.#isStarting = false;
    this.#options.input.open(context);
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#isStarting) {
        this.#isStarting = false;
        if (this.#arrive(0)) return ROW;
      } else if (this.#height > 0) {
        if (this.#step()) return ROW;
      } else {
        const pulled = this.#options.input.next();
        if (pulled !== ROW) return pulled;
        this.#start();
      }
    }
  }

  #start(): void {
    const { frame } = this.#context as ExecutionContext;
    const { from, to, into } = this.#options;
    this.#target = into ? (frame[to] as Value) : null;
    this.#targetRid = ridOf(this.#target);
    const start = frame[from] as Value;
    if (start === null || ridOf(start) === undefined) return;
    this.#push(0, start, noRid, 0);
    this.#isStarting = true;
  }

  #push(move: number, element: Value, edge: Rid, depth: number): void {
    const { moves } = this.#options;
    let level = this.#levels[this.#height];
    if (level === undefined || level.move !== move) {
      const resolved = (moves[move] as CompiledMove).move;
      level = { cursor: new NeighbourCursor(resolved), move, element, edge, depth };
      this.#levels[this.#height] = level;
      this.#memory?.addBytes(200);
    }
    level.element = element;
    level.edge = edge;
    level.depth = depth;
    this.#height += 1;
  }

  /** Takes one neighbour of the element on top. @returns true when it is a result */
  #step(): boolean {
    const { view, frame } = this.#context as ExecutionContext;
    const { moves, distinctEdges } = this.#options;
    const top = this.#levels[this.#height - 1] as Level;
    const { cursor } = top;
    if (!cursor.next()) {
      this.#height -= 1;
      return false;
    }
    const move = moves[top.move] as CompiledMove;
    if (move.typeCheck && !move.typeCheck(cursor.element)) return false;
    if (distinctEdges && this.#isWalked(cursor.edge)) return false;
    const element = new RecordReference(view, cursor.element);
    frame[move.element] = element;
    if (move.edge !== undefined) frame[move.edge] = new RecordReference(view, cursor.edge);
    if (move.predicate && !move.predicate(this.#context as ExecutionContext)) return false;
    const next = top.move + 1;
    if (next < moves.length) {
      this.#push(next, element, cursor.edge, top.depth);
      (this.#levels[this.#height - 1] as Level).cursor.start(view, element);
      return false;
    }
    this.#push(0, element, cursor.edge, top.depth + 1);
    return this.#arrive(top.depth + 1);
  }

  /** Looks at the element on top, which completes `depth` repetitions: is it a result, is it followed? */
  #arrive(depth: number): boolean {
    const context = this.#context as ExecutionContext;
    const { view, frame } = context;
    const { to, into, condition, max, depth: depthSlot } = this.#options;
    const top = this.#levels[this.#height - 1] as Level;
    frame[to] = top.element;
    if (depthSlot !== undefined) frame[depthSlot] = depth;
    const isFollowed = depth < max && (condition === undefined || condition(context));
    const isResult = this.#isResult(depth, top);
    if (isResult) this.#give();
    if (into) frame[to] = this.#target;
    if (isFollowed) top.cursor.start(view, top.element);
    else this.#height -= 1;
    return isResult;
  }

  #isResult(depth: number, top: Level): boolean {
    const context = this.#context as ExecutionContext;
    const { min, typeCheck, predicate, into } = this.#options;
    if (depth < min) return false;
    const rid = ridOf(top.element);
    if (into && rid !== this.#targetRid) return false;
    if (typeCheck && (rid === undefined || !typeCheck(rid))) return false;
    return predicate === undefined || predicate(context);
  }

  #give(): void {
    const { frame } = this.#context as ExecutionContext;
    const { path } = this.#options;
    if (path !== undefined) frame[path] = this.#path();
  }

  #path(): readonly Value[] {
    const { pathHolds } = this.#options;
    const { view } = this.#context as ExecutionContext;
    const path: Value[] = [];
    for (let at = 1; at < this.#height; at += 1) {
      const level = this.#levels[at] as Level;
      if (pathHolds === 'edges') {
        if (level.edge >= 0) path.push(new RecordReference(view, level.edge));
      } else if (level.move === 0) {
        const rid = ridOf(level.element);
        if (rid !== undefined) path.push(new Link(rid));
      }
    }
    return path;
  }

  #isWalked(edge: Rid): boolean {
    if (edge < 0) return false;
    for (let at = 1; at < this.#height; at += 1)
      if ((this.#levels[at] as Level).edge === edge) return true;
    return false;
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#context = undefined;
    this.#levels.length = 0;
    this.#height = 0;
    this.#options.input.close();
  }
}
