import type { Transaction } from '#transaction/transaction.ts';
import { formatRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import type { CheckedView } from './checked-view.ts';
import type { SliceTimer } from '#transaction/write/slice-timer.ts';
import { committed } from '../batches.ts';
import { isDamage } from './buckets.ts';
import type { CheckReport } from './report.ts';
import type { MaintenanceRoom } from '../task.ts';

/** Remembered edges of lists; a longer list is remembered alone. */
const rememberedMax = 1_000_000;
/** Repairs that share a commit. */
const repairsPerCommit = 500;

/** An entry in the list of a vertex that no edge answers to. */
interface StrayEntry {
  readonly vertex: Rid;
  readonly direction: Direction;
  readonly type: TypeId;
  readonly edge: Rid;
}

/**
 * Edges and the lists of their vertices: every entry must have its edge with this vertex at its end, and every edge must
 * have two vertices that list it, or only its source where edges were loaded so.
 */
export class EdgeCheck {
  readonly #room: MaintenanceRoom;
  readonly #report: CheckReport;
  readonly #timer: SliceTimer;
  readonly #stray: StrayEntry[] = [];
  /** Edges without one of their vertices. */
  readonly #headless: Rid[] = [];
  /** Edges that a vertex does not list. */
  readonly #unlisted: Rid[] = [];
  /** Edges that a list did not tell of because it cannot be read. */
  readonly #toListAgain: Rid[] = [];
  readonly #unreadable = new Map<string, Omit<StrayEntry, 'edge'>>();
  readonly #lists = new Map<string, ReadonlySet<Rid>>();
  #rememberedCount = 0;

  constructor(room: MaintenanceRoom, report: CheckReport, timer: SliceTimer) {
    this.#room = room;
    this.#report = report;
    this.#timer = timer;
  }

  [Symbol.dispose](): void {
    this.#lists.clear();
  }

  checkVertex(vertex: StoredRecord, view: CheckedView): void {
    for (const { id, kind } of view.catalog.types()) {
      if (kind !== 'edge') continue;
      this.#checkList(vertex.rid, 'out', id, view);
      this.#checkList(vertex.rid, 'in', id, view);
    }
  }

  #checkList(vertex: Rid, direction: Direction, type: TypeId, view: CheckedView): void {
    const list = this.#read(vertex, direction, type, view);
    if (list === undefined) return;
    const { edges, vertices, count } = list;
    for (let at = 0; at < count; at += 1) {
      const edge = edges[at] as Rid;
      const record = view.record(edge);
      const [near, far] =
        direction === 'out' ? [record?.out, record?.in] : [record?.in, record?.out];
      if (near === vertex && far === vertices[at] && record?.type === type) continue;
      this.#stray.push({ vertex, direction, type, edge });
      this.#report.error(
        record === undefined
          ? `vertex ${formatRid(vertex)} lists edge ${formatRid(edge)}, which does not exist`
          : `vertex ${formatRid(vertex)} lists edge ${formatRid(edge)}, which leads elsewhere`,
      );
    }
    if (view.snapshot.degree(vertex, direction, type) !== count)
      this.#report.error(`vertex ${formatRid(vertex)} counts its edges wrongly`);
  }

  /** The snapshot knows the incoming edges of unidirectional types, too. @returns undefined for a list that cannot be read */
  #read(
    vertex: Rid,
    direction: Direction,
    type: TypeId,
    view: CheckedView,
  ): AdjacencyList | undefined {
    try {
      return view.snapshot.adjacency(vertex, direction, type);
    } catch (error) {
      if (!isDamage(error)) throw error;
      const key = `${vertex}/${direction}/${type}`;
      if (!this.#unreadable.has(key)) this.#report.corrupted(vertex, error.message);
      this.#unreadable.set(key, { vertex, direction, type });
      return undefined;
    }
  }

  checkEdge(edge: StoredRecord, view: CheckedView): void {
    const missing = [edge.out, edge.in].filter((end) => view.record(end)?.kind !== 'vertex');
    if (missing.length > 0) {
      this.#headless.push(edge.rid);
      const ends = missing.map(formatRid).join(' and ');
      this.#report.error(`edge ${formatRid(edge.rid)} has no vertex at ${ends}`);
      return;
    }
    const atTarget = this.#edgesOf(edge.in, 'in', edge.type, view);
    const listed = [this.#edgesOf(edge.out, 'out', edge.type, view)];
    // An edge may have been loaded with its outgoing side only (http-api.md 10.2): then its target does not list it.
    const mayBeOneWay = view.catalog.typeWithId(edge.type).hasOneWayEdges === true;
    if (atTarget === undefined || !mayBeOneWay) listed.push(atTarget);
    if (listed.every((list) => list?.has(edge.rid) === true)) return;
    if (listed.every((list) => list === undefined || list.has(edge.rid))) {
      this.#toListAgain.push(edge.rid);
      return;
    }
    this.#unlisted.push(edge.rid);
    this.#report.unreachableEdges += 1;
    this.#report.error(`edge ${formatRid(edge.rid)} is not listed by its vertices`);
  }

  /** @returns undefined for a list that cannot be read */
  #edgesOf(
    vertex: Rid,
    direction: Direction,
    type: TypeId,
    view: CheckedView,
  ): ReadonlySet<Rid> | undefined {
    const key = `${vertex}/${direction}/${type}`;
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const read = this.#read(vertex, direction, type, view);
    if (read === undefined) return undefined;
    const { edges, count } = read;
    const list = new Set<Rid>();
    for (let at = 0; at < count; at += 1) list.add(edges[at] as Rid);
    if (this.#rememberedCount + count > rememberedMax) {
      this.#lists.clear();
      this.#rememberedCount = 0;
    }
    this.#lists.set(key, list);
    this.#rememberedCount += count;
    return list;
  }

  /** Deletes edges without a vertex, takes stray entries out, and lists unlisted edges or, if asked to, deletes them. */
  async mend(deleteOrphans: boolean): Promise<void> {
    await this.#dropUnreadable();
    await this.#takeOutStray();
    await this.#listAgain(this.#toListAgain);
    if (!deleteOrphans) await this.#listAgain(this.#unlisted);
    await this.#delete(deleteOrphans ? [...this.#headless, ...this.#unlisted] : this.#headless);
  }

  async #takeOutStray(): Promise<void> {
    await this.#repair(this.#stray, (entry, latest) => {
      const { vertex, direction, type, edge } = entry;
      const record = latest.record(edge);
      const near = direction === 'out' ? record?.out : record?.in;
      // It is right by now.
      if (near === vertex && record?.type === type) return [];
      // An edge has no lists: in its place nothing is taken out at the other end.
      const ends = direction === 'out' ? { from: vertex, to: edge } : { from: edge, to: vertex };
      return [{ op: 'remove-edge', rid: edge, type, ...ends, both: true }];
    });
  }

  async #dropUnreadable(): Promise<void> {
    await this.#repair([...this.#unreadable.values()], (list) => [{ op: 'drop-list', ...list }]);
  }

  async #listAgain(edges: readonly Rid[]): Promise<void> {
    await this.#repair(edges, (rid, latest) => {
      const edge = latest.record(rid);
      if (edge === undefined) return [];
      const entry = { rid, type: edge.type, from: edge.out, to: edge.in, both: true };
      return [
        { op: 'remove-edge', ...entry },
        { op: 'add-edge', ...entry },
      ];
    });
  }

  async #repair<T>(
    items: readonly T[],
    operationsFor: (item: T, latest: StorageSnapshot) => readonly RowOperation[],
  ): Promise<void> {
    for (let at = 0; at < items.length; at += repairsPerCommit) {
      const part = items.slice(at, at + repairsPerCommit);
      await this.#room.state.repair((latest) => {
        const operations = part.map((item) => operationsFor(item, latest));
        this.#report.fixed += operations.filter((some) => some.length > 0).length;
        return operations.flat();
      });
      await this.#timer.pause();
    }
  }

  async #delete(edges: readonly Rid[]): Promise<void> {
    for (let at = 0; at < edges.length; at += repairsPerCommit) {
      const part = edges.slice(at, at + repairsPerCommit);
      const { state } = this.#room;
      const remove = async (transaction: Transaction) => {
        const deleted = part.filter((edge) => transaction.delete(edge));
        return () => {
          for (const edge of deleted) this.#report.deleted(edge);
        };
      };
      // What is repaired here was never right: no trigger has a say in it.
      await committed(state, this.#timer, remove, () => state.beginMaintenance());
      await this.#timer.pause();
    }
  }
}
