import type { StoredRecord } from './record.ts';
import type { Value } from './value.ts';

/**
 * A map of which one value, a property of a record, is read when somebody looks at it. Rows of vector searches have the vectors of their
 * records, which are long, and most of who asks for neighbours never looks at them.
 */
export class LateMap extends Map<string, Value> {
  readonly #record: StoredRecord;
  /** Undefined once it was read. */
  #late: string | undefined;
  /** What it takes in memory, about. */
  readonly lateBytes: number;
  /** What the whole map takes in memory, about, where somebody measured it. */
  heldBytes: number | undefined;

  constructor(record: StoredRecord, late: string, lateBytes: number) {
    super();
    this.#record = record;
    this.#late = late;
    this.lateBytes = lateBytes;
  }

  /** Whether the value is not read yet. */
  isLate(key: string): boolean {
    return key === this.#late;
  }

  override get(key: string): Value | undefined {
    if (key === this.#late) this.#read();
    return super.get(key);
  }

  override set(key: string, value: Value): this {
    if (key === this.#late) this.#late = undefined;
    this.heldBytes = undefined;
    return super.set(key, value);
  }

  /** Keeps the place of the value among the others. */
  setLate(): void {
    if (this.#late !== undefined) super.set(this.#late, null);
  }

  override entries(): MapIterator<[string, Value]> {
    this.#read();
    return super.entries();
  }

  override values(): MapIterator<Value> {
    this.#read();
    return super.values();
  }

  override forEach(take: (value: Value, key: string, map: Map<string, Value>) => void): void {
    this.#read();
    super.forEach(take);
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  #read(): void {
    const late = this.#late;
    if (late === undefined) return;
    this.#late = undefined;
    if (super.has(late)) super.set(late, this.#record.get(late) ?? null);
  }
}
