import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/record.ts';
import type { Rid, TypeId } from '#core/rid.ts';
import { isRecord, type Value } from '#core/value.ts';
import type { Direction } from '#storage/engine.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
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

/** Called for every edge of a vertex. */
export type Visit = (edge: Rid, neighbour: Rid) => void;

const edgesPerLook = 4_096;
/** What remembering one vertex costs, roughly: two map entries. */
const bytesPerVertex = 96;

/**
 * The part of a graph that a path search sees: edges of some types in one direction. It charges every remembered vertex
 * to the statement and looks at the statement's deadline, since a search works in one call.
 */
export class GraphSearch {
  readonly #context: EvaluationContext;
  readonly #types: readonly TypeId[];
  #edgesLeft = edgesPerLook;

  constructor(context: EvaluationContext, types: readonly TypeId[]) {
    this.#context = context;
    this.#types = types;
  }

  /** @throws DatabaseError `Timeout` when the statement's time is over */
  eachEdge(vertex: Rid, direction: PathDirection, visit: Visit): void {
    const { view } = this.#context;
    const directions = storageDirections[direction];
    for (let d = 0; d < directions.length; d++) {
      for (let t = 0; t < this.#types.length; t++) {
        const list = view.adjacency(vertex, directions[d] as Direction, this.#types[t] as TypeId);
        for (let i = 0; i < list.count; i++) {
          if (--this.#edgesLeft <= 0) this.#look();
          visit(list.edges[i] as Rid, list.vertices[i] as Rid);
        }
      }
    }
  }

  #look(): void {
    this.#edgesLeft = edgesPerLook;
    const { deadlineMs, runtime } = this.#context;
    if (deadlineMs !== undefined && runtime.clock.monotonicMs() > deadlineMs)
      throw new DatabaseError('Timeout', 'the statement ran out of time in a path search');
  }

  /** To be called once for each vertex that the search remembers. @throws DatabaseError `TooLarge` */
  remember(): void {
    this.#context.memory.reserve(bytesPerVertex);
  }

  /** The edge's weight; 0 without the property. @throws DatabaseError `IllegalArgument` when it is no number */
  weight(edge: Rid, property: string): number {
    const value = this.#context.view.record(edge)?.get(property) ?? null;
    if (value === null) return 0;
    if (!isNumeric(value))
      throw refusal(`the weight '${property}' of an edge must be a number, not ${describe(value)}`);
    return toDouble(value);
  }

  coordinate(vertex: Rid, property: string): number {
    const value = this.#context.view.record(vertex)?.get(property) ?? null;
    return value !== null && isNumeric(value) ? toDouble(value) : 0;
  }
}

export function reversed(direction: PathDirection): PathDirection {
  return opposite[direction];
}

/** How a search came to a vertex. */
export interface Step {
  readonly from: Rid;
  readonly edge: Rid;
}

/** Record ids from the source, which has no step, to `end`; edges between them when asked for. */
export function routeTo(
  end: Rid,
  steps: ReadonlyMap<Rid, Step | undefined>,
  withEdges: boolean,
): Rid[] {
  const route: Rid[] = [end];
  let step = steps.get(end);
  while (step !== undefined) {
    if (withEdges) route.push(step.edge);
    route.push(step.from);
    step = steps.get(step.from);
  }
  return route.reverse();
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
