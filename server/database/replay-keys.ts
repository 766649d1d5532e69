import type { Clock, EpochMs } from '#core/runtime.ts';
import type { LogIndex } from '#core/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';

const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder() };

/** As many as are kept (ha.md 5.9): entry n of all time stands in slot n modulo this. */
const slotCount = 10_000;
/** Present as soon as any slot may be, so that other databases open without a look at all of them. */
const markerName = 'dedupe/used';

interface Entry {
  readonly committedAt: EpochMs;
  readonly index: LogIndex;
}

interface StoredEntry {
  readonly key: string;
  readonly sequence: number;
  readonly committedAt: EpochMs;
}

/** A value of `meta`. */
export interface MetaValue {
  readonly name: string;
  readonly value: Uint8Array;
}

/**
 * Which client requests have been committed (limits.md 17, ha.md 5.9). An entry is written by the commit that it speaks of, so
 * after a crash a request was either committed and is known, or neither. Entries live in a ring of slots in `meta`; their
 * time does not run while the database is closed.
 */
export class ReplayKeys {
  readonly #clock: Clock;
  readonly #lifetimeMs: () => number;
  readonly #entries = new Map<string, Entry>();
  #sequence = 0;
  #isMarked = false;

  /** @param options `lifetimeMs` is `service.ha.idempotencyCacheTtlMs`; `stored` the state to continue from */
  constructor(options: { clock: Clock; lifetimeMs: () => number; stored: StorageSnapshot }) {
    this.#clock = options.clock;
    this.#lifetimeMs = options.lifetimeMs;
    this.#load(options.stored);
  }

  /** The commit that carried the key, while it is remembered. */
  committedUnder(key: string): LogIndex | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#clock.now() - entry.committedAt <= this.#lifetimeMs()) return entry.index;
    this.#entries.delete(key);
    return undefined;
  }

  /** The `meta` values that a commit under this key is to carry; call `committed` afterwards. */
  valuesFor(key: string): readonly MetaValue[] {
    this.#sequence += 1;
    const entry: StoredEntry = {
      key,
      sequence: this.#sequence,
      committedAt: this.#clock.now(),
    };
    const name = slotName(this.#sequence);
    const value = { name, value: utf8.encoder.encode(JSON.stringify(entry)) };
    return this.#isMarked ? [value] : [value, { name: markerName, value: new Uint8Array([1]) }];
  }

  committed(key: string, index: LogIndex): void {
    this.#isMarked = true;
    this.#entries.delete(key);
    this.#entries.set(key, { committedAt: this.#clock.now(), index });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= slotCount) break;
      this.#entries.delete(oldest);
    }
  }

  #load(stored: StorageSnapshot): void {
    if (stored.meta(markerName) === undefined) return;
    this.#isMarked = true;
    const found: StoredEntry[] = [];
    for (let slot = 0; slot < slotCount; slot += 1) {
      const value = stored.meta(slotName(slot));
      if (value !== undefined) found.push(readEntry(value));
    }
    found.sort((a, b) => a.sequence - b.sequence);
    const newest = found.at(-1);
    if (newest === undefined) return;
    this.#sequence = newest.sequence;
    const downMs = Math.max(0, this.#clock.now() - newest.committedAt);
    for (const { key, committedAt } of found) {
      this.#entries.set(key, { committedAt: committedAt + downMs, index: stored.index });
    }
  }
}

function slotName(sequence: number): string {
  return `dedupe/${sequence % slotCount}`;
}

function readEntry(value: Uint8Array): StoredEntry {
  const document: unknown = JSON.parse(utf8.decoder.decode(value));
  const { key, sequence, committedAt } = document as Record<string, unknown>;
  return { key: String(key), sequence: Number(sequence), committedAt: Number(committedAt) };
}
