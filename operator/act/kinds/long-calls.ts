import type { CallState } from '../../api/kinds/backup-view.ts';
import type { Runtime } from '../../api/runtime.ts';
import { MemberError } from '../../observe/database-client.ts';

/** Answers after which nobody knows whether it happened, or that say nothing of the thing asked. */
const unclear = new Set([0, 401, 403, 429, 502, 503, 504]);

interface Known {
  readonly subject: string;
  state: CallState;
}

/**
 * Calls to members that take hours, begun by a look and asked after by later ones: no worker waits for them. One for each object.
 * What is known here may be lost at any time.
 */
export class LongCalls {
  readonly #runtime: Runtime;
  readonly #onSettled: (owner: string) => void;
  readonly #known = new Map<string, Known>();

  /** @param onSettled told of the object whose call ended */
  constructor(runtime: Runtime, onSettled: (owner: string) => void) {
    this.#runtime = runtime;
    this.#onSettled = onSettled;
  }

  /** @param subject what the call is about, of all that the object has done */
  of(owner: string, subject: string): CallState | undefined {
    const known = this.#known.get(owner);
    return known?.subject === subject ? known?.state : undefined;
  }

  begin(owner: string, subject: string, call: () => Promise<string>): void {
    const known: Known = { subject, state: { state: 'running' } };
    this.#known.set(owner, known);
    const settle = (state: CallState) => {
      known.state = state;
      this.#onSettled(owner);
    };
    call().then(
      (result) => settle({ state: 'done', result }),
      (error: unknown) => settle(this.#failureOf(error)),
    );
  }

  forget(owner: string): void {
    this.#known.delete(owner);
  }

  #failureOf(error: unknown): CallState {
    const message = error instanceof Error ? error.message : String(error);
    const status = error instanceof MemberError ? error.status : 0;
    const isUnclear = unclear.has(status);
    const state = status === 409 ? 'busy' : isUnclear ? 'unknown' : 'refused';
    return { state, message, atMs: this.#runtime.clock.now() };
  }
}
