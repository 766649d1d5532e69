import { stat } from 'node:fs/promises';
import type { Cancel, Timers } from '#core/runtime.ts';
import { readTextIfExists, replaceFile } from '#platform/files.ts';

/**
 * A small configuration file that people may edit while the server runs: `changed` is called with its text when it is
 * not what this process last read or wrote. Writes of one file are done one after the other.
 */
export class WatchedFile {
  readonly path: string;
  readonly #timers: Timers;
  readonly #changed: (text: string) => void | Promise<void>;
  readonly #unreadable: (reason: string) => void;
  #seen = '';
  /** State of the file in which it was told that it cannot be read. */
  #toldOf = '';
  #stop: Cancel = () => {};
  #isClosed = false;
  #writes: Promise<void> = Promise.resolve();

  constructor(options: {
    path: string;
    timers: Timers;
    changed: (text: string) => void | Promise<void>;
    /** Told once for each state of a file that the system does not give; what was read before should stay in force. */
    unreadable: (reason: string) => void;
  }) {
    this.path = options.path;
    this.#timers = options.timers;
    this.#changed = options.changed;
    this.#unreadable = options.unreadable;
  }

  /** @returns undefined when there is no file */
  async read(): Promise<string | undefined> {
    this.#seen = await this.#fingerprint();
    return await readTextIfExists(this.path);
  }

  /** Resolves when the content is durable. */
  write(text: string): Promise<void> {
    const written = this.#writes.then(async () => {
      await replaceFile(this.path, text);
      this.#seen = await this.#fingerprint();
    });
    this.#writes = written.catch(() => {});
    return written;
  }

  /** Looks for changes now and every `everyMs`. */
  watch(everyMs: number): void {
    this.#stop = this.#timers.after(everyMs, () => {
      void this.poll().finally(() => {
        if (!this.#isClosed) this.watch(everyMs);
      });
    });
  }

  /** One look, between writes. */
  async poll(): Promise<void> {
    await this.#writes;
    const now = await this.#fingerprint();
    if (now === this.#seen || this.#isClosed) return;
    let text: string;
    try {
      text = (await readTextIfExists(this.path)) ?? '';
    } catch (error) {
      this.#tellUnreadable(now, error);
      return;
    }
    this.#seen = now;
    this.#toldOf = '';
    await this.#changed(text);
  }

  /** It is read again at each look: rights that are given back leave no trace in what is compared. */
  #tellUnreadable(state: string, error: unknown): void {
    if (this.#toldOf === state) return;
    this.#toldOf = state;
    const reason = error instanceof Error ? error.message : String(error);
    this.#unreadable(`${this.path} cannot be read and stays as it was: ${reason}`);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  async #fingerprint(): Promise<string> {
    try {
      const { mtimeMs, size, ino } = await stat(this.path);
      return `${mtimeMs}:${size}:${ino}`;
    } catch {
      return '';
    }
  }
}
