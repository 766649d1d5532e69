import { DatabaseError } from '#core/errors.ts';
import type { ByteText } from '#core/text/byte-text.ts';
import type { KeySpace, Keys, KeyValueStore, KeyWatch, Stored } from './key-value-store.ts';
import type { Locate, Touch } from './transient-operations.ts';

/** Where a key lives, before a block puts its own changes over it. */
export type LocateSpace = (
  written: ByteText,
  touch: Touch,
) => { readonly keys: KeySpace; readonly key: ByteText };

/**
 * What a block (MULTI ... EXEC) has changed so far, laid over the transient keys. The block sees it, nobody else does. Others may
 * change keys that it has looked at while it runs; then it is done again, as after any other conflict.
 *
 * `prepare`, then the commit of what it did to records, then `apply`; `close` in any case. Between `prepare` and `close` nobody
 * gets at its keys, so that both parts come into being at once.
 */
export class StagedKeys {
  readonly locate: Locate;
  readonly #store: KeyValueStore;
  readonly #watch: KeyWatch = { isTouched: false };
  readonly #staged = new Map<KeySpace, StagedSpace>();
  #reserved = 0;
  #ended: (() => void) | undefined;

  constructor(store: KeyValueStore, locate: LocateSpace) {
    this.#store = store;
    this.locate = (written, touch) => {
      const { keys, key } = locate(written, touch);
      return { keys: this.#over(keys), key };
    };
  }

  /**
   * From here on `apply` cannot fail.
   * @throws DatabaseError `ConcurrentModification` when somebody changed a key meanwhile, `TooLarge` when there is no room
   */
  prepare(): void {
    for (const staged of this.#staged.values()) {
      const blockedBy = staged.hold();
      if (blockedBy !== undefined)
        throw new DatabaseError('ConcurrentModification', conflict, { blockedBy });
    }
    if (this.#watch.isTouched) throw new DatabaseError('ConcurrentModification', conflict);
    let bytes = 0;
    for (const staged of this.#staged.values()) bytes += staged.cost();
    if (bytes > 0) {
      this.#store.take(bytes);
      this.#reserved = bytes;
    }
    if (this.#staged.size === 0) return;
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    for (const staged of this.#staged.values()) staged.holdAll(ended);
  }

  apply(): void {
    this.#store.account(-this.#reserved);
    this.#reserved = 0;
    for (const staged of this.#staged.values()) staged.apply();
  }

  close(): void {
    this.#store.account(-this.#reserved);
    this.#reserved = 0;
    const isHeld = this.#ended !== undefined;
    for (const staged of this.#staged.values()) staged.close(isHeld);
    this.#staged.clear();
    this.#ended?.();
    this.#ended = undefined;
  }

  #over(space: KeySpace): StagedSpace {
    let staged = this.#staged.get(space);
    if (staged === undefined) {
      staged = new StagedSpace(space, this.#watch);
      this.#staged.set(space, staged);
    }
    return staged;
  }
}

const conflict = 'a transient key was changed by somebody else meanwhile; nothing was done';

class StagedSpace implements Keys {
  readonly #space: KeySpace;
  readonly #watch: KeyWatch;
  readonly #touched = new Set<ByteText>();
  /** Undefined: removed. */
  readonly #changes = new Map<ByteText, Stored | undefined>();

  constructor(space: KeySpace, watch: KeyWatch) {
    this.#space = space;
    this.#watch = watch;
  }

  get(key: ByteText): Stored | undefined {
    this.#touch(key);
    return this.#changes.has(key) ? this.#changes.get(key) : this.#space.get(key);
  }

  put(key: ByteText, value: Stored): void {
    this.#touch(key);
    this.#changes.set(key, value);
  }

  remove(key: ByteText): void {
    this.#touch(key);
    this.#changes.set(key, undefined);
  }

  #touch(key: ByteText): void {
    if (this.#touched.has(key)) return;
    this.#touched.add(key);
    this.#space.watch(key, this.#watch);
  }

  /** What stands in the way. */
  hold(): Promise<void> | undefined {
    for (const key of this.#touched) {
      const held = this.#space.holdOn(key);
      if (held !== undefined) return held;
    }
    return undefined;
  }

  holdAll(ended: Promise<void>): void {
    for (const key of this.#touched) this.#space.hold(key, ended);
  }

  cost(): number {
    let bytes = 0;
    for (const [key, value] of this.#changes) bytes += this.#space.costOf(key, value);
    return bytes;
  }

  apply(): void {
    for (const [key, value] of this.#changes) this.#space.apply(key, value);
  }

  close(isHeld: boolean): void {
    for (const key of this.#touched) {
      this.#space.unwatch(key, this.#watch);
      if (isHeld) this.#space.letGo(key);
    }
  }
}
