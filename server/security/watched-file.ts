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
  #seen = '';
  #stop: Cancel = () => {};
  #isClosed = false;
  #writes: Promise<void> = Promise.resolve();

  constructor(options: {
    path: string;
    timers: Timers;
    changed: (text: string) => void | Promise<void>;
  }) {
    this.path = options.path;
    this.#timers = options.timers;
    this.#changed = options.changed;
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
    this.#seen = now;
    await this.#changed((await readTextIfExists(this.path)) ?? '');
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
