import { DatabaseError } from '#core/errors.ts';
import type { ServerEvents } from '#control/event-log.ts';
import type { Clock } from '#core/runtime.ts';

const windowMs = 60_000;
const reportsPerWindowMax = 20;

/** Reports refused rights to the server event log, a few a minute: whoever asks in a loop must not fill the disk. */
export class DenialReports {
  readonly #events: ServerEvents;
  readonly #clock: Clock;
  #windowStartMs = 0;
  #count = 0;

  constructor(events: ServerEvents, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  /** Reports `error` if it is the refusal of a right. */
  consider(error: unknown, requestId: string): void {
    if (!(error instanceof DatabaseError) || error.code !== 'Forbidden') return;
    const now = this.#clock.monotonicMs();
    if (now - this.#windowStartMs > windowMs || this.#count === 0) {
      this.#windowStartMs = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= reportsPerWindowMax)
      this.#events.report('WARNING', 'Security', `Denied: ${error.message}`, null, requestId);
  }
}
