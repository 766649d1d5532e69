import { typeOfRid } from '#transaction/read/holding-bucket.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { WalkedEdge } from '../../algebra/plan.ts';
import type { Frame } from '../../evaluate/context.ts';
import type { ExecutionContext } from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import type { ResolvedMove } from './neighbour-cursor.ts';

/** The edges that other steps of the row have walked: a step of a pattern of distinct edges leaves them out. */
export class WalkedEdges {
  readonly #walked: readonly WalkedEdge[];
  /** Used again for each row. */
  readonly #rids: Rid[] = [];
  #count = 0;

  constructor(walked: readonly WalkedEdge[]) {
    this.#walked = walked;
  }

  /** Undefined when there are none: loops over neighbours then ask nothing. */
  static of(walked: readonly WalkedEdge[] = []): WalkedEdges | undefined {
    return walked.length === 0 ? undefined : new WalkedEdges(walked);
  }

  /** To be asked when a row begins. */
  read(frame: Frame): void {
    this.#count = 0;
    for (let at = 0; at < this.#walked.length; at += 1)
      this.#add(frame[(this.#walked[at] as WalkedEdge).edge] as Value);
  }

  #add(value: Value): void {
    if (isList(value)) {
      for (let at = 0; at < value.length; at += 1) this.#add(value[at] as Value);
      return;
    }
    const rid = idIn(value);
    if (rid === undefined) return;
    this.#rids[this.#count] = rid;
    this.#count += 1;
  }

  has(edge: Rid): boolean {
    const rids = this.#rids;
    for (let at = 0; at < this.#count; at += 1) if (rids[at] === edge) return true;
    return false;
  }
}

/** How many of the edges that other steps have walked would be walked from a vertex by this move. */
export class WalkedHere {
  readonly #walked: readonly WalkedEdge[];
  readonly #types: ReadonlySet<TypeId>;
  readonly #walksOut: boolean;
  readonly #walksIn: boolean;

  constructor(walked: readonly WalkedEdge[], move: ResolvedMove) {
    this.#walked = walked;
    const lists = 'lists' in move ? move.lists : [];
    this.#types = new Set(lists.map(({ type }) => type));
    this.#walksOut = lists.some(({ direction }) => direction === 'out');
    this.#walksIn = lists.some(({ direction }) => direction === 'in');
  }

  /** Cost: a few comparisons for each; the record of an edge is read where its direction is not known otherwise. */
  countAt(vertex: Rid, context: ExecutionContext): number {
    let count = 0;
    for (let at = 0; at < this.#walked.length; at += 1)
      count += this.#countOf(this.#walked[at] as WalkedEdge, vertex, context);
    return count;
  }

  #countOf({ edge, ends }: WalkedEdge, vertex: Rid, context: ExecutionContext): number {
    const { frame } = context;
    const value = frame[edge] as Value;
    if (value === null) return 0;
    if (isList(value)) {
      let count = 0;
      for (const item of value) if (this.#isHere(item, vertex, context)) count += 1;
      return count;
    }
    if (ends === undefined) return this.#isHere(value, vertex, context) ? 1 : 0;
    const from = idIn(frame[ends.from] as Value);
    const to = idIn(frame[ends.to] as Value);
    if (from !== vertex && to !== vertex) return 0;
    if (!this.#isOfType(value, context)) return 0;
    if ((this.#walksOut && this.#walksIn) || from === to) return 1;
    if (ends.direction === 'both') return this.#isHere(value, vertex, context) ? 1 : 0;
    const source = ends.direction === 'out' ? from : to;
    return (this.#walksOut ? source === vertex : source !== vertex) ? 1 : 0;
  }

  #isHere(value: Value, vertex: Rid, context: ExecutionContext): boolean {
    if (!this.#isOfType(value, context)) return false;
    const rid = idIn(value);
    const record = isRecord(value)
      ? value
      : rid === undefined
        ? undefined
        : context.view.record(rid);
    if (record?.kind !== 'edge') return false;
    return (this.#walksOut && record.out === vertex) || (this.#walksIn && record.in === vertex);
  }

  #isOfType(value: Value, { view }: ExecutionContext): boolean {
    const rid = idIn(value);
    if (rid === undefined) return false;
    const type = typeOfRid(view, rid);
    return type !== undefined && this.#types.has(type);
  }
}

/** A record, a link, or a bare id. */
function idIn(value: Value): Rid | undefined {
  return typeof value === 'number' ? (value as Rid) : ridOf(value);
}
