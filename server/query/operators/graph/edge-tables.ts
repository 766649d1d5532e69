import { isListedAtTargets } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Direction } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { EdgeTable, EdgeTableBuilder, type TableContent } from './edge-table.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import { sharedEdgeTables, type TableSource } from './shared-edge-tables.ts';
import type { ExecutionContext } from '../operator.ts';

/** Lists looked at before a table can pay. */
export const looksMin = 256;
/** A look at a list that stands in no cache takes as long as this many edges do to be gathered. */
const edgesPerLook = 32;

/** One list of a move. */
export interface ListPlace {
  readonly direction: Direction;
  readonly type: TypeId;
}

/** By type, direction and content. 'none': it is not to be had. */
type Tables = Map<string, EdgeTable | EdgeTableBuilder | 'none'>;

/** What one execution has gathered, shared by its operators. */
interface Gathered {
  readonly tables: Tables;
  /** Who reads them. */
  readonly readers: TableReader[];
  readonly memory: HeldMemory;
  /** False: the transaction's own changes, or triggers, are in the lists only. */
  readonly isAllowed: boolean;
}

/** Told when the execution is over. */
export interface TableReader {
  leave(): void;
}

/** Tables of edges for the executions of one plan. Operators ask for one when looking at lists has cost as much as it does. */
export class EdgeTables {
  /** By regex budget, which is new for each execution; contexts are used again. */
  readonly #executions = new WeakMap<ExecutionContext['regexBudget'], Gathered>();
  #madeCount = 0;

  /** How many tables all executions have made: one that grew may be of use to others than who asked for it. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /** Whether `gather` has the tables of a move at hand. */
  has(context: ExecutionContext, places: readonly ListPlace[]): boolean {
    const gathered = this.#executions.get(context.regexBudget);
    if (gathered === undefined) return false;
    for (const place of places)
      if (!(gathered.tables.get(keyOf(place)) instanceof EdgeTable)) return false;
    return true;
  }

  /** How many lists are to be looked at beside `looksMin` before `gather` is worth it; infinite where there must be no tables. */
  looksBefore(context: ExecutionContext, places: readonly ListPlace[]): number {
    if (context.transaction !== undefined) return Number.POSITIVE_INFINITY;
    const { view } = context;
    let edgeCount = 0;
    for (let at = 0; at < places.length; at += 1) {
      const place = places[at] as ListPlace;
      if (sharedEdgeTables.has(view, { ...place, content: 'neighbours' })) continue;
      const { buckets } = view.catalog.typeWithId(place.type);
      for (const bucket of buckets) edgeCount += view.recordCount(bucket);
    }
    return Math.max(0, Math.floor(edgeCount / edgesPerLook) - looksMin);
  }

  /**
   * The tables of a move, one per list, after a turn of work on them; the reader may keep them until it is told to leave.
   * @returns undefined while there is more to do; 'none' when the lists are to be read
   */
  gather(
    context: ExecutionContext,
    places: readonly ListPlace[],
    reader: TableReader,
    content: TableContent,
  ): readonly EdgeTable[] | 'none' | undefined {
    let gathered = this.#executions.get(context.regexBudget);
    if (gathered === undefined) {
      gathered = {
        tables: new Map(),
        readers: [],
        memory: new HeldMemory(context, 'a table of edges'),
        isAllowed: isUnchanged(context.view),
      };
      this.#executions.set(context.regexBudget, gathered);
    }
    if (!gathered.isAllowed) return 'none';
    const tables: EdgeTable[] = [];
    for (const place of places) {
      const isMade = gathered.tables.get(keyOf(place)) instanceof EdgeTable;
      const table = advance(gathered, place, context, isMade ? 'neighbours' : content);
      if (!isMade && table instanceof EdgeTable) this.#madeCount += 1;
      if (table === undefined || table === 'none') return table;
      tables.push(table);
    }
    gathered.readers.push(reader);
    return tables;
  }

  /** The execution is over: nobody keeps its tables. */
  release(context: ExecutionContext): void {
    const gathered = this.#executions.get(context.regexBudget);
    if (gathered === undefined) return;
    this.#executions.delete(context.regexBudget);
    for (const reader of gathered.readers) reader.leave();
    for (const table of gathered.tables.values()) {
      if (table instanceof EdgeTable) sharedEdgeTables.leave(table);
      else if (table !== 'none') table.release(undefined);
    }
    gathered.memory.release();
  }
}

function advance(
  { tables, memory }: Gathered,
  place: ListPlace,
  context: ExecutionContext,
  content: TableContent,
): EdgeTable | 'none' | undefined {
  const key = keyOf(place, content);
  const known = tables.get(key);
  if (known !== undefined && !(known instanceof EdgeTableBuilder)) return known;
  let builder = known;
  try {
    const type = context.view.catalog.typeWithId(place.type);
    // What comes in by edges that only their source knows is no neighbour.
    if (place.direction === 'in' && !isListedAtTargets(type)) return keep(tables, key, 'none');
    const source = { ...place, content };
    const shared = joined(context.view, source, memory);
    if (shared !== undefined) {
      builder?.release(undefined);
      return keep(tables, key, shared);
    }
    if (builder === undefined) {
      const { buckets } = type;
      const { direction } = place;
      builder = new EdgeTableBuilder(context, memory, { buckets, direction, content });
      tables.set(key, builder);
      return undefined;
    }
    const made = builder.advance();
    if (made === undefined) return undefined;
    const table = made === 'sparse' ? undefined : made;
    builder.release(table);
    if (table !== undefined) sharedEdgeTables.publish(context.view, source, table);
    return keep(tables, key, table ?? 'none');
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    if (error.code !== 'TooLarge' && error.code !== 'Busy') throw error;
    builder?.release(undefined);
    return keep(tables, key, 'none');
  }
}

/** A table that another execution has made. @throws DatabaseError `TooLarge`, `Busy` when the statement has not the memory */
function joined(view: ReadView, source: TableSource, memory: HeldMemory): EdgeTable | undefined {
  const table = sharedEdgeTables.join(view, source);
  if (table === undefined) return undefined;
  try {
    memory.addBytes(table.bytes);
    return table;
  } catch (error) {
    sharedEdgeTables.leave(table);
    throw error;
  }
}

function keyOf({ type, direction }: ListPlace, content: TableContent = 'neighbours'): string {
  return `${type} ${direction} ${content}`;
}

function keep(tables: Tables, key: string, table: EdgeTable | 'none'): EdgeTable | 'none' {
  tables.set(key, table);
  return table;
}

/** The transaction changed no vertex and no edge, and no trigger hides any. */
function isUnchanged(view: ReadView): boolean {
  return view.catalog
    .types()
    .every(
      (type) => type.kind === 'document' || type.buckets.every((bucket) => !view.isChanged(bucket)),
    );
}
