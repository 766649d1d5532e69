import type { Catalog } from '#catalog/catalog.ts';
import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { RecordScan } from '../read/record-scan.ts';
import type { StatementView } from '../read/statement-view.ts';
import { TargetLists } from './target-lists.ts';

/** Records that are read before there is a place to pause. */
const recordsPerStep = 2000;

const known = new WeakMap<Catalog, boolean>();

/** Whether some edges of some type were loaded with their outgoing side only. */
export function mayHaveOneWayEdges(catalog: Catalog): boolean {
  let answer = known.get(catalog);
  if (answer === undefined) {
    answer = catalog.types().some((type) => type.hasOneWayEdges === true);
    known.set(catalog, answer);
  }
  return answer;
}

/** Reads what is to be known before a vertex goes; undefined when that is nothing. */
export type OneWaySearch = PausingWork<void> | undefined;

export function* after<T>(search: PausingWork<void>, finish: () => PausingWork<T>): PausingWork<T> {
  yield* search;
  return yield* finish();
}

/** What was found out in one committed state. */
interface Found {
  readonly snapshot: StorageSnapshot;
  readonly lists: TargetLists;
  /** Of the vertex that was asked for last. */
  last: { readonly vertex: Rid; readonly edges: readonly Rid[] } | undefined;
  targets: Targets | undefined;
}

/**
 * For a transaction: edges that were loaded with their outgoing side only (http-api.md 10.2). Their targets do not list them, so
 * whoever deletes or moves a target finds them by reading the edges of such types: for the first vertex in a committed state
 * that one alone is looked for, for the second all targets are remembered (some 60 bytes an edge).
 */
export class OneWayEdges {
  readonly #view: StatementView;
  /** Made or moved by the transaction itself. */
  readonly #own: Rid[] = [];
  #found: Found | undefined;

  constructor(view: StatementView) {
    this.#view = view;
  }

  /** To be told of each one that the transaction makes or moves. */
  add(edge: Rid): void {
    this.#own.push(edge);
  }

  /** Whether a stored edge is not listed at its target. @param target that of the edge as it is stored */
  isOneWay(edge: Rid, target: Rid, type: TypeId): boolean {
    return !this.#now().lists.list(edge, target, type);
  }

  /** Edges that lead to `vertex`: all that it does not list, and maybe others. */
  into(vertex: Rid): readonly StoredRecord[] {
    const found = new Map<Rid, StoredRecord>();
    const take = (rid: Rid): void => {
      const edge = this.#view.record(rid);
      if (edge?.in === vertex) found.set(rid, edge);
    };
    for (const rid of this.#own) take(rid);
    for (const rid of this.#stored(vertex)) take(rid);
    return [...found.values()];
  }

  /** Whether `search` would read edges. */
  isSearchDue(vertex: Rid): boolean {
    if (!mayHaveOneWayEdges(this.#view.catalog)) return false;
    const { last, targets } = this.#now();
    return last?.vertex !== vertex && targets === undefined;
  }

  /** Reads what `into` has to know of a vertex, which without it does so in one go. */
  *search(vertex: Rid): PausingWork<void> {
    const now = this.#now();
    if (now.last?.vertex === vertex) return;
    let edges: Rid[] = [];
    if (now.last === undefined) {
      yield* this.#scan((edge) => {
        if (edge.in === vertex) edges.push(edge.rid);
      });
    } else {
      now.targets ??= yield* this.#allTargets();
      edges = now.targets.edgesTo(vertex);
    }
    now.last = { vertex, edges };
  }

  #stored(vertex: Rid): readonly Rid[] {
    if (!mayHaveOneWayEdges(this.#view.catalog)) return [];
    const search = this.search(vertex);
    toEnd(search);
    return this.#now().last?.edges ?? [];
  }

  #now(): Found {
    const { snapshot } = this.#view;
    if (this.#found?.snapshot !== snapshot)
      this.#found = {
        snapshot,
        lists: new TargetLists(snapshot),
        last: undefined,
        targets: undefined,
      };
    return this.#found;
  }

  *#allTargets(): PausingWork<Targets> {
    const targets = new Targets();
    yield* this.#scan((edge) => targets.add(edge.rid, edge.in));
    return targets;
  }

  *#scan(take: (edge: StoredRecord) => void): PausingWork<void> {
    const { catalog, snapshot } = this.#view;
    let count = 0;
    for (const type of catalog.types()) {
      if (type.hasOneWayEdges !== true) continue;
      for (const bucket of type.buckets) {
        const range = { bucket, order: 'ascending', from: undefined } as const;
        const cursor = new RecordScan(snapshot, undefined, range);
        for (let edge = cursor.next(); edge !== undefined; edge = cursor.next()) {
          take(edge);
          count += 1;
          if (count % recordsPerStep === 0) yield;
        }
      }
    }
  }
}

/** Edges by their targets, each chained to the one before it. */
class Targets {
  readonly #edges: Rid[] = [];
  readonly #before: number[] = [];
  readonly #last = new Map<Rid, number>();

  add(edge: Rid, target: Rid): void {
    this.#before.push(this.#last.get(target) ?? -1);
    this.#last.set(target, this.#edges.length);
    this.#edges.push(edge);
  }

  edgesTo(target: Rid): Rid[] {
    const edges: Rid[] = [];
    for (let at = this.#last.get(target) ?? -1; at >= 0; at = this.#before[at] as number)
      edges.push(this.#edges[at] as Rid);
    return edges;
  }
}
