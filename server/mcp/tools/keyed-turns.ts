/**
 * Work that has a key in common is done one after the other, in the order in which it came; other work beside it.
 *
 * Invariant: a key is in the map as long as somebody has it or waits for it.
 */
export class KeyedTurns {
  /** What whoever comes next waits for. */
  readonly #last = new Map<string, Promise<void>>();

  /** Keys are taken all at once, so nobody waits for somebody who waits for him. */
  async during<T>(keys: ReadonlySet<string>, work: () => Promise<T>): Promise<T> {
    const before = [...keys].map((key) => this.#last.get(key));
    let end: () => void = () => {};
    const own = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const key of keys) this.#last.set(key, own);
    try {
      await Promise.all(before);
      return await work();
    } finally {
      end();
      for (const key of keys) if (this.#last.get(key) === own) this.#last.delete(key);
    }
  }
}
