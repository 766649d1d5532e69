import type { Catalog } from '#catalog/catalog.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { AdjacencyList, Direction } from '#storage/engine.ts';
import { ListWindow } from '#storage/read/list-memory.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Move } from '../../algebra/plan.ts';
import type { EdgeTable, TableContent } from './edge-table.ts';
import { type EdgeTables, looksMin } from './edge-tables.ts';
import type { ExecutionContext } from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import type { TypeCheck } from '../scan/type-check.ts';

/** A move with its names resolved: one adjacency list per pair of direction and concrete edge type. */
export type ResolvedMove =
  | {
      readonly kind: 'vertex' | 'edge';
      readonly lists: readonly { readonly direction: Direction; readonly type: TypeId }[];
      /** Lists of incoming edges are read without those that come from the vertex itself: they stand in the others. */
      readonly skipsIncomingLoops: boolean;
    }
  | { readonly kind: 'end'; readonly direction: 'out' | 'in' | 'both' }
  | { readonly kind: 'link'; readonly property: string };

type Lists = (ResolvedMove & { readonly kind: 'vertex' | 'edge' })['lists'];

/** Resolves a move against a catalog; without types all edge types are walked. */
export function resolveMove(move: Move, catalog: Catalog): ResolvedMove {
  if (move.kind === 'end' || move.kind === 'link') return move;
  const types =
    move.types ??
    catalog
      .types()
      .filter((type) => type.kind === 'edge')
      .map((type) => type.id);
  const directions: readonly Direction[] =
    move.direction === 'both' ? ['out', 'in'] : [move.direction];
  return {
    kind: move.kind,
    lists: directions.flatMap((direction) => types.map((type) => ({ direction, type }))),
    skipsIncomingLoops: move.loops === 'once' && move.direction === 'both',
  };
}

function leadsOnlyTo(table: EdgeTable, check: TypeCheck): boolean {
  for (const bucket of table.neighbourBuckets) if (!check.takesAll(bucket)) return false;
  return true;
}

/** Above this the cursor forgets what it has counted. */
const rememberedLoopsMax = 100_000;

const emptyRids: Float64Array = new Float64Array(0);

/**
 * Walks the neighbours of one element. With tables, which may give them in another order and without their edges, a cursor that
 * is started often enough reads those instead of lists: then `prepare` is to be called after each start.
 *
 *  After `next()` answered true, `element` is the record id that the move leads to and
 * `edge` that of the edge walked (`noRid` for links). Cost per neighbour: two array reads; nothing is loaded, except that
 * the ends of an edge and links need their record.
 */
export class NeighbourCursor {
  readonly #content: TableContent;
  readonly #move: ResolvedMove;
  /** Those of the move, when what comes from the vertex itself is left out of them. */
  readonly #listsWithLoops: Lists | undefined;
  readonly #window = new ListWindow();
  #view: ReadView | undefined;
  #from: Rid = noRid;
  #listNumber = 0;
  #elements: Float64Array = emptyRids;
  #edges: Float64Array = emptyRids;
  #count = 0;
  /** One past the neighbour given last. */
  #position = 0;
  readonly #tables: EdgeTables | undefined;
  #tablesFor: ExecutionContext['regexBudget'] | undefined;
  #gathered: readonly EdgeTable[] | undefined;
  /** Starts until it is time to look for tables. */
  #looksLeft = Number.POSITIVE_INFINITY;
  #isThresholdKnown = false;
  /** Tables that were made when it last asked for one. */
  #madeSeen = 0;

  /** Edges from a vertex to itself, of vertices that were asked for their degree in this execution; made for the first of them. */
  #loops: Map<Rid, number> | undefined;
  #loopsFor: ExecutionContext['regexBudget'] | undefined;

  readonly #typeCheck: TypeCheck | undefined;
  /** What is to be asked of each element before it counts. Nothing, once it is known that all of them pass. */
  check: TypeCheck | undefined;

  /** @param content of the tables: 'degrees' where nobody walks */
  constructor(
    move: ResolvedMove,
    tables?: EdgeTables,
    typeCheck?: TypeCheck,
    content: TableContent = 'neighbours',
  ) {
    this.#move = move;
    this.#content = content;
    if ((move.kind === 'vertex' || move.kind === 'edge') && move.skipsIncomingLoops)
      this.#listsWithLoops = move.lists;
    if (move.kind === 'vertex') this.#tables = tables;
    this.#typeCheck = typeCheck;
    this.check = typeCheck;
  }

  /** Reads tables, not lists. */
  get isGathered(): boolean {
    return this.#gathered !== undefined;
  }

  /** The number of neighbours of a vertex, for a cursor that reads tables. */
  gatheredDegree(vertex: Rid): number {
    const tables = this.#gathered as readonly EdgeTable[];
    let degree = 0;
    for (let at = 0; at < tables.length; at += 1)
      degree += (tables[at] as EdgeTable).degree(vertex);
    return degree;
  }

  /** Begins an execution, or goes on with one. */
  use(context: ExecutionContext): void {
    if (this.#loops !== undefined) this.#forgetLoops(context, this.#loops);
    if (this.#tables === undefined || this.#tablesFor === context.regexBudget) return;
    this.leave();
    this.#tablesFor = context.regexBudget;
    this.#looksLeft = looksMin;
    this.#isThresholdKnown = false;
    this.#madeSeen = this.#tables.madeCount;
  }

  /** Inside of an Apply it is used for each outer row, and only what a statement writes changes loops meanwhile. */
  #forgetLoops({ regexBudget, transaction }: ExecutionContext, loops: Map<Rid, number>): void {
    if (this.#loopsFor === regexBudget && transaction === undefined) return;
    this.#loopsFor = regexBudget;
    if (loops.size > 0) loops.clear();
  }

  /** Lets go of what belongs to an execution that is over. */
  leave(): void {
    this.#tablesFor = undefined;
    this.#gathered = undefined;
    this.#elements = emptyRids;
    this.#count = 0;
    this.#position = 0;
    this.check = this.#typeCheck;
    this.#looksLeft = Number.POSITIVE_INFINITY;
  }

  /** @returns false: pause, and call again before the walk begins */
  prepare(context: ExecutionContext): boolean {
    this.#looksLeft -= 1;
    if (this.#looksLeft < 0) return this.#gather(context);
    const tables = this.#tables;
    if (tables === undefined || tables.madeCount === this.#madeSeen) return true;
    this.#madeSeen = tables.madeCount;
    return this.#gatherAtHand(context, tables);
  }

  /** Another step of the statement may have made the tables of this one. */
  #gatherAtHand(context: ExecutionContext, tables: EdgeTables): boolean {
    const { lists } = this.#move as ResolvedMove & { readonly kind: 'vertex' };
    if (this.#gathered !== undefined || !tables.has(context, lists)) return true;
    this.#isThresholdKnown = true;
    return this.#gather(context);
  }

  #gather(context: ExecutionContext): boolean {
    const { lists } = this.#move as ResolvedMove & { readonly kind: 'vertex' };
    const tables = this.#tables as EdgeTables;
    if (!this.#isThresholdKnown) {
      this.#isThresholdKnown = true;
      this.#looksLeft = tables.looksBefore(context, lists);
      if (this.#looksLeft > 0) return true;
    }
    const gathered = tables.gather(context, lists, this, this.#content);
    if (gathered === undefined) {
      this.#looksLeft = 0;
      return false;
    }
    this.#looksLeft = Number.POSITIVE_INFINITY;
    if (gathered === 'none') return true;
    this.#gathered = gathered;
    const { check } = this;
    if (check !== undefined && gathered.every((table) => leadsOnlyTo(table, check)))
      this.check = undefined;
    return true;
  }

  get element(): Rid {
    return this.#elements[this.#position - 1] as Rid;
  }

  get edge(): Rid {
    return (this.#edges[this.#position - 1] ?? noRid) as Rid;
  }

  /** Starts at the element with this id; null, from an optional step, has no neighbours. */
  startAt(view: ReadView, from: Rid | null): void {
    this.#view = view;
    this.#count = 0;
    this.#position = 0;
    this.#listNumber = 0;
    this.#from = from ?? noRid;
    if (from === null) return;
    if (this.#move.kind === 'end' || this.#move.kind === 'link') this.start(view, new Link(from));
  }

  /** Starts at `from`: a record, link, or record id as text; anything else has no neighbours. */
  start(view: ReadView, from: Value): void {
    this.#view = view;
    this.#count = 0;
    this.#position = 0;
    this.#listNumber = 0;
    this.#from = ridOf(from) ?? noRid;
    const move = this.#move;
    if (move.kind === 'end') this.#startEnds(from, move.direction);
    else if (move.kind === 'link') this.#startLinks(from, move.property);
  }

  next(): boolean {
    while (this.#position === this.#count) if (!this.#nextList()) return false;
    this.#position += 1;
    return true;
  }

  /** The list that is being walked; of its neighbours those from `listPosition` up to `listEnd` are not given yet. */
  get list(): Float64Array {
    return this.#elements;
  }

  get listPosition(): number {
    return this.#position;
  }

  get listEnd(): number {
    return this.#count;
  }

  /** Goes on at a place of the list, as if the neighbours before had been given. */
  goOnAt(position: number): void {
    this.#position = position;
  }

  /** The table that it reads when that is the only one. */
  get onlyTable(): EdgeTable | undefined {
    return this.#gathered?.length === 1 ? this.#gathered[0] : undefined;
  }

  /** Gives the neighbour given last once more. */
  unread(): void {
    this.#position -= 1;
  }

  /** The neighbours not yet given, as one number per direction and type; moves from edges and links are counted by walking. */
  remainingDegree(): number {
    const lists = this.#listsWithLoops;
    if (lists === undefined || this.#from < 0) return this.remainingSteps();
    const loops = this.#incomingLoops(lists);
    return this.remainingSteps() - loops;
  }

  /** As many neighbours at most: an edge from the vertex to itself may count twice. Reads counters only. */
  remainingSteps(): number {
    const move = this.#move;
    let degree = this.#count - this.#position;
    if (move.kind === 'end' || move.kind === 'link' || this.#from < 0) return degree;
    const view = this.#view as ReadView;
    const gathered = this.#gathered;
    if (gathered !== undefined) {
      for (; this.#listNumber < gathered.length; this.#listNumber += 1)
        degree += (gathered[this.#listNumber] as EdgeTable).degree(this.#from);
      return degree;
    }
    for (; this.#listNumber < move.lists.length; this.#listNumber += 1) {
      const { direction, type } = move.lists[this.#listNumber] as (typeof move.lists)[number];
      degree += view.degree(this.#from, direction, type);
    }
    return degree;
  }

  /** In the lists that are not begun yet. The lists of a vertex are read for it once only, while the cursor remembers them. */
  #incomingLoops(lists: Lists): number {
    const view = this.#view as ReadView;
    const isWhole = this.#listNumber === 0;
    const known = isWhole ? this.#loops?.get(this.#from) : undefined;
    if (known !== undefined) return known;
    let count = 0;
    for (let at = this.#listNumber; at < lists.length; at += 1) {
      const { direction, type } = lists[at] as (typeof lists)[number];
      if (direction !== 'in') continue;
      const list = view.adjacency(this.#from, 'in', type);
      for (let place = 0; place < list.count; place += 1)
        if (list.vertices[place] === this.#from) count += 1;
    }
    if (isWhole) {
      this.#loops ??= new Map();
      const loops = this.#loops;
      if (loops.size >= rememberedLoopsMax) loops.clear();
      loops.set(this.#from, count);
    }
    return count;
  }

  #nextList(): boolean {
    const move = this.#move;
    if (move.kind === 'end' || move.kind === 'link' || this.#from < 0) return false;
    const place = move.lists[this.#listNumber];
    if (place === undefined) return false;
    const table = this.#gathered?.[this.#listNumber];
    this.#listNumber += 1;
    if (table !== undefined) {
      this.#elements = table.neighbours;
      this.#edges = emptyRids;
      table.look(this.#from);
      this.#count = table.end;
      this.#position = table.start;
      if (move.skipsIncomingLoops && place.direction === 'in') this.#skipLoops(table.neighbours);
      return true;
    }
    const view = this.#view as ReadView;
    const list = view.adjacency(this.#from, place.direction, place.type, this.#window);
    this.#take(list, move.kind);
    if (move.skipsIncomingLoops && place.direction === 'in') this.#skipLoops(list.vertices);
    return true;
  }

  /** Leaves out of the list at hand what comes from the vertex itself. */
  #skipLoops(vertices: Float64Array): void {
    // Not `indexOf`: a table holds the neighbours of all vertices, and the search would go on behind those of this one.
    let first = this.#position;
    while (first < this.#count && vertices[first] !== this.#from) first += 1;
    if (first === this.#count) return;
    const elements: number[] = [];
    const edges: number[] = [];
    for (let at = this.#position; at < this.#count; at += 1) {
      if (vertices[at] === this.#from) continue;
      elements.push(this.#elements[at] as number);
      if (at < this.#edges.length) edges.push(this.#edges[at] as number);
    }
    this.#elements = Float64Array.from(elements);
    this.#edges = edges.length === 0 ? emptyRids : Float64Array.from(edges);
    this.#count = elements.length;
    this.#position = 0;
  }

  #take(list: AdjacencyList, kind: 'vertex' | 'edge'): void {
    this.#elements = kind === 'vertex' ? list.vertices : list.edges;
    this.#edges = list.edges;
    this.#count = list.count;
    this.#position = 0;
  }

  #startEnds(from: Value, direction: 'out' | 'in' | 'both'): void {
    const edge = this.#record(from);
    if (edge?.kind !== 'edge') return;
    const ends =
      direction === 'both' ? [edge.out, edge.in] : [direction === 'out' ? edge.out : edge.in];
    this.#startWith(ends);
  }

  #startLinks(from: Value, property: string): void {
    const value = isMap(from) ? from.get(property) : this.#record(from)?.get(property);
    if (value === undefined || value === null) return;
    const elements = isList(value) ? value : [value];
    const rids: Rid[] = [];
    for (const element of elements) {
      const rid = ridOf(element);
      // A dangling link leads nowhere.
      if (rid !== undefined && rid >= 0 && (this.#view as ReadView).record(rid)) rids.push(rid);
    }
    this.#startWith(rids);
  }

  #startWith(rids: readonly Rid[]): void {
    this.#elements = Float64Array.from(rids);
    this.#edges = emptyRids;
    this.#count = rids.length;
  }

  #record(from: Value): StoredRecord | undefined {
    if (isRecord(from)) return from;
    return this.#from < 0 ? undefined : (this.#view as ReadView).record(this.#from);
  }
}
