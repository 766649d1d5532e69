import type { Clock, EpochMs } from '#core/runtime.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { MetaValue } from '#transaction/database-state.ts';
import type { CommittedRequest, RecordedRequest } from './recorded-request.ts';

const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder() };

/** As many as are kept (ha.md 5.9): entry n of all time stands in slot n modulo this. */
const slotCount = 10_000;
/** Answers are larger: of each at most `service.server.httpIdempotencyMaxBodySize`. */
const answerSlotCount = 64;
/** Present as soon as any slot may be, so that other databases open without a look at all of them. */
const markerName = 'dedupe/used';
const answerPrefix = 'dedupe/answer/';

export function isReplayKeyName(name: string): boolean {
  return name.startsWith('dedupe/');
}

interface Entry {
  readonly committedAt: EpochMs;
  readonly index: LogIndex;
  readonly bodies: BodyDigests | undefined;
  readonly answerNumber: number | undefined;
}

type BodyDigests = Pick<CommittedRequest, 'headDigest' | 'bodyDigest'>;

interface StoredEntry {
  readonly key: string;
  readonly sequence: number;
  readonly committedAt: EpochMs;
  readonly bodies?: BodyDigests;
  /** Number of all time of its answer, which stands in the slot modulo `answerSlotCount` until another one takes it. */
  readonly answerNumber?: number;
}

/** What makes a commit remember its request. */
export interface OfferedKey {
  /** Values of `meta` that the commit is to carry. */
  readonly values: readonly MetaValue[];
  /** To be called when it is durable. */
  committed(index: LogIndex): void;
}

export interface ReplayKeysOptions {
  readonly clock: Clock;
  /** `service.ha.idempotencyCacheTtlMs` */
  readonly lifetimeMs: () => number;
  /** `service.ha.idempotencyCacheMaxEntries`, at most as many as there are slots */
  readonly entriesMax?: () => number;
  /** The state to continue from. */
  readonly stored: StorageSnapshot;
  /** The newest state, for answers. */
  readonly snapshot: () => StorageSnapshot;
}

/**
 * Which client requests have been committed (limits.md 17, ha.md 5.9). An entry is written by the commit that it speaks of, so
 * after a crash a request was either committed and is known, or neither. Entries live in a ring of slots in `meta`, answers
 * that were known before their commit in a second one; their time does not run while the database is closed.
 */
export class ReplayKeys {
  readonly #options: ReplayKeysOptions;
  readonly #entries = new Map<string, Entry>();
  #sequence = 0;
  #answerCount = 0;
  #isMarked = false;

  constructor(options: ReplayKeysOptions) {
    this.#options = options;
    this.#load(options.stored);
  }

  /** The commit that carried the key, while it is remembered. */
  committedUnder(key: string): LogIndex | undefined {
    return this.#find(key)?.index;
  }

  /** As `committedUnder`, with what was recorded of a request whose answer was known before its commit. */
  recorded(key: string): RecordedRequest | undefined {
    const entry = this.#find(key);
    if (entry?.bodies === undefined) return undefined;
    const { index, bodies, answerNumber } = entry;
    const answer = answerNumber === undefined ? undefined : this.#answer(key, answerNumber);
    return { ...bodies, index, answer };
  }

  /**
   * An entry for a commit under this key.
   * @param request when the answer is known before the commit, or repetitions are told by digests of their bodies
   */
  offer(key: string, request?: CommittedRequest): OfferedKey {
    this.#sequence += 1;
    const committedAt = this.#options.clock.now();
    const values: MetaValue[] = [];
    let entry: StoredEntry = { key, sequence: this.#sequence, committedAt };
    if (request !== undefined) {
      const { headDigest, bodyDigest, answer } = request;
      entry = { ...entry, bodies: { headDigest, bodyDigest } };
      if (answer !== undefined) {
        this.#answerCount += 1;
        entry = { ...entry, answerNumber: this.#answerCount };
        values.push(answerValue(this.#answerCount, key, answer));
      }
    }
    values.push(slotValue(entry));
    if (!this.#isMarked) values.push({ name: markerName, value: new Uint8Array([1]) });
    return { values, committed: (index) => this.#keep(entry, index) };
  }

  /** An entry of the log has stored this value of `meta` (`isReplayKeyName`), whoever wrote it. */
  observe(name: string, value: Uint8Array, index: LogIndex): void {
    if (name === markerName) this.#isMarked = true;
    if (name === markerName || name.startsWith(answerPrefix)) return;
    const entry = readEntry(value);
    this.#sequence = Math.max(this.#sequence, entry.sequence);
    this.#answerCount = Math.max(this.#answerCount, entry.answerNumber ?? 0);
    this.#keep(entry, index);
  }

  /** The request has failed after a commit of its own: a repetition is executed (http-api.md 4). Until the next start. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  #keep({ key, bodies, answerNumber }: StoredEntry, index: LogIndex): void {
    this.#isMarked = true;
    this.#entries.delete(key);
    const committedAt = this.#options.clock.now();
    this.#entries.set(key, { committedAt, index, bodies, answerNumber });
    const entriesMax = this.#options.entriesMax?.() ?? slotCount;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax) break;
      this.#entries.delete(oldest);
    }
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { clock, lifetimeMs } = this.#options;
    if (clock.now() - entry.committedAt <= lifetimeMs()) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  #answer(key: string, number: number): Uint8Array | undefined {
    using snapshot = this.#options.snapshot();
    const value = snapshot.meta(answerSlotName(number));
    const keyBytes = utf8.encoder.encode(`${key}\n`);
    // Somebody else's by now.
    const isOwn = value !== undefined && keyBytes.every((byte, at) => value[at] === byte);
    return isOwn ? value.slice(keyBytes.length) : undefined;
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
    const downMs = Math.max(0, this.#options.clock.now() - newest.committedAt);
    for (const { key, committedAt, bodies, answerNumber } of found) {
      const entry = { committedAt: committedAt + downMs, index: stored.index };
      this.#answerCount = Math.max(this.#answerCount, answerNumber ?? 0);
      // Of a key that was used again, the newer one.
      this.#entries.delete(key);
      this.#entries.set(key, { ...entry, bodies, answerNumber });
    }
  }
}

function slotName(sequence: number): string {
  return `dedupe/${sequence % slotCount}`;
}

function answerSlotName(number: number): string {
  return `${answerPrefix}${number % answerSlotCount}`;
}

function slotValue(entry: StoredEntry): MetaValue {
  const value = utf8.encoder.encode(JSON.stringify(entry));
  return { name: slotName(entry.sequence), value };
}

function answerValue(number: number, key: string, answer: Uint8Array): MetaValue {
  const value = Buffer.concat([utf8.encoder.encode(`${key}\n`), answer]);
  return { name: answerSlotName(number), value };
}

function readEntry(value: Uint8Array): StoredEntry {
  const document = JSON.parse(utf8.decoder.decode(value)) as Record<string, unknown>;
  const { key, sequence, committedAt, bodies, answerNumber } = document;
  return {
    key: String(key),
    sequence: Number(sequence),
    committedAt: Number(committedAt),
    ...(bodies !== undefined && { bodies: bodies as BodyDigests }),
    ...(answerNumber !== undefined && { answerNumber: Number(answerNumber) }),
  };
}
