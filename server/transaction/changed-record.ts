import type { RecordKind, StoredRecord } from '#core/record.ts';
import type { LogIndex, Rid, TypeId } from '#core/rid.ts';
import type { Value } from '#core/value.ts';

/** A record with other values in some properties; what they are may still be filled in. */
export class ChangedRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly version: LogIndex;
  readonly #base: StoredRecord;
  readonly #names: readonly string[];
  readonly #values: readonly (Value | undefined)[];

  /** @param values by the place of their names; undefined: the property is as it was */
  constructor(
    base: StoredRecord,
    names: readonly string[],
    values: readonly (Value | undefined)[],
    version: LogIndex = base.version,
  ) {
    this.version = version;
    this.#base = base;
    this.#names = names;
    this.#values = values;
  }

  get rid(): Rid {
    return this.#base.rid;
  }

  get kind(): RecordKind {
    return this.#base.kind;
  }

  get type(): TypeId {
    return this.#base.type;
  }

  get typeName(): string {
    return this.#base.typeName;
  }

  get out(): Rid {
    return this.#base.out;
  }

  get in(): Rid {
    return this.#base.in;
  }

  get(property: string): Value | undefined {
    const names = this.#names;
    for (let at = 0; at < names.length; at += 1)
      if (names[at] === property) {
        const value = this.#values[at];
        return value === undefined ? this.#base.get(property) : value;
      }
    return this.#base.get(property);
  }

  propertyNames(): readonly string[] {
    const known = this.#base.propertyNames();
    const added = this.#names.filter(
      (name, at) => this.#values[at] !== undefined && !known.includes(name),
    );
    return added.length === 0 ? known : [...known, ...added];
  }
}
