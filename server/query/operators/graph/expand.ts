import { Link } from '#core/value/record.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { WalkedEdge } from '../../algebra/plan.ts';
import { WalkedEdges } from './walked-edges.ts';
import type { EdgeTables } from './edge-tables.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import { NeighbourCursor, type ResolvedMove } from './neighbour-cursor.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { RecordReference } from '../record-reference.ts';
import { StepEnd } from './step-end.ts';
import { RidSet } from '../scan/rid-set.ts';
import type { TypeCheck } from '../scan/type-check.ts';
import { WorkShare } from '../hold/work-share.ts';
import { isLightweight } from '../../evaluate/navigation.ts';

/** The set of an operator serves all of its executions; a table of this size stays in the processor's first cache. */
const seenCapacity = 512;

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
  /** Only steps that leave out walked edges read `edge`. */
  readonly edgeBareId: boolean;
  readonly typeCheck: TypeCheck | undefined;
  /** Each neighbour is given once, whatever leads to it. */
  readonly isDistinct: boolean;
  /** Edges that are not walked. */
  readonly unlike: readonly WalkedEdge[];
  /** Present when the order of the rows does not matter. */
  readonly tables: EdgeTables | undefined;
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
  /** The cursor is started and may not be walked yet. */
  #isPreparing = false;
  readonly #share = new WorkShare();
  #seen: RidSet | undefined;
  #memory: HeldMemory | undefined;
  #memoryOf: ExecutionContext | undefined;
  #seenBytes = 0;
  readonly #walked: WalkedEdges | undefined;
  /** Only these may be without record ids. */
  readonly #leadsToEdges: boolean;

  constructor(options: ExpandOptions) {
    this.#leadsToEdges = options.move.kind === 'edge';
    this.name = options.isDistinct ? 'Expand distinct' : 'Expand';
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#walked = WalkedEdges.of(options.unlike);
    this.#neighbours = new NeighbourCursor(options.move, tablesOf(options), options.typeCheck);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isWalking = false;
    this.#isPreparing = false;
    this.#neighbours.use(context);
    if (this.#options.isDistinct) {
      this.#seen ??= new RidSet(seenCapacity);
      // The context of a plan is the same for all of its executions, and this comes back empty from each.
      if (this.#memoryOf !== context) {
        this.#memoryOf = context;
        this.#memory = new HeldMemory(context, 'DISTINCT');
      }
      this.#seenBytes = 0;
    }
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { view, frame } = this.#context as ExecutionContext;
    const { edge, edgeBareId, to, toBareId } = this.#options;
    const neighbours = this.#neighbours;
    const seen = this.#seen;
    const walked = this.#walked;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (!this.#isWalking) {
        const pulled = this.#startNext();
        if (pulled !== ROW) return pulled;
      }
      if (!neighbours.next()) {
        this.#isWalking = false;
        if (seen !== undefined) this.#account(seen);
        continue;
      }
      const { element, check } = neighbours;
      if (walked?.has(neighbours.edge)) continue;
      if (seen !== undefined && !seen.add(element)) continue;
      if (check !== undefined && !check(element, view)) continue;
      if (to !== undefined) frame[to] = toBareId ? element : new RecordReference(view, element);
      if (edge !== undefined)
        frame[edge] = edgeBareId ? neighbours.edge : new RecordReference(view, neighbours.edge);
      return ROW;
    }
  }

  /** True when the rows are nothing but bare ids in `slot`: then `fillIds` gives them. */
  givesIdsIn(slot: Slot): boolean {
    const { to, toBareId, edge } = this.#options;
    return to === slot && toBareId && edge === undefined && this.#walked === undefined;
  }

  /** As `fill` of an operator whose columns, `columnCount` of them, are all the id of the neighbour. */
  fillIds(values: Value[], columnCount: number, rowCountMax: number): Pulled {
    const neighbours = this.#neighbours;
    const seen = this.#seen;
    for (let row = 0; row < rowCountMax; ) {
      if (this.#share.isSpent()) return PAUSE;
      if (!this.#isWalking) {
        const pulled = this.#startNext();
        if (pulled !== ROW) return pulled;
      }
      if (!neighbours.next()) {
        this.#isWalking = false;
        if (seen !== undefined) this.#account(seen);
        continue;
      }
      // The rest of the list, as far as it is wanted, without asking the cursor for each of it.
      const { list, check } = neighbours;
      const { view } = this.#context as ExecutionContext;
      const first = neighbours.listPosition - 1;
      const end = Math.min(neighbours.listEnd, first + this.#share.left + 1);
      // A list of edges is of one type.
      const lacksIds =
        this.#leadsToEdges && first < end && isLightweight(view.catalog, list[first] as Rid);
      let at = first;
      for (; at < end && row < rowCountMax; at += 1) {
        const element = list[at] as Rid;
        if (seen !== undefined && !seen.add(element)) continue;
        if (check !== undefined && !check(element, view)) continue;
        for (let column = 0; column < columnCount; column += 1)
          values.push(lacksIds ? null : new Link(element));
        row += 1;
      }
      neighbours.goOnAt(at);
      this.#share.spend(at - first - 1);
    }
    return ROW;
  }

  #startNext(): Pulled {
    const context = this.#context as ExecutionContext;
    const { view, frame } = context;
    const { input, from, fromBareId } = this.#options;
    if (!this.#isPreparing) {
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      this.#walked?.read(frame);
      if (fromBareId) this.#neighbours.startAt(view, frame[from] as Rid);
      else this.#neighbours.start(view, frame[from] as Value);
    }
    this.#isPreparing = !this.#neighbours.prepare(context);
    if (this.#isPreparing) return PAUSE;
    this.#isWalking = true;
    return ROW;
  }

  #account(seen: RidSet): void {
    const { bytes } = seen;
    if (bytes === this.#seenBytes) return;
    this.#memory?.addBytes(bytes - this.#seenBytes);
    this.#seenBytes = bytes;
  }

  close(): void {
    this.#memory?.release();
    // A small table serves the next execution; a large one goes.
    this.#seen?.clear();
    this.#context = undefined;
    this.#isWalking = false;
    this.#options.input.close();
  }
}

/**
 * As Expand, for a neighbour that is bound already: one row per edge that leads to it. It is walked from the end with fewer edges, or
 * looked up at the end that rows come with again and again (`StepEnd`).
 */
export class ExpandIntoOperator implements PhysicalOperator {
  readonly name = 'Expand into';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ExpandOptions & { readonly to: Slot };
  readonly #source: StepEnd;
  /** Present when the move can be walked from the other end. */
  readonly #target: StepEnd | undefined;
  #walking: NeighbourCursor;
  /** The end that is looked for where the other is walked from. */
  #wanted: Rid = noRid;
  #context: ExecutionContext | undefined;
  #isWalking = false;
  /** The cursors may not be started yet. */
  #isPreparing = false;
  readonly #share = new WorkShare();
  /** The execution that the ends know elements of, told by its regex budget: contexts are used again. */
  #knownFor: ExecutionContext['regexBudget'] | undefined;
  #rowsLeft = 0;
  readonly #walked: WalkedEdges | undefined;
  /** Which edge leads to the neighbour matters, not their number alone. */
  readonly #namesEdges: boolean;
  readonly #canBeTabled: boolean;

  constructor(
    options: ExpandOptions & { readonly to: Slot; readonly reversed: ResolvedMove | undefined },
  ) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    const tables = tablesOf(options);
    this.#walked = WalkedEdges.of(options.unlike);
    this.#namesEdges = options.edge !== undefined || this.#walked !== undefined;
    const { kind } = options.move;
    this.#canBeTabled = kind === 'vertex' || kind === 'edge';
    this.#source = new StepEnd(new NeighbourCursor(options.move, tables));
    this.#target = options.reversed && new StepEnd(new NeighbourCursor(options.reversed, tables));
    this.#walking = this.#source.cursor;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#isWalking = false;
    this.#isPreparing = false;
    this.#source.cursor.use(context);
    this.#target?.cursor.use(context);
    this.#rowsLeft = 0;
    if (this.#knownFor !== context.regexBudget) {
      this.#knownFor = context.regexBudget;
      this.#source.forget();
      this.#target?.forget();
    }
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { view, frame } = this.#context as ExecutionContext;
    const { input, edge, edgeBareId } = this.#options;
    const walked = this.#walked;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#rowsLeft > 0) {
        this.#rowsLeft -= 1;
        return ROW;
      }
      if (!this.#isWalking) {
        const pulled = this.#isPreparing ? ROW : input.next();
        if (pulled !== ROW) return pulled;
        this.#isPreparing = !this.#areReady();
        if (this.#isPreparing) return PAUSE;
        this.#start();
        continue;
      }
      const walking = this.#walking;
      if (!walking.next()) {
        this.#isWalking = false;
        continue;
      }
      if (walking.element !== this.#wanted) continue;
      if (walked?.has(walking.edge)) continue;
      if (edge !== undefined)
        frame[edge] = edgeBareId ? walking.edge : new RecordReference(view, walking.edge);
      return ROW;
    }
  }

  #areReady(): boolean {
    const context = this.#context as ExecutionContext;
    return this.#source.cursor.prepare(context) && this.#target?.cursor.prepare(context) !== false;
  }

  #start(): void {
    const { view, frame } = this.#context as ExecutionContext;
    const { from, fromBareId, to, toBareId } = this.#options;
    const source = this.#source;
    const target = this.#target;
    this.#walked?.read(frame);
    const other = idOf(frame[to] as Value, toBareId);
    const origin = idOf(frame[from] as Value, fromBareId);
    const count = this.#tabledCount(source, target, { origin, other });
    if (count !== undefined) {
      if (!this.#namesEdges) this.#rowsLeft = count;
      // Edges stand in the lists alone, which are walked for what is linked.
      if (!this.#namesEdges || count === 0) return;
    }
    source.moveTo(view, origin);
    target?.moveTo(view, other);
    const isReversed = target !== undefined && target.degree < source.degree;
    const end = isReversed ? target : source;
    this.#isWalking = true;
    this.#walking = end.cursor;
    this.#wanted = isReversed ? source.element : other;
    source.spend(end.degree + 1);
    target?.spend(end.degree + 1);
    end.walk(view);
  }

  /** Undefined where no table says it. A statement that writes may change what tables say. */
  #tabledCount(
    source: StepEnd,
    target: StepEnd | undefined,
    { origin, other }: { readonly origin: Rid; readonly other: Rid },
  ): number | undefined {
    const { view, transaction } = this.#context as ExecutionContext;
    if (transaction !== undefined || !this.#canBeTabled) return undefined;
    // To come to an element costs its degree, more than the look into a table of the other end that most rows need.
    if (target?.isTabledAt(other)) return target.countOf(view, origin);
    source.moveTo(view, origin);
    const count = source.countOf(view, other);
    if (count !== undefined) return count;
    target?.moveTo(view, other);
    return target?.countOf(view, origin);
  }

  close(): void {
    this.#source.close();
    this.#target?.close();
    this.#context = undefined;
    this.#isWalking = false;
    this.#options.input.close();
  }
}

/** The tables know no edges. */
function tablesOf(options: ExpandOptions): EdgeTables | undefined {
  return options.edge === undefined && options.unlike.length === 0 ? options.tables : undefined;
}

function idOf(value: Value, isBareId: boolean): Rid {
  return isBareId ? (value as Rid) : (ridOf(value) ?? noRid);
}
