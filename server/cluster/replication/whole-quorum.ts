import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { ConsensusPort } from '../consensus-port.ts';

export interface WholeQuorumOptions {
  readonly port: Pick<ConsensusPort, 'self' | 'status' | 'onStatus'>;
  /** `service.ha.quorumTimeout` */
  readonly timeoutMs: () => number;
  /** A voter that was silent for longer is away. */
  readonly silentMsMax: () => number;
  readonly timers: Pick<Timers, 'after'>;
}

/**
 * `service.ha.quorum=all` (ha.md 12.3): consensus commits by majority as ever, and writes are refused while a voter is away and
 * answered when every voter has them.
 */
export class WholeQuorum {
  readonly #options: WholeQuorumOptions;

  constructor(options: WholeQuorumOptions) {
    this.#options = options;
  }

  /** Before anything is appended. @throws DatabaseError `QuorumNotReached` naming who is away */
  requireAll(): void {
    const { port } = this.#options;
    const { configuration, progress } = port.status();
    const away = configuration.voters
      .map(({ id }) => id)
      .filter((id) => id !== port.self)
      .filter((id) => {
        const known = progress.find((peer) => peer.id === id);
        const silentMs = known?.lastContactMs ?? Number.POSITIVE_INFINITY;
        return known?.isReachable !== true || silentMs > this.#options.silentMsMax();
      });
    if (away.length > 0)
      throw new DatabaseError(
        'QuorumNotReached',
        `service.ha.quorum is 'all' and ${away.join(', ')} cannot be reached; nothing was committed`,
      );
  }

  /** A majority has it. @throws DatabaseError `CommittedRemotely` when not all voters have it in time */
  reached(index: Index): Promise<void> {
    if (this.#missing(index).length === 0) return Promise.resolve();
    const { port, timers, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        stopTimer();
        stopListening();
        act();
      };
      const stopListening = port.onStatus(() => {
        if (this.#missing(index).length === 0) settle(resolve);
      });
      const stopTimer = timers.after(timeoutMs(), () => {
        const missing = this.#missing(index).join(', ');
        settle(() =>
          reject(
            new DatabaseError(
              'CommittedRemotely',
              `the transaction is committed by a majority, not by all: ${missing} has it not yet`,
            ),
          ),
        );
      });
    });
  }

  /** Voters of now that do not have it; another leader's progress is not known here. */
  #missing(index: Index): readonly string[] {
    const { port } = this.#options;
    const { configuration, progress } = port.status();
    return configuration.voters
      .map(({ id }) => id)
      .filter((id) => id !== port.self)
      .filter((id) => (progress.find((peer) => peer.id === id)?.match ?? 0) < index);
  }
}
