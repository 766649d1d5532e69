/** Takes one change back, once all later ones are taken back. */
type UndoStep = () => void;

/**
 * How to take back what a transaction did since some places in it, last change first. There is one only while somebody may want
 * to go back; writes note in it what they change.
 */
export class UndoLog {
  #steps: UndoStep[] = [];
  #openCount = 0;

  add(step: UndoStep): void {
    this.#steps.push(step);
  }

  /** A place to go back to. */
  open(): number {
    this.#openCount += 1;
    return this.#steps.length;
  }

  /** A place is not needed any more. @returns true when there is no other */
  close(): boolean {
    this.#openCount -= 1;
    return this.#openCount === 0;
  }

  undoTo(place: number): void {
    for (let at = this.#steps.length - 1; at >= place; at -= 1) (this.#steps[at] as UndoStep)();
    this.#steps.length = Math.min(place, this.#steps.length);
  }

  /** What was noted cannot be taken back any more. */
  forget(): void {
    this.#steps = [];
  }
}
