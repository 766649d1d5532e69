import type { PausingWork } from '#core/pausing-work.ts';
import { Link } from '#core/value/record.ts';
import { noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import { isRecord, type Value } from '#core/value/value.ts';
import type { AdjacencyList, Direction } from '#storage/engine.ts';
import type { EvaluationContext, WorkMeter } from '../../evaluate/context.ts';
import { unitsPerLookup } from '../../evaluate/turns/long-calls.ts';
import { describe, isNumeric, refusal, ridArgument, toDouble } from '../arguments.ts';

export type PathDirection = 'OUT' | 'IN' | 'BOTH';

const storageDirections: Readonly<Record<PathDirection, readonly Direction[]>> = {
  OUT: ['out'],
  IN: ['in'],
  BOTH: ['out', 'in'],
};

const opposite: Readonly<Record<PathDirection, PathDirection>> = {
  OUT: 'IN',
  IN: 'OUT',
  BOTH: 'BOTH',
};

/** What remembering one vertex or way costs, roughly: a few numbers in arrays that are up to half empty. */
const bytesPerVertex = 96;
/** Reserved at once. */
const verticesPerReserve = 1_024;

const noEdges: AdjacencyList = {
  count: 0,
  edges: new Float64Array(0),
  vertices: new Float64Array(0),
};

/**
 * The part of a graph that a path search sees: edges of some types in one direction, walked one by one. It charges every
 * remembered vertex to the statement and counts the work, so that the search pauses in time.
 */
export class GraphSearch {
  readonly #context: EvaluationContext;
  readonly #types: readonly TypeId[];
  readonly #meter: WorkMeter;
  #units = 0;
  #reserved = 0;
  #vertexCount = 0;
  #vertex: Rid = noRid;
  #directions: readonly Direction[] = [];
  /** Number of the list that is walked next, over directions and types. */
  #listNumber = 0;
  #list: AdjacencyList = noEdges;
  #position = 0;

  constructor(context: EvaluationContext, types: readonly TypeId[], meter: WorkMeter) {
    this.#context = context;
    this.#types = types;
    this.#meter = meter;
  }

  /** The edges of a vertex come next. */
  start(vertex: Rid, direction: PathDirection): void {
    this.#vertex = vertex;
    this.#directions = storageDirections[direction];
    this.#listNumber = 0;
    this.#list = noEdges;
    this.#position = 0;
  }

  /** The next edge stands in `edge` and `neighbour`; false after the last. */
  next(): boolean {
    while (this.#position === this.#list.count) if (!this.#nextList()) return false;
    this.#position += 1;
    this.#units += 1;
    return true;
  }

  get edge(): Rid {
    return this.#list.edges[this.#position - 1] as Rid;
  }

  get neighbour(): Rid {
    return this.#list.vertices[this.#position - 1] as Rid;
  }

  #nextList(): boolean {
    const typeCount = this.#types.length;
    if (this.#listNumber >= this.#directions.length * typeCount) return false;
    const direction = this.#directions[Math.floor(this.#listNumber / typeCount)] as Direction;
    const type = this.#types[this.#listNumber % typeCount] as TypeId;
    this.#listNumber += 1;
    this.#list = this.#context.view.adjacency(this.#vertex, direction, type);
    this.#position = 0;
    this.#units += unitsPerLookup;
    return true;
  }

  /** True when the search is to pause; to be asked once an edge. */
  isSpent(): boolean {
    const units = this.#units;
    this.#units = 0;
    return this.#meter.isSpent(units);
  }

  /** To be called once for each vertex or way that the search remembers. @throws DatabaseError `TooLarge` */
  remember(): void {
    this.#vertexCount += 1;
    const wanted = this.#vertexCount * bytesPerVertex;
    if (wanted <= this.#reserved) return;
    const step = verticesPerReserve * bytesPerVertex;
    this.#context.memory.reserve(step);
    this.#reserved += step;
  }

  /** Gives back what remembering vertices has reserved. */
  close(): void {
    if (this.#reserved > 0) this.#context.memory.release(this.#reserved);
    this.#reserved = 0;
  }

  /** The edge's weight; 0 without the property. @throws DatabaseError `IllegalArgument` when it is no number */
  weight(edge: Rid, property: string): number {
    this.#units += unitsPerLookup;
    const value = this.#context.view.record(edge)?.get(property) ?? null;
    if (value === null) return 0;
    if (!isNumeric(value))
      throw refusal(`the weight '${property}' of an edge must be a number, not ${describe(value)}`);
    return toDouble(value);
  }

  coordinate(vertex: Rid, property: string): number {
    this.#units += unitsPerLookup;
    const value = this.#context.view.record(vertex)?.get(property) ?? null;
    return value !== null && isNumeric(value) ? toDouble(value) : 0;
  }
}

/** Ids of a path, step by step. */
export type PathSteps = PausingWork<Rid[]>;

export function reversed(direction: PathDirection): PathDirection {
  return opposite[direction];
}

export function linksOf(route: readonly Rid[]): Value {
  return route.map((rid) => new Link(rid));
}

/**
 * The vertex meant by an argument: a record, a record id, its text, a row with one column, or a list of one of these.
 * @throws DatabaseError `IllegalArgument` with the messages of sql-functions.md 4.1
 */
export function vertexArgument(value: Value, what: string, context: EvaluationContext): Rid {
  const record = recordIn(value, what, context);
  if (record === undefined || record.kind !== 'vertex')
    throw refusal(`The ${what} must be a vertex record`);
  return record.rid;
}

function recordIn(value: Value, what: string, context: EvaluationContext) {
  let current = value;
  // A list of one row of one column of one list is the most that a sub-query makes of a record.
  for (let depth = 0; depth < 4; depth++) {
    if (Array.isArray(current)) {
      if (current.length > 1) throw refusal(`Only one ${what} is allowed`);
      current = (current[0] as Value | undefined) ?? null;
    } else if (current instanceof Map) {
      const row = current as ReadonlyMap<string, Value>;
      current = row.get('@rid') ?? (row.size === 1 ? ([...row.values()][0] as Value) : null);
    } else break;
  }
  if (isRecord(current)) return current;
  const rid = ridArgument(current);
  return rid === undefined ? undefined : context.view.record(rid);
}
