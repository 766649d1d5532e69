import { createHash } from 'node:crypto';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { SettingSpec } from '#config/setting.ts';
import {
  haIdempotencyCacheMaxBodyBytes,
  haIdempotencyCacheMaxBytes,
  haIdempotencyCacheMaxEntries,
  haIdempotencyCacheTtlMs,
} from '#config/cluster-resync-settings.ts';
import {
  serverHttpIdempotencyMaxBodySize,
  serverHttpIdempotencyMaxEntries,
  serverHttpIdempotencyMaxSize,
} from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { LabelledCounts } from '#core/instruments.ts';
import type { Runtime } from '#core/runtime.ts';

/** An answer that is sent again when its request is repeated. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: Uint8Array;
  /** Of the beginning and of all of the request's body, where its key does not hold them. */
  readonly headDigest?: string;
  readonly bodyDigest?: string;
}

interface Kept {
  readonly answer: KeptAnswer;
  readonly expiresMs: number;
  readonly bytes: number;
}

const waitForFirstMs = 5000;

/** What makes two requests the same one (http-api.md 4): anything that differs makes another key. */
export function replayKeyOf(parts: {
  readonly requestId: string;
  readonly user: string;
  readonly method: string;
  readonly url: string;
  readonly body: Uint8Array;
}): string {
  const hash = createHash('sha256');
  for (const text of [parts.requestId, parts.user, parts.method, parts.url])
    hash.update(`${text.length}:${text};`);
  return hash.update(parts.body).digest('base64');
}

/**
 * Answers to requests with an id of the client's choice, for repetition: bounded by number, size and age, oldest out first.
 * While the first request runs, its repetitions wait for it.
 */
export class ReplayCache {
  /** Repetitions that were answered without being executed, by database. */
  readonly hits = new LabelledCounts();
  readonly #settings: SettingsReader;
  readonly #runtime: Runtime;
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, PromiseWithResolvers<void>>();
  #bytes = 0;

  constructor(settings: SettingsReader, runtime: Runtime) {
    this.#settings = settings;
    this.#runtime = runtime;
  }

  /**
   * The answer of an earlier request with this key; undefined makes the caller the first one, who must call `finish`.
   * @throws DatabaseError `RequestInFlight` when the first one takes longer than 5 s
   */
  async begin(key: string): Promise<KeptAnswer | undefined> {
    for (;;) {
      const kept = this.#find(key);
      if (kept) return kept;
      const running = this.#running.get(key);
      if (!running) break;
      await this.#waitFor(running.promise);
    }
    this.#running.set(key, Promise.withResolvers());
    return undefined;
  }

  /** The first request is over. @param answer undefined when it is not to be kept */
  finish(key: string, answer: KeptAnswer | undefined): void {
    if (answer) this.#keep(key, answer);
    const running = this.#running.get(key);
    this.#running.delete(key);
    running?.resolve();
  }

  get size(): number {
    return this.#kept.size;
  }

  #find(key: string): KeptAnswer | undefined {
    const kept = this.#kept.get(key);
    if (!kept) return undefined;
    if (kept.expiresMs > this.#runtime.clock.monotonicMs()) return kept.answer;
    this.#drop(key, kept);
    return undefined;
  }

  #keep(key: string, answer: KeptAnswer): void {
    const bytes = answer.body.length;
    const least = (one: SettingSpec<number>, other: SettingSpec<number>) =>
      Math.min(this.#settings.get(one), this.#settings.get(other));
    // A server alone and one in a cluster have their own names for each bound.
    if (bytes > least(serverHttpIdempotencyMaxBodySize, haIdempotencyCacheMaxBodyBytes)) return;
    const expiresMs =
      this.#runtime.clock.monotonicMs() + this.#settings.get(haIdempotencyCacheTtlMs);
    this.#kept.set(key, { answer, expiresMs, bytes });
    this.#bytes += bytes;
    const entriesMax = least(serverHttpIdempotencyMaxEntries, haIdempotencyCacheMaxEntries);
    const bytesMax = least(serverHttpIdempotencyMaxSize, haIdempotencyCacheMaxBytes);
    for (const [oldest, kept] of this.#kept) {
      const isWithinBounds = this.#kept.size <= entriesMax && this.#bytes <= bytesMax;
      if (isWithinBounds && kept.expiresMs > this.#runtime.clock.monotonicMs()) return;
      this.#drop(oldest, kept);
    }
  }

  #drop(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#bytes -= kept.bytes;
  }

  async #waitFor(running: Promise<void>): Promise<void> {
    let isLate = false;
    await new Promise<void>((resolve) => {
      const cancel = this.#runtime.timers.after(waitForFirstMs, () => {
        isLate = true;
        resolve();
      });
      void running.then(() => {
        cancel();
        resolve();
      });
    });
    if (isLate)
      throw new DatabaseError('RequestInFlight', 'the first request with this id still runs');
  }
}
