/** A member of at most one `LinkedList`, which sets both. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * Members in the order in which they came, which go at any place in constant time; for what comes and goes with every request. A
 * `Set` or `Map` used so makes a new table every few requests, and a table that has grown old keeps the later ones from the
 * collector of young objects.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #length = 0;

  get first(): T | undefined {
    return this.#first;
  }

  get length(): number {
    return this.#length;
  }

  /** @param member of no list */
  append(member: T): void {
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#length += 1;
  }

  /** @param member of this list */
  remove(member: T): void {
    const { previous, next } = member;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.previous = undefined;
    member.next = undefined;
    this.#length -= 1;
  }
}
