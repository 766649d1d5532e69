import {
  type IntegerWidth,
  integerWidthOf,
  type IntegerWidths,
  SizedProperties,
  valuesOf,
} from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { noRid, type LogIndex, type Rid, type TypeId } from '#core/value/rid.ts';
import type { ReadProperties, Value, ValueMap } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import type { TypeDefinition } from '#catalog/catalog.ts';

/** A record while a statement changes it: right sides of assignments see what earlier ones did. */
export class RecordDraft implements StoredRecord {
  readonly valueKind = 'record';
  readonly kind: RecordKind;
  readonly rid: Rid;
  readonly type: TypeId;
  readonly typeName: string;
  readonly version: LogIndex;
  readonly out: Rid;
  readonly in: Rid;
  /** Values change through `assign` and `become`. */
  properties: Map<string, Value>;
  #widths: Map<string, IntegerWidth> | undefined;

  private constructor(
    identity: Pick<StoredRecord, 'kind' | 'rid' | 'type' | 'typeName' | 'version' | 'out' | 'in'>,
    properties: Map<string, Value>,
    widths?: IntegerWidths,
  ) {
    this.kind = identity.kind;
    this.rid = identity.rid;
    this.type = identity.type;
    this.typeName = identity.typeName;
    this.version = identity.version;
    this.out = identity.out;
    this.in = identity.in;
    this.properties = properties;
    this.#widths = widths && new Map(widths);
  }

  /** A record that is yet to be inserted; it has no id. */
  static ofNew(
    type: TypeDefinition,
    ends: { readonly out: Rid; readonly in: Rid } = { out: noRid, in: noRid },
  ): RecordDraft {
    const identity = { kind: type.kind, rid: noRid, type: type.id, typeName: type.name };
    return new RecordDraft({ ...identity, version: 0 as LogIndex, ...ends }, new Map());
  }

  /** A copy of a stored record. @param read what was read of it; the values become its own */
  static of(record: StoredRecord, read?: ReadProperties): RecordDraft {
    return read === undefined
      ? new RecordDraft(record, valuesOf(record), record.integerWidths)
      : new RecordDraft(record, read.values, read.widths);
  }

  get(property: string): Value | undefined {
    return this.properties.get(property);
  }

  get integerWidths(): IntegerWidths | undefined {
    return this.#widths;
  }

  /** @param width of an integer; undefined: its value tells its type, or its declaration */
  assign(property: string, value: Value, width?: IntegerWidth): void {
    this.properties.set(property, value);
    if (width === undefined) {
      if (this.#widths !== undefined) this.#widths.delete(property);
      return;
    }
    this.#widths ??= new Map();
    this.#widths.set(property, width);
  }

  /** Takes these properties over. @param assigned those whose width their values tell; undefined: all */
  become(properties: Map<string, Value>, assigned: Iterable<string> | undefined): void {
    this.properties = properties;
    if (assigned === undefined) this.#widths = undefined;
    else if (this.#widths !== undefined) for (const name of assigned) this.#widths.delete(name);
  }

  /** What is to be written. */
  content(): ValueMap {
    const widths = this.#widths;
    return widths === undefined || widths.size === 0
      ? this.properties
      : new SizedProperties(this.properties, widths);
  }

  /** A copy of what it is now, to go back to. */
  state(): ValueMap {
    return new SizedProperties(this.properties, new Map(this.#widths));
  }

  /** Takes everything out. */
  clear(): void {
    this.properties.clear();
    this.#widths = undefined;
  }

  propertyNames(): readonly string[] {
    return [...this.properties.keys()];
  }
}

/** `now` with what the draft changed in `before`, from which it was made. */
export function rebased(draft: RecordDraft, before: StoredRecord, now: StoredRecord): RecordDraft {
  const made = RecordDraft.of(now);
  for (const [name, value] of draft.properties) {
    const old = before.get(name);
    const width = draft.integerWidths?.get(name);
    const isSame = old !== undefined && compareValues(old, value) === 0;
    if (!isSame || width !== integerWidthOf(before, name)) made.assign(name, value, width);
  }
  for (const name of before.propertyNames())
    if (!draft.properties.has(name)) made.properties.delete(name);
  return made;
}
