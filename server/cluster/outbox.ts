import type { Cancel, Timers } from '#core/runtime.ts';

/**
 * Messages to another thread, each of which wakes it. What nobody waits for goes along with the next message that somebody does wait
 * for, or after a moment; their order stays.
 */
export class Outbox<T> {
  readonly #send: (messages: readonly T[], transferred: readonly ArrayBuffer[]) => void;
  readonly #timers: Pick<Timers, 'after'>;
  readonly #delayMs: number;
  #messages: T[] = [];
  #transferred: ArrayBuffer[] = [];
  #cancel: Cancel | undefined;

  constructor(
    send: (messages: readonly T[], transferred: readonly ArrayBuffer[]) => void,
    timers: Pick<Timers, 'after'>,
    delayMs: number,
  ) {
    this.#send = send;
    this.#timers = timers;
    this.#delayMs = delayMs;
  }

  post(message: T, transferred: readonly ArrayBuffer[] = []): void {
    this.#messages.push(message);
    this.#transferred.push(...transferred);
    this.flush();
  }

  postLater(message: T): void {
    this.#messages.push(message);
    // The timer stays while other messages take this one along: to set and clear it each time would cost more than it spares.
    this.#cancel ??= this.#timers.after(this.#delayMs, () => {
      this.#cancel = undefined;
      this.flush();
    });
  }

  flush(): void {
    if (this.#messages.length === 0) return;
    const messages = this.#messages;
    const transferred = this.#transferred;
    this.#messages = [];
    this.#transferred = [];
    this.#send(messages, transferred);
  }

  close(): void {
    this.#cancel?.();
    this.flush();
  }
}
