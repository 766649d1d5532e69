import { whenSettled } from '../commit/unknown-outcome.ts';

/**
 * Keeps commits out while the schema changes (ha.md 5.10) or a bulk load is written. Closing it waits for what is in flight;
 * readers, and statements that have not come to their commit, are not concerned.
 */
export class SchemaGate {
  readonly #idle: () => Promise<void>;
  #opened: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param idle resolves when no validated transaction is in flight */
  constructor(idle: () => Promise<void>) {
    this.#idle = idle;
  }

  /** Resolves when the gate is open again; undefined while it is open. */
  get closed(): Promise<void> | undefined {
    return this.#opened;
  }

  /** Runs `work` with the gate closed and nothing in flight; calls take turns. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#opened).then(() => this.#run(work));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    let open: () => void = () => {};
    this.#opened = new Promise((resolve) => {
      open = resolve;
    });
    const end = (): void => {
      this.#opened = undefined;
      open();
    };
    try {
      await this.#idle();
      const result = await work();
      end();
      return result;
    } catch (error) {
      // What may still be committed keeps the others out until that is known.
      whenSettled(error, end);
      throw error;
    }
  }
}
