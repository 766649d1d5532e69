import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';

/** Whoever holds locks; told apart by identity. */
type Owner = object;

interface Hold {
  readonly owner: Owner;
  readonly released: Promise<void>;
  readonly release: () => void;
}

/**
 * Exclusive locks on buckets (sql.md 17.5, LOCK). They are taken all at once or not at all, so two statements of a kind cannot
 * wait for each other; the commit of a transaction that changed a locked bucket waits for the lock's owner.
 */
export class BucketLocks {
  readonly #holds = new Map<BucketId, Hold>();
  readonly #timers: Timers;
  readonly #waitMsMax: () => number;
  readonly #inFlight: () => Promise<void>;

  /** @param options `waitMsMax` is `service.commitLockTimeout`; `inFlight` resolves when the commits of now are visible */
  constructor(options: {
    readonly timers: Timers;
    readonly waitMsMax: () => number;
    readonly inFlight: () => Promise<void>;
  }) {
    this.#timers = options.timers;
    this.#waitMsMax = options.waitMsMax;
    this.#inFlight = options.inFlight;
  }

  get isEmpty(): boolean {
    return this.#holds.size === 0;
  }

  /** @throws DatabaseError `LockTimeout` when others hold one of them for too long */
  async acquire(owner: Owner, buckets: readonly BucketId[]): Promise<() => void> {
    // Several that waited for one release wake together: only the first finds the buckets free.
    do await this.free(owner, buckets);
    while (this.heldBy(owner, buckets) !== undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold: Hold = { owner, released: promise, release: resolve };
    for (const bucket of buckets) this.#holds.set(bucket, hold);
    // Commits that were past the lock when it was taken: their changes are to be seen. One turn, for those that were woken
    // together with this one and are about to go in flight.
    await this.#timers.yield();
    await this.#inFlight();
    return () => {
      for (const bucket of buckets) {
        if (this.#holds.get(bucket) === hold) this.#holds.delete(bucket);
      }
      resolve();
    };
  }

  /** Resolves when the one who holds one of the buckets lets go of it; undefined when nobody else does. */
  heldBy(owner: Owner, buckets: Iterable<BucketId>): Promise<void> | undefined {
    if (this.#holds.size === 0) return undefined;
    for (const bucket of buckets) {
      const hold = this.#holds.get(bucket);
      if (hold !== undefined && hold.owner !== owner) return hold.released;
    }
    return undefined;
  }

  /**
   * Resolves when nobody else holds one of the buckets. @returns whether that took a wait
   * @throws DatabaseError `LockTimeout`
   */
  async free(owner: Owner, buckets: Iterable<BucketId>): Promise<boolean> {
    const wanted = [...buckets];
    let isLate = false;
    let wake: () => void = () => {};
    let cancel: (() => void) | undefined;
    try {
      for (;;) {
        const hold = wanted
          .map((bucket) => this.#holds.get(bucket))
          .find((found) => found !== undefined && found.owner !== owner);
        if (hold === undefined) return cancel !== undefined;
        if (isLate) throw lockTimeout(this.#waitMsMax());
        const late = new Promise<void>((resolve) => {
          wake = resolve;
        });
        cancel ??= this.#timers.after(this.#waitMsMax(), () => {
          isLate = true;
          wake();
        });
        await Promise.race([hold.released, late]);
      }
    } finally {
      cancel?.();
    }
  }
}

function lockTimeout(waitMs: number): DatabaseError {
  return new DatabaseError(
    'LockTimeout',
    `another transaction holds a LOCK for longer than service.commitLockTimeout (${waitMs} ms)`,
  );
}
