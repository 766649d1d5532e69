import { noRid, type Rid } from '#core/value/rid.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { NeighbourCursor } from './neighbour-cursor.ts';
import { NeighbourTable } from './neighbour-table.ts';

/** Elements with more neighbours than this get no table. */
const tabledNeighboursMax = 100_000;
/** A table of more is given back when its operator closes, though it may be opened again. */
const keptNeighboursMax = 8192;

/**
 * One end of a step between two bound elements. While rows come with the same element again and again, its neighbours are put into a
 * table as soon as walking, from whichever end, has cost as much as that does.
 */
export class StepEnd {
  readonly cursor: NeighbourCursor;
  element: Rid = noRid;
  /** Neighbours of the element, at most. */
  degree = 0;
  #walkedSteps = 0;
  #table: NeighbourTable | undefined;
  #isTabled = false;

  constructor(cursor: NeighbourCursor) {
    this.cursor = cursor;
  }

  /** What is known was read in another state. */
  forget(): void {
    this.element = noRid;
    this.degree = 0;
    this.#walkedSteps = 0;
    this.#isTabled = false;
  }

  /** Comes to an element, which may be the one that it is at. */
  moveTo(view: ReadView, element: Rid): void {
    if (element === this.element) return;
    this.element = element;
    this.#isTabled = false;
    this.#walkedSteps = 0;
    this.cursor.startAt(view, element);
    this.degree = this.cursor.remainingSteps();
  }

  /** Whether `countOf` has a table of this element at hand. */
  isTabledAt(element: Rid): boolean {
    return this.#isTabled && this.element === element;
  }

  /** So many steps are walked for a row with this element. */
  spend(steps: number): void {
    this.#walkedSteps += steps;
  }

  /** Puts the cursor before the first neighbour. */
  walk(view: ReadView): void {
    this.cursor.startAt(view, this.element);
  }

  /** How often the element is linked with the other one, when a table says so, which is made when it has become worth it. */
  countOf(view: ReadView, other: Rid): number | undefined {
    if (!this.#isTabled) {
      if (this.#walkedSteps <= this.degree * 2 || this.degree > tabledNeighboursMax)
        return undefined;
      this.#table ??= new NeighbourTable();
      this.cursor.startAt(view, this.element);
      this.#table.fill(this.cursor, this.degree);
      this.#isTabled = true;
    }
    return (this.#table as NeighbourTable).countOf(other);
  }

  /** The operator closes. */
  close(): void {
    if (this.degree <= keptNeighboursMax) return;
    this.#table = undefined;
    this.#isTabled = false;
  }
}
