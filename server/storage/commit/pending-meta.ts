import { ImageMemory } from '../checkpoint/image-memory.ts';
import {
  carryOut,
  putSealed,
  removal,
  requireSpaceFor,
  type Write,
} from '../checkpoint/write-batch.ts';
import {
  decodeFormat,
  type FormatFeature,
  formatEntryName,
  type FormatInUse,
} from '../format/features.ts';
import { metaKey, type SubDatabases } from '../format/sub-databases.ts';

/** The meta entries that a commit writes. */
export class PendingMeta {
  readonly #format: FormatInUse;
  readonly #values = new Map<string, Uint8Array | undefined>();
  /** Features of the format that the commit is the first to use. */
  readonly newFeatures = new Set<FormatFeature>();

  constructor(format: FormatInUse) {
    this.#format = format;
  }

  /** @param value undefined removes the entry */
  set(name: string, value: Uint8Array | undefined): void {
    if (name === formatEntryName && value !== undefined) this.#useAll(value);
    else this.#values.set(name, value);
  }

  /** What the commit writes needs the feature: the entry that announces it is part of it. */
  use(feature: FormatFeature): void {
    if (this.#format.includes(feature) || this.newFeatures.has(feature)) return;
    this.newFeatures.add(feature);
    this.#values.set(formatEntryName, this.#format.entryWith(this.newFeatures));
  }

  /** An entry of the log says what it needs. */
  #useAll(value: Uint8Array): void {
    for (const feature of decodeFormat(value, 'the log').features ?? [])
      this.use(feature as FormatFeature);
  }

  addWrites(writes: Write[], subs: SubDatabases, memory: ImageMemory): void {
    for (const [name, body] of this.#values) {
      const key = metaKey(name);
      writes.push(
        body === undefined
          ? removal(subs.meta, key)
          : putSealed(subs.meta, key, key.bytes, memory, body),
      );
    }
  }

  /** The entries are durable. */
  publish(): void {
    this.#format.announced({ storage: 0, features: [...this.newFeatures] });
  }
}

/** Writes one meta entry by itself; it is durable when this returns. */
export function writeMetaEntry(subs: SubDatabases, name: string, body: Uint8Array): void {
  const key = metaKey(name);
  const write = putSealed(subs.meta, key, key.bytes, new ImageMemory(), body);
  requireSpaceFor(subs, [write]);
  subs.root.transactionSync(() => carryOut(write));
}
