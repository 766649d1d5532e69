import {
  type IntegerWidth,
  type IntegerWidths,
  integerWidthOf,
} from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';

/** By the place of their values. */
export type ValueWidths = readonly (IntegerWidth | undefined)[];

/** A record with other values in some properties; what they are may still be filled in. */
export class ChangedRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly version: LogIndex;
  readonly #base: StoredRecord;
  readonly #names: readonly string[];
  readonly #values: readonly (Value | undefined)[];
  readonly #widths: ValueWidths | undefined;
  /** Where many names stand; few are compared one by one. */
  readonly #places: ReadonlyMap<string, number> | undefined;

  /**
   * @param values by the place of their names; undefined: the property is as it was
   * @param widths of the values, when there are any
   */
  constructor(
    base: StoredRecord,
    names: readonly string[],
    values: readonly (Value | undefined)[],
    version: LogIndex = base.version,
    widths?: ValueWidths,
  ) {
    this.version = version;
    this.#base = base;
    this.#names = names;
    this.#values = values;
    this.#widths = widths;
    this.#places = names.length > fewNames ? placesOf(names) : undefined;
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

  get isLightweight(): boolean {
    return this.#base.isLightweight === true;
  }

  get out(): Rid {
    return this.#base.out;
  }

  get in(): Rid {
    return this.#base.in;
  }

  get(property: string): Value | undefined {
    const at = this.#places === undefined ? this.#placeOf(property) : this.#places.get(property);
    const value = at === undefined ? undefined : this.#values[at];
    return value === undefined ? this.#base.get(property) : value;
  }

  largeRead(property: string): ReturnType<NonNullable<StoredRecord['largeRead']>> {
    const at = this.#places === undefined ? this.#placeOf(property) : this.#places.get(property);
    const isChanged = at !== undefined && this.#values[at] !== undefined;
    return isChanged ? undefined : this.#base.largeRead?.(property);
  }

  #placeOf(property: string): number | undefined {
    const names = this.#names;
    for (let at = 0; at < names.length; at += 1) if (names[at] === property) return at;
    return undefined;
  }

  propertyNames(): readonly string[] {
    const known = this.#base.propertyNames();
    const isKnown = new Set(known);
    const added = this.#names.filter(
      (name, at) => this.#values[at] !== undefined && !isKnown.has(name),
    );
    return added.length === 0 ? known : [...known, ...added];
  }

  /** A SET of thousands of items asks for one after the other. */
  integerWidthOf(property: string): IntegerWidth | undefined {
    const at = this.#places === undefined ? this.#placeOf(property) : this.#places.get(property);
    const isChanged = at !== undefined && this.#values[at] !== undefined;
    return isChanged ? this.#widths?.[at] : integerWidthOf(this.#base, property);
  }

  get integerWidths(): IntegerWidths | undefined {
    const known = this.#base.integerWidths;
    const changed = this.#widths;
    if (known === undefined && !hasWidth(changed)) return undefined;
    const widths = new Map<string, IntegerWidth>(known);
    for (let at = 0; at < this.#names.length; at += 1) {
      if (this.#values[at] === undefined) continue;
      const width = changed?.[at];
      if (width === undefined) widths.delete(this.#names[at] as string);
      else widths.set(this.#names[at] as string, width);
    }
    return widths.size === 0 ? undefined : widths;
  }
}

function hasWidth(widths: ValueWidths | undefined): boolean {
  if (widths === undefined) return false;
  for (let at = 0; at < widths.length; at += 1) if (widths[at] !== undefined) return true;
  return false;
}

const fewNames = 8;
/** One list of names serves all records of a statement. */
const placesOfNames = new WeakMap<readonly string[], ReadonlyMap<string, number>>();

function placesOf(names: readonly string[]): ReadonlyMap<string, number> {
  let places = placesOfNames.get(names);
  if (places === undefined) {
    places = new Map(names.map((name, at) => [name, at] as const));
    placesOfNames.set(names, places);
  }
  return places;
}
