import { stat } from 'node:fs/promises';
import type { SecureContextOptions } from 'node:tls';
import type { Cancel, Clock, Timers } from '#core/runtime.ts';
import { filesOfStore, readIdentity, type StoreAddress } from '#platform/tls-store.ts';
import type { Audit } from './audit.ts';

const dayMs = 24 * 60 * 60 * 1000;
const warnedDays = 30;

/**
 * The key and the certificates of the HTTPS door. They are read again when their files change (certificates are renewed
 * while the server runs); what cannot be read then leaves the former ones in force.
 */
export class TlsCredentials {
  readonly #store: StoreAddress;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #options: SecureContextOptions = {};
  #seen = '';
  #changed: (options: SecureContextOptions) => void = () => {};
  #stop: Cancel = () => {};
  #isClosed = false;

  constructor(options: { store: StoreAddress; audit: Audit; clock: Clock; timers: Timers }) {
    this.#store = options.store;
    this.#audit = options.audit;
    this.#clock = options.clock;
    this.#timers = options.timers;
  }

  /** What node:tls takes; empty before `load`. */
  get options(): SecureContextOptions {
    return this.#options;
  }

  /** @throws DatabaseError `InvalidSetting` naming the setting and what is wrong */
  async load(): Promise<void> {
    this.#seen = await this.#fingerprint();
    const { options, validUntil, keyFiles } = await readIdentity(this.#store);
    this.#options = options;
    await this.#warnOfReaders(keyFiles);
    if (validUntil !== undefined) this.#warnOfEnd(validUntil);
  }

  /** Calls `listener` with new credentials. */
  onChanged(listener: (options: SecureContextOptions) => void): void {
    this.#changed = listener;
  }

  watch(everyMs: number): void {
    this.#stop = this.#timers.after(everyMs, () => {
      void this.poll().finally(() => {
        if (!this.#isClosed) this.watch(everyMs);
      });
    });
  }

  /** Takes over changed files. */
  async poll(): Promise<void> {
    const now = await this.#fingerprint();
    if (now === this.#seen || this.#isClosed) return;
    try {
      await this.load();
    } catch (error) {
      // Also a file that went away between two looks at it.
      const reason = error instanceof Error ? error.message : String(error);
      this.#audit.report('CRITICAL', `the TLS certificate stays as it was: ${reason}`);
      return;
    }
    this.#audit.report('INFO', `the TLS certificate was read again from ${this.#store.path}`);
    this.#changed(this.#options);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  /** The private key is nobody else's business; a mounted one may have to be readable, so this is no refusal. */
  async #warnOfReaders(keyFiles: readonly string[]): Promise<void> {
    for (const file of keyFiles) {
      const found = await stat(file).catch(() => undefined);
      if (found !== undefined && (found.mode & 0o077) !== 0)
        this.#audit.report('WARNING', `${file} can be read by others; its mode should be 600`);
    }
  }

  #warnOfEnd(validUntil: number): void {
    const days = Math.floor((validUntil - this.#clock.now()) / dayMs);
    if (days < 0) this.#audit.report('CRITICAL', 'the TLS certificate has expired');
    else if (days < warnedDays)
      this.#audit.report('WARNING', `the TLS certificate expires in ${days} days`);
  }

  /** Follows links, so that a mounted secret that is exchanged as a whole is seen. */
  async #fingerprint(): Promise<string> {
    const parts: string[] = [];
    for (const file of await filesOfStore(this.#store)) {
      try {
        // The time of the last change of rights, too: a file may become readable only.
        const { mtimeMs, ctimeMs, size, ino } = await stat(file);
        parts.push(`${mtimeMs}:${ctimeMs}:${size}:${ino}`);
      } catch {
        parts.push('absent');
      }
    }
    return parts.join(' ');
  }
}
