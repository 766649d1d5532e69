import type { StoredRecord } from '#core/value/record.ts';
import { Link } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator, Predicate } from '../../evaluate/evaluator.ts';
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
import { WorkShare } from '../hold/work-share.ts';

export interface TraverseOptions {
  readonly input: PhysicalOperator;
  readonly roots: Evaluator;
  readonly as: Slot;
  /** `all`: every link among the properties, and the adjacent elements: edges of a vertex, ends of an edge. */
  readonly fields: readonly Evaluator[] | 'all';
  /** Move to the edges of a vertex, for `all`. */
  readonly edges: ResolvedMove;
  readonly depth: Slot;
  readonly path: Slot;
  readonly isPathRead: boolean;
  /** Where the list of the records visited so far goes; undefined when nobody reads it. */
  readonly history: Slot | undefined;
  readonly maxDepth: number;
  readonly condition: Predicate | undefined;
  readonly strategy: 'depth-first' | 'breadth-first';
  readonly description: string;
}

/** A place on the way; the chain of parents is the path. */
interface Visit {
  readonly rid: Rid;
  readonly record: StoredRecord | undefined;
  readonly depth: number;
  readonly parent: Visit | undefined;
}

const bytesPerVisit = 120;

/**
 * SQL TRAVERSE (sql.md 12): from the roots along the fields, each record once. Depth first visits a record again, without giving
 * it again, when it is reached at a smaller depth, so that what lies within `maxDepth` is exact.
 */
export class TraverseOperator implements PhysicalOperator {
  readonly name = 'Traverse';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: TraverseOptions;
  readonly #edges: NeighbourCursor;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  /** A stack, or a queue read from `#head`. */
  #waiting: Visit[] = [];
  #head = 0;
  #smallestDepth = new Map<Rid, number>();
  /** The visited records in order; kept only when `history` is read. */
  #visited: Value[] = [];
  /** The visit whose fields are to be followed next. */
  #current: Visit | undefined;
  readonly #share = new WorkShare();

  constructor(options: TraverseOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#edges = new NeighbourCursor(options.edges);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#memory = new HeldMemory(context, 'TRAVERSE');
    this.#clear();
    this.#options.input.open(context);
  }

  next(): Pulled {
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#current !== undefined) {
        const visit = this.#current;
        this.#current = undefined;
        this.#follow(visit);
      }
      const visit = this.#take();
      if (visit === undefined) {
        const pulled = this.#nextInput();
        if (pulled !== ROW) return pulled;
      } else if (this.#visit(visit)) return ROW;
    }
  }

  /** Starts with the roots of a new input row. Records given for earlier rows are not given again. */
  #nextInput(): Pulled {
    const pulled = this.#options.input.next();
    if (pulled !== ROW) return pulled;
    const found: Visit[] = [];
    this.#collect(this.#options.roots(this.#context as ExecutionContext), 0, undefined, found);
    this.#add(found);
    return ROW;
  }

  #take(): Visit | undefined {
    if (this.#options.strategy === 'depth-first') return this.#waiting.pop();
    const visit = this.#waiting[this.#head];
    if (visit === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    }
    return visit;
  }

  /** The record is new or was reached at a smaller depth. @returns true when it is to be given */
  #visit(visit: Visit): boolean {
    const context = this.#context as ExecutionContext;
    const { as, depth, path, isPathRead, history, condition, maxDepth } = this.#options;
    const known = this.#smallestDepth.get(visit.rid);
    if (known !== undefined && known <= visit.depth) return false;
    const record = visit.record ?? context.view.record(visit.rid);
    if (record === undefined) return false;
    context.frame[as] = record;
    context.frame[depth] = visit.depth;
    if (isPathRead) context.frame[path] = pathTo(visit);
    if (history !== undefined) {
      if (known === undefined) this.#visited.push(new Link(visit.rid));
      context.frame[history] = this.#visited.slice();
    }
    if (condition !== undefined && !condition(context)) {
      if (history !== undefined && known === undefined) this.#visited.pop();
      return false;
    }
    this.#smallestDepth.set(visit.rid, visit.depth);
    if (visit.depth < maxDepth) this.#current = { ...visit, record };
    if (known !== undefined) return false;
    this.#memory?.addBytes(bytesPerVisit);
    return true;
  }

  #follow(visit: Visit): void {
    const context = this.#context as ExecutionContext;
    const { as, depth, path, isPathRead, history, fields } = this.#options;
    const record = visit.record as StoredRecord;
    // The frame may hold another row by now.
    context.frame[as] = record;
    context.frame[depth] = visit.depth;
    if (isPathRead) context.frame[path] = pathTo(visit);
    if (history !== undefined) context.frame[history] = this.#visited.slice();
    const found: Visit[] = [];
    if (fields === 'all') this.#collectAll(record, visit, found);
    else
      for (let at = 0; at < fields.length; at += 1)
        this.#collect((fields[at] as Evaluator)(context), visit.depth + 1, visit, found);
    this.#add(found);
  }

  #collectAll(record: StoredRecord, visit: Visit, found: Visit[]): void {
    const { view } = this.#context as ExecutionContext;
    for (const name of record.propertyNames())
      this.#collect(record.get(name) ?? null, visit.depth + 1, visit, found);
    if (record.kind === 'edge') {
      this.#collect(new Link(record.out), visit.depth + 1, visit, found);
      this.#collect(new Link(record.in), visit.depth + 1, visit, found);
    } else if (record.kind === 'vertex') {
      this.#edges.start(view, record);
      while (this.#edges.next())
        this.#collect(
          new RecordReference(view, this.#edges.element),
          visit.depth + 1,
          visit,
          found,
        );
    }
  }

  /** Records and links in the value, inside lists and maps too. */
  #collect(value: Value, depth: number, parent: Visit | undefined, found: Visit[]): void {
    if (typeof value !== 'object' || value === null) return;
    if (isList(value)) {
      for (let at = 0; at < value.length; at += 1)
        this.#collect(value[at] as Value, depth, parent, found);
      return;
    }
    const rid = ridOf(value);
    if (rid !== undefined) {
      if (rid >= 0) found.push({ rid, record: isRecord(value) ? value : undefined, depth, parent });
    } else if (isMap(value)) {
      for (const item of value.values()) this.#collect(item, depth, parent, found);
    }
  }

  #add(found: readonly Visit[]): void {
    const isStack = this.#options.strategy === 'depth-first';
    for (let at = 0; at < found.length; at += 1) {
      const visit = found[isStack ? found.length - 1 - at : at] as Visit;
      const known = this.#smallestDepth.get(visit.rid);
      if (known === undefined || known > visit.depth) this.#waiting.push(visit);
    }
    this.#memory?.addBytes(found.length * bytesPerVisit);
  }

  #clear(): void {
    this.#waiting = [];
    this.#visited = [];
    this.#head = 0;
    this.#smallestDepth = new Map();
    this.#current = undefined;
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#context = undefined;
    this.#clear();
    this.#options.input.close();
  }
}

function pathTo(visit: Visit): readonly Value[] {
  const path: Value[] = [];
  for (let at: Visit | undefined = visit; at !== undefined; at = at.parent)
    path.push(new Link(at.rid));
  return path.reverse();
}
