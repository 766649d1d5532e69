import type { Runtime } from '#core/runtime.ts';
import type { Entry } from '#raft/vocabulary.ts';
import type { Outbox } from '../outbox.ts';
import { packEntries } from '../packed-entries.ts';
import type { FromWorker } from './worker-messages.ts';

/** So many, or so many bytes, wait for nothing more. */
const countMax = 256;
const bytesMax = 256 * 1024;
/** What is committed reaches the main thread of a follower so late at most. */
const heldMs = 10;
/** So long after somebody has asked how far the log is, nothing waits. */
const awaitedMs = 1000;

/**
 * Committed entries on their way to the main thread. Each hand-over wakes it, which costs more than the apply of a few small entries:
 * on a follower, where nobody waits for them, they go in groups. Who reads what was just written asks for the read index first, and
 * from then on they go at once.
 */
export class HeldEntries {
  readonly #outbox: Pick<Outbox<FromWorker>, 'post'>;
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly #isLeader: () => boolean;
  #entries: Entry[] = [];
  #bytes = 0;
  #isTimed = false;
  #askedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** @param isLeader clients of this server wait for the apply */
  constructor(
    outbox: Pick<Outbox<FromWorker>, 'post'>,
    runtime: Pick<Runtime, 'clock' | 'timers'>,
    isLeader: () => boolean,
  ) {
    this.#outbox = outbox;
    this.#runtime = runtime;
    this.#isLeader = isLeader;
  }

  take(entries: readonly Entry[]): void {
    // A snapshot may have come between.
    if ((this.#entries.at(-1)?.index ?? 0) + 1 !== entries[0]?.index) this.flush();
    let isUrgent = this.#isLeader() || this.#isAwaited();
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#bytes += entry.data.length;
      // It begins a leadership, or changes who is a member.
      if (entry.kind !== 'normal') isUrgent = true;
    }
    if (isUrgent || this.#entries.length >= countMax || this.#bytes >= bytesMax) this.flush();
    else this.#flushLater();
  }

  /** Somebody on this server waits for what is committed by now. */
  hasten(): void {
    this.#askedMs = this.#runtime.clock.monotonicMs();
    this.flush();
  }

  flush(): void {
    if (this.#entries.length === 0) return;
    const entries = packEntries(this.#entries);
    this.#entries = [];
    this.#bytes = 0;
    this.#outbox.post({ kind: 'apply', entries }, [entries.buffer]);
  }

  close(): void {
    this.flush();
    this.#isClosed = true;
  }

  #isAwaited(): boolean {
    return this.#runtime.clock.monotonicMs() - this.#askedMs < awaitedMs;
  }

  /** The timer stays when they go earlier: to set and clear one for each group would cost more than it spares. */
  #flushLater(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#runtime.timers.after(heldMs, () => {
      this.#isTimed = false;
      if (!this.#isClosed) this.flush();
    });
  }
}
