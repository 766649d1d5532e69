import { madeBytes } from '#core/value/made-bytes.ts';
import { Link } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { noRid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { WalkedEdge } from '../../algebra/plan.ts';
import type { Predicate } from '../../evaluate/evaluator.ts';
import { doneWork } from '../../evaluate/turns/done-work.ts';
import type { HeldMemory } from '../hold/held-memory.ts';
import { NeighbourCursor, type ResolvedMove } from './neighbour-cursor.ts';
import type { ExecutionContext } from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { RecordReference } from '../record-reference.ts';
import { WalkedEdges } from './walked-edges.ts';
import type { TypeCheck } from '../scan/type-check.ts';

export interface CompiledMove {
  readonly move: ResolvedMove;
  /** The move is a repetition itself, to elements that satisfy it. */
  readonly path: PathWalkOptions | undefined;
  readonly element: Slot;
  readonly edge: Slot | undefined;
  readonly predicate: Predicate | undefined;
  readonly typeCheck: TypeCheck | undefined;
}

export interface PathWalkOptions {
  readonly to: Slot;
  /** `to` is bound already and the path must end there. */
  readonly into: boolean;
  readonly moves: readonly CompiledMove[];
  /** Receives the element that the repetition at hand began with, before a predicate is asked. */
  readonly start: Slot | undefined;
  readonly min: number;
  readonly max: number;
  readonly condition: Predicate | undefined;
  readonly predicate: Predicate | undefined;
  readonly typeCheck: TypeCheck | undefined;
  readonly depth: Slot | undefined;
  readonly path: Slot | undefined;
  readonly pathHolds: 'vertices' | 'edges';
  readonly distinctEdges: boolean;
  readonly isReversed: boolean;
  /** Edges that are not walked. */
  readonly unlike: readonly WalkedEdge[];
}

/** The edges of longer paths stand in a set. */
const searchedHeight = 64;
/** Of a path that is given; shorter ones take next to nothing beside the steps that found them. */
const countedLength = 16;
/** Its place in the list, and the reference that is made for it. */
const bytesPerElement = 64;
/** Levels of long paths are in no cache, and two objects stand for each. */
const unitsPerElement = 4;

/** One element on the way, with the walk over its neighbours by the next move of the repetition. */
interface Level {
  readonly cursor: NeighbourCursor | PathWalk;
  /** Number of the move that `cursor` makes. */
  readonly move: number;
  /** The element that stands at this level, and the edge that led to it. */
  element: Value;
  edge: Rid;
  /** Repetitions completed at this element. */
  depth: number;
}

/**
 * Repeated expansion from one element, depth first, on a stack of its own; a move may be a repetition itself. Every path is a
 * result: there is no set of visited elements, so a cycle without bounds goes on until the time or memory limit. The start
 * is a candidate when `min` is 0.
 */
export class PathWalk {
  readonly #options: PathWalkOptions;
  readonly #context: ExecutionContext;
  readonly #memory: HeldMemory;
  /** Levels in use are the first `#height`; the others are kept for reuse. */
  readonly #levels: Level[] = [];
  #height = 0;
  /** What `to` held when it is bound; candidates stand there while they are looked at. */
  #target: Value = null;
  #targetRid: Rid | undefined;
  #isStarting = false;
  /** Of a long path: edges of as many levels as `#walkedCount`. */
  #walkedEdges: Set<Rid> | undefined;
  #walkedCount = 0;
  #element: Value = null;
  readonly #walked: WalkedEdges | undefined;

  constructor(options: PathWalkOptions, context: ExecutionContext, memory: HeldMemory) {
    this.#options = options;
    this.#context = context;
    this.#memory = memory;
    this.#walked = WalkedEdges.of(options.unlike);
  }

  /** The end of the path that `step` found last. */
  get found(): Value {
    return this.#element;
  }

  /** Begins anew; null and what is no record lead nowhere. */
  start(_view: ReadView, start: Value): void {
    const { to, into } = this.#options;
    this.#height = 0;
    this.#walkedCount = 0;
    this.#walkedEdges = undefined;
    this.#isStarting = false;
    this.#walked?.read(this.#context.frame);
    this.#target = into ? (this.#context.frame[to] as Value) : null;
    this.#targetRid = ridOf(this.#target);
    if (start === null || ridOf(start) === undefined) return;
    this.#push(0, start, noRid, 0);
    this.#isStarting = true;
  }

  /** Does a little of the walk: 'found' when an end stands in `to`, 'more' when to be called again, 'end' at the end. */
  step(): 'found' | 'more' | 'end' {
    if (this.#isStarting) {
      this.#isStarting = false;
      return this.#arrive(0) ? 'found' : 'more';
    }
    if (this.#height === 0) return 'end';
    return this.#advance() ? 'found' : 'more';
  }

  #pop(): void {
    this.#height -= 1;
    if (this.#height >= this.#walkedCount) return;
    this.#walkedEdges?.delete((this.#levels[this.#height] as Level).edge);
    this.#walkedCount = this.#height;
  }

  #push(move: number, element: Value, edge: Rid, depth: number): void {
    let level = this.#levels[this.#height];
    if (level === undefined || level.move !== move) {
      level = { cursor: this.#cursorOf(move), move, element, edge, depth };
      this.#levels[this.#height] = level;
      this.#memory.addBytes(200);
    }
    level.element = element;
    level.edge = edge;
    level.depth = depth;
    this.#height += 1;
  }

  #cursorOf(number: number): NeighbourCursor | PathWalk {
    const { move, path } = this.#options.moves[number] as CompiledMove;
    return path === undefined
      ? new NeighbourCursor(move)
      : new PathWalk(path, this.#context, this.#memory);
  }

  /** Takes one neighbour of the element on top. @returns true when it is a result */
  #advance(): boolean {
    const top = this.#levels[this.#height - 1] as Level;
    const { cursor } = top;
    if (cursor instanceof PathWalk) {
      const stepped = cursor.step();
      if (stepped === 'end') this.#pop();
      return stepped === 'found' && this.#reach(top, cursor.found, noRid);
    }
    if (!cursor.next()) {
      this.#pop();
      return false;
    }
    const { view, frame } = this.#context;
    const { moves, distinctEdges } = this.#options;
    const move = moves[top.move] as CompiledMove;
    if (move.typeCheck && !move.typeCheck(cursor.element, view)) return false;
    if (distinctEdges && this.#isWalked(cursor.edge)) return false;
    if (this.#walked?.has(cursor.edge) === true) return false;
    const element = new RecordReference(view, cursor.element);
    if (this.#options.start !== undefined) this.#showRepetition(top);
    frame[move.element] = element;
    if (move.edge !== undefined) frame[move.edge] = new RecordReference(view, cursor.edge);
    if (move.predicate && !move.predicate(this.#context)) return false;
    return this.#reach(top, element, cursor.edge);
  }

  /** Puts what the repetition at hand has walked so far into the frame again: deeper ones stood there meanwhile. */
  #showRepetition(top: Level): void {
    const { start, moves } = this.#options;
    const { view, frame } = this.#context;
    for (let back = 0; back <= top.move; back += 1) {
      const level = this.#levels[this.#height - 1 - back] as Level;
      if (level.move === 0) {
        frame[start as Slot] = level.element;
        return;
      }
      const move = moves[level.move - 1] as CompiledMove;
      frame[move.element] = level.element;
      if (move.edge !== undefined) frame[move.edge] = new RecordReference(view, level.edge);
    }
  }

  /** An element that one move of the repetition leads to. @returns true when it is a result */
  #reach(from: Level, element: Value, edge: Rid): boolean {
    const next = from.move + 1;
    if (next < this.#options.moves.length) {
      this.#push(next, element, edge, from.depth);
      (this.#levels[this.#height - 1] as Level).cursor.start(this.#context.view, element);
      return false;
    }
    this.#push(0, element, edge, from.depth + 1);
    return this.#arrive(from.depth + 1);
  }

  /** Looks at the element on top, which completes `depth` repetitions: is it a result, is it followed? */
  #arrive(depth: number): boolean {
    const context = this.#context;
    const { view, frame } = context;
    const { to, into, condition, max, depth: depthSlot } = this.#options;
    const top = this.#levels[this.#height - 1] as Level;
    frame[to] = top.element;
    if (depthSlot !== undefined) frame[depthSlot] = depth;
    const isFollowed = depth < max && (condition === undefined || condition(context));
    const isResult = this.#isResult(depth, top);
    if (isResult) this.#give(top);
    if (into) frame[to] = this.#target;
    if (isFollowed) top.cursor.start(view, top.element);
    else this.#pop();
    return isResult;
  }

  #isResult(depth: number, top: Level): boolean {
    const { min, typeCheck, predicate, into } = this.#options;
    if (depth < min) return false;
    const rid = ridOf(top.element);
    if (into && rid !== this.#targetRid) return false;
    if (typeCheck && (rid === undefined || !typeCheck(rid, this.#context.view))) return false;
    return predicate === undefined || predicate(this.#context);
  }

  #give(top: Level): void {
    const { path } = this.#options;
    this.#element = top.element;
    if (path !== undefined) this.#context.frame[path] = this.#path();
  }

  #path(): readonly Value[] {
    const { pathHolds } = this.#options;
    const { view } = this.#context;
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
    if (path.length >= countedLength) {
      madeBytes.total += bytesPerElement * path.length;
      doneWork.units += unitsPerElement * path.length;
    }
    return this.#options.isReversed ? path.reverse() : path;
  }

  #isWalked(edge: Rid): boolean {
    if (edge < 0) return false;
    if (this.#height > searchedHeight) return this.#isWalkedFar(edge);
    for (let at = 1; at < this.#height; at += 1)
      if ((this.#levels[at] as Level).edge === edge) return true;
    return false;
  }

  /** Each step of a path of 10,000 looked at 10,000 edges. */
  #isWalkedFar(edge: Rid): boolean {
    const walked = this.#walkedEdges ?? new Set();
    this.#walkedEdges = walked;
    for (; this.#walkedCount < this.#height; this.#walkedCount += 1)
      walked.add((this.#levels[this.#walkedCount] as Level).edge);
    return walked.has(edge);
  }
}
