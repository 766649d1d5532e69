import type { Cancel, Timers } from '#core/runtime.ts';
import { bytesOf, type PackedWrites, type Write } from '../checkpoint/write-batch.ts';
import type { SubDatabases } from '../format/sub-databases.ts';

/** Pages that were written by large commits since the environment was opened; fewer are not worth it. */
const writtenBytesMin = 16 * 1024 * 1024;
/** While edges of a load are brought into their lists: it reads about as much through the map, which counts as memory. */
const writtenBytesMax = 128 * 1024 * 1024;
/** Nothing large has been written for so long. */
const quietMs = 2_000;

export interface EnvironmentRenewalOptions {
  readonly timers: Pick<Timers, 'after'>;
  readonly subs: SubDatabases;
  /** Opens what is closed. */
  readonly open: () => SubDatabases;
  /** Nothing is under way. @param but what is between two commits, and does not count */
  readonly isIdle: (but?: 'merges') => boolean;
  readonly readers: {
    /** Nobody holds a state, and LMDB has all of the newest one. */
    readonly isIdle: boolean;
    /** Lets go of every state of LMDB while `reopen` runs. */
    apart(reopen: () => void): void;
  };
  /** The environment is closed and could not be opened again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Closes and opens the environment when a load is over and nobody uses it, in one turn of the event loop. LMDB keeps the memory of every
 * page of its largest transaction for the next one, and gives it back only when it is closed; pages of the file that were mapped for the
 * load go, too.
 */
export class EnvironmentRenewal {
  readonly #options: EnvironmentRenewalOptions;
  #writtenBytes = 0;
  #cancelTimer: Cancel | undefined;
  #isStopped = false;

  constructor(options: EnvironmentRenewalOptions) {
    this.#options = options;
  }

  /** A large commit is in LMDB. */
  wrote(writes: readonly Write[], packed: PackedWrites): void {
    this.#writtenBytes += bytesOf(writes, packed);
    if (this.#writtenBytes >= writtenBytesMin) this.#waitForQuiet();
  }

  /** Edges are being merged, and no commit is under way. */
  betweenMerges(): void {
    if (this.#writtenBytes >= writtenBytesMax && this.#mayRenew('merges')) this.#renew();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** The wait begins anew with each commit. */
  #waitForQuiet(): void {
    this.#cancelTimer?.();
    if (this.#isStopped) return;
    this.#cancelTimer = this.#options.timers.after(quietMs, () => {
      if (this.#mayRenew()) this.#renew();
      else this.#waitForQuiet();
    });
  }

  #mayRenew(but?: 'merges'): boolean {
    const { isIdle, readers } = this.#options;
    return !this.#isStopped && isIdle(but) && readers.isIdle;
  }

  #renew(): void {
    const { subs, open, readers, failed } = this.#options;
    this.#writtenBytes = 0;
    try {
      readers.apart(() => {
        closeAtOnce(subs);
        Object.assign(subs, open());
      });
    } catch (error) {
      failed(error);
    }
  }
}

/**
 * The binding's own `close` waits, even where there is nothing to wait for, so this reaches into its private object: 100 of the 268 MB that
 * stayed after a load of a million edges go (`DECISIONS.md`). Reader threads that have the environment open keep it open.
 */
function closeAtOnce({ root }: SubDatabases): void {
  const { env } = root as unknown as { readonly env: { address: number; close(): void } };
  root.resetReadTxn();
  env.address = 0;
  env.close();
}
