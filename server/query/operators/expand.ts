import { noRid, type Rid } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import type { Slot } from '../algebra/expression.ts';
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
import { RidSet } from './rid-set.ts';
import type { TypeCheck } from './type-check.ts';
import { WorkShare } from './work-share.ts';

export interface ExpandOptions {
  readonly input: PhysicalOperator;
  readonly from: Slot;
  readonly move: ResolvedMove;
  /** Where the edge walked goes, when somebody reads it. */
  readonly edge: Slot | undefined;
  /** Where the neighbour goes; undefined when only the number of rows matters. */
  readonly to: Slot | undefined;
  /** `from` holds a bare record id, left by a step before. */
  readonly fromBareId: boolean;
  /** Only further steps read `to`, for which the bare record id is enough. */
  readonly toBareId: boolean;
  readonly typeCheck: TypeCheck | undefined;
  /** Each neighbour is given once, whatever leads to it. */
  readonly isDistinct: boolean;
  readonly description: string;
}

/** From an element to its neighbours: one row per edge. Neighbours are references; nothing is loaded. */
export class ExpandOperator implements PhysicalOperator {
  readonly name: string;
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ExpandOptions;
  readonly #neighbours: NeighbourCursor;
  #context: ExecutionContext | undefined;
  #isWalking = false;
  readonly #share = new WorkShare();
  #seen: RidSet | undefined;
  #memory: HeldMemory | undefined;
  #seenBytes = 0;

  constructor(options: ExpandOptions) {
    this.name = options.isDistinct ? 'Expand distinct' : 'Expand';
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#neighbours = new NeighbourCursor(options.move);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isWalking = false;
    if (this.#options.isDistinct) {
      this.#seen ??= new RidSet();
      this.#memory = new HeldMemory(context, 'DISTINCT');
      this.#seenBytes = 0;
    }
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { view, frame } = this.#context as ExecutionContext;
    const { input, from, edge, to, typeCheck, fromBareId, toBareId } = this.#options;
    const neighbours = this.#neighbours;
    const seen = this.#seen;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (!this.#isWalking) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
        if (fromBareId) neighbours.startAt(view, frame[from] as Rid);
        else neighbours.start(view, frame[from] as Value);
        this.#isWalking = true;
      }
      if (!neighbours.next()) {
        this.#isWalking = false;
        if (seen !== undefined) this.#account(seen);
        continue;
      }
      const { element } = neighbours;
      if (seen !== undefined && !seen.add(element)) continue;
      if (typeCheck !== undefined && !typeCheck(element)) continue;
      if (to !== undefined) frame[to] = toBareId ? element : new RecordReference(view, element);
      if (edge !== undefined) frame[edge] = new RecordReference(view, neighbours.edge);
      return ROW;
    }
  }

  #account(seen: RidSet): void {
    const { bytes } = seen;
    if (bytes === this.#seenBytes) return;
    this.#memory?.addBytes(bytes - this.#seenBytes);
    this.#seenBytes = bytes;
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    // A small table serves the next execution; a large one goes.
    this.#seen?.clear();
    this.#context = undefined;
    this.#isWalking = false;
    this.#options.input.close();
  }
}

/** As Expand, for a neighbour that is bound already: one row per edge that leads to it. */
export class ExpandIntoOperator implements PhysicalOperator {
  readonly name = 'Expand into';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ExpandOptions & { readonly to: Slot };
  readonly #neighbours: NeighbourCursor;
  /** The same move seen from the other end, when it can be walked from there. */
  readonly #reversed: NeighbourCursor | undefined;
  #walking: NeighbourCursor;
  #context: ExecutionContext | undefined;
  #isWalking = false;
  readonly #share = new WorkShare();
  #target: Rid = noRid;

  constructor(
    options: ExpandOptions & { readonly to: Slot; readonly reversed: ResolvedMove | undefined },
  ) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#neighbours = new NeighbourCursor(options.move);
    this.#reversed = options.reversed && new NeighbourCursor(options.reversed);
    this.#walking = this.#neighbours;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isWalking = false;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { view, frame } = this.#context as ExecutionContext;
    const { input, edge } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (!this.#isWalking) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
        this.#start();
      }
      if (!this.#walking.next()) {
        this.#isWalking = false;
        continue;
      }
      if (this.#walking.element !== this.#target) continue;
      if (edge !== undefined) frame[edge] = new RecordReference(view, this.#walking.edge);
      return ROW;
    }
  }

  /** Walks from the end with fewer edges. */
  #start(): void {
    const { view, frame } = this.#context as ExecutionContext;
    const { from, to } = this.#options;
    const source = idOf(frame[from] as Value, this.#options.fromBareId);
    const target = idOf(frame[to] as Value, this.#options.toBareId);
    this.#isWalking = true;
    this.#walking = this.#neighbours;
    this.#neighbours.startAt(view, source);
    this.#target = target;
    const reversed = this.#reversed;
    if (reversed === undefined) return;
    reversed.startAt(view, target);
    if (reversed.remainingDegree() < this.#neighbours.remainingDegree()) {
      this.#walking = reversed;
      this.#target = source;
      reversed.startAt(view, target);
    } else this.#neighbours.startAt(view, source);
  }

  close(): void {
    this.#context = undefined;
    this.#isWalking = false;
    this.#options.input.close();
  }
}

function idOf(value: Value, isBareId: boolean): Rid {
  return isBareId ? (value as Rid) : (ridOf(value) ?? noRid);
}
