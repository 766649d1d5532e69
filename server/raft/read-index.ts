import type { ReadState } from './ready.ts';
import type { Index, PeerId } from './vocabulary.ts';

export interface ReadRequest {
  readonly from: PeerId;
  readonly context: number;
}

interface Recorded extends ReadRequest {
  readonly index: Index;
  readonly round: number;
}

/**
 * Linearizable reads of a leader (ha.md 2.8): a request records the commit index, and the next round of heartbeats that a quorum
 * confirms releases it. One round confirms all requests that came before it.
 */
export class ReadRounds {
  /** The round of the newest broadcast. */
  sent = 0;
  #recorded: Recorded[] = [];
  /** Came before the leader committed an entry of its own term. */
  #early: ReadRequest[] = [];

  wait(request: ReadRequest): void {
    this.#early.push(request);
  }

  takeEarly(): readonly ReadRequest[] {
    return this.#early.splice(0);
  }

  record(request: ReadRequest, commit: Index): void {
    this.#recorded.push({ ...request, index: commit, round: this.sent + 1 });
  }

  /** Requests wait for a round that has not been sent. */
  get needsRound(): boolean {
    return (this.#recorded.at(-1)?.round ?? 0) > this.sent;
  }

  get isWaiting(): boolean {
    return this.#recorded.length > 0;
  }

  confirmed(round: number): readonly (ReadState & { readonly from: PeerId })[] {
    const count = this.#recorded.findIndex((request) => request.round > round);
    return this.#recorded.splice(0, count < 0 ? this.#recorded.length : count);
  }
}
